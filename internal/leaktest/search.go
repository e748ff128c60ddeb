package leaktest

import (
	"fmt"
	"os"
	"path/filepath"
)

// A Report is the result of a search.
type Report struct {
	Trails, Secrets, Outputs int
	Bytes                    int64
	Leaks                    []Leak
}

// A Leak is a secret in an output: the first occurrence of each form.
type Leak struct {
	Secret, Test string // the secret, and the test that registered it
	Form         string // the form found
	Output       string
	At           int // the number of bytes before it
}

// String describes the leak in one line.
func (l Leak) String() string {
	return fmt.Sprintf("%s shows the secret %q of %s, as %.80q, after %d bytes", l.Output, l.Secret, l.Test, l.Form, l.At)
}

// Search searches all outputs of all trails in a folder, and the folder's files *.output,
// for the secrets of all trails. If one of these is missing it returns an error, because
// the search would find nothing.
func Search(folder string) (Report, error) {
	trails, err := filepath.Glob(filepath.Join(folder, "*.zip"))
	if err != nil {
		return Report{}, err
	}
	texts, err := filepath.Glob(filepath.Join(folder, "*.output"))
	if err != nil {
		return Report{}, err
	}
	r, err := search(trails, texts)
	if err == nil && (len(texts) == 0 || r.Secrets == 0 || r.Outputs == len(texts) || r.Bytes == 0) {
		err = fmt.Errorf(
			"%s has %d secrets of %d test programs, %d outputs of %d bytes, %d of them of go test: none of these may be 0",
			folder,
			r.Secrets,
			r.Trails,
			r.Outputs,
			r.Bytes,
			len(texts),
		)
	}
	return r, err
}

// search searches the trails and texts. The secrets of every trail are looked for in all
// of them.
func search(trails, texts []string) (Report, error) {
	report := Report{Trails: len(trails)}
	tests := make(map[string]string) // by secret
	for _, t := range trails {
		if err := read(t, nil, func(text, test string) { tests[text] = filepath.Base(t) + " " + test }); err != nil {
			return report, err
		}
	}
	report.Secrets = len(tests)
	// A secret may be broken over several lines, so each output is searched twice: as it
	// is, and with its lines joined.
	plain, joined := newIndex(), newIndex()
	for text := range tests {
		for _, f := range forms(text) {
			plain.add(f, text)
			joined.add(join(f), text)
		}
	}
	look := func(name string, data []byte) {
		report.Outputs++
		report.Bytes += int64(len(data))
		seen := make(map[needle]bool)
		found := func(n needle, at int) {
			if !seen[n] {
				seen[n] = true
				report.Leaks = append(
					report.Leaks,
					Leak{Secret: n.secret, Test: tests[n.secret], Form: n.form, Output: name, At: at},
				)
			}
		}
		plain.scan(data, found)
		joined.scan([]byte(join(string(data))), found)
	}
	for _, t := range trails {
		if err := read(t, func(name string, data []byte) { look(filepath.Base(t)+" "+name, data) }, nil); err != nil {
			return report, err
		}
	}
	for _, t := range texts {
		data, err := os.ReadFile(t)
		if err != nil {
			return report, err
		}
		look(filepath.Base(t), data)
	}
	return report, nil
}
