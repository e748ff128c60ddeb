package leaktest

import (
	"fmt"
	"os"
	"path/filepath"
)

// A Report says what was searched, and what was found.
type Report struct {
	Trails, Secrets, Outputs int
	Bytes                    int64
	Leaks                    []Leak
}

// A Leak is a secret in an output: the first place of each form.
type Leak struct {
	Secret, Test string // and the test that named it
	Form         string // in which it stands there
	Output       string
	At           int // where it begins: the number of bytes before it
}

func (l Leak) String() string {
	return fmt.Sprintf("%s shows the secret %q of %s, as %.80q, after %d bytes", l.Output, l.Secret, l.Test, l.Form, l.At)
}

// Search looks for the secrets of all trails in a folder in all their outputs, and in the folder's files *.output. That a
// kind of these is missing is an error: nothing would have been searched.
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

func search(trails, texts []string) (Report, error) {
	report := Report{Trails: len(trails)}
	tests := make(map[string]string) // by secret
	for _, t := range trails {
		if err := read(t, nil, func(text, test string) { tests[text] = filepath.Base(t) + " " + test }); err != nil {
			return report, err
		}
	}
	report.Secrets = len(tests)
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
