package lab

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// PlantedValues returns sixty values of secrets, of five kinds: words, quotes, signs of URLs, other letters, and a short
// one.
func PlantedValues() (values []string) {
	for i := range 60 {
		v := []string{"Planted-%02d-horse-1138", "pl%02d'tick\"1138", "Pl@n/ted+%02d=1138&x", "Wörter-%02d-1138 x", "%02dplanted"}[i%5]
		values = append(values, fmt.Sprintf(v, i))
	}
	return values
}

// HiddenForms returns the nine forms of a value that are searched for, by name.
func HiddenForms(v string) map[string]string {
	reversed := []byte(v)
	for i := range len(v) / 2 {
		reversed[i], reversed[len(v)-1-i] = reversed[len(v)-1-i], reversed[i]
	}
	quoted, _ := json.Marshal(v)
	at := func(before int) string { // the part of base64 that does not depend on the text around it
		all := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + v))
		return all[(8*before+5)/6 : 8*(before+len(v))/6]
	}
	return map[string]string{
		"value": v, "base64": at(0), "base64 at 1": at(1), "base64 at 2": at(2), "hex": hex.EncodeToString([]byte(v)),
		"URL": url.QueryEscape(v), "shell": strings.ReplaceAll(v, "'", `'\''`), "JSON": string(quoted[1 : len(quoted)-1]),
		"reversed": string(reversed),
	}
}

// FormsText returns a text that has each form of each value on a line.
func FormsText(values ...string) string {
	var text strings.Builder
	for _, v := range values {
		for _, form := range HiddenForms(v) {
			text.WriteString(form + "\n")
		}
	}
	return text.String()
}

// plain undoes line wrapping and JSON escapes: an answer is JSON, and in a recording the text of a terminal is, too.
var plain = strings.NewReplacer(`\r\n`, "", `\n`, "", "\r\n", "", "\n", "", `\\`, `\`, `\"`, `"`, `\u0026`, "&")

// WantHidden fails the test if the text shows one of the values in any form.
func WantHidden(tb testing.TB, what, text string, values ...string) {
	tb.Helper()
	unwrapped := plain.Replace(text)
	for _, v := range values {
		for form, show := range HiddenForms(v) {
			at := strings.Index(text, show)
			if at < 0 {
				if at = strings.Index(unwrapped, show); at < 0 {
					continue
				}
				text = unwrapped
			}
			tb.Errorf("%s shows the %s of %q: %q", what, form, v, text[max(0, at-500):min(len(text), at+500)])
			return
		}
	}
}

// WantFilesHidden fails the test if a file in the folder, or the name of one, shows one of the values. Files that skip
// reports are not read.
func WantFilesHidden(tb testing.TB, dir string, skip func(path string) bool, values ...string) (n int) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || skip != nil && skip(path) {
			return err
		}
		WantHidden(tb, "a name", strings.TrimPrefix(path, dir), values...)
		if !e.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		n += len(text)
		WantHidden(tb, "the file "+path, string(text), values...)
		return err
	})
	if err != nil {
		tb.Error(err)
	}
	return n
}

// ProcTexts collects the texts of /proc that others may read: the arguments, environments, names, threads and open files of
// the processes that the test has started. The zero value is ready, for any number of goroutines.
type ProcTexts struct {
	mu    sync.Mutex        // guards texts
	texts map[string]string // where each was first seen
}

// Look adds those of the moment.
func (p *ProcTexts) Look(tb testing.TB) {
	tb.Helper()
	for _, own := range Descendants(tb, os.Getpid()) {
		dir := fmt.Sprintf("/proc/%d/", own.PID)
		threads, _ := filepath.Glob(dir + "task/*/comm")
		for _, path := range append(threads, dir+"cmdline", dir+"environ", dir+"comm") {
			if text, err := os.ReadFile(path); err == nil { // it may have ended since, or be another's
				p.Add(path, string(text))
			}
		}
		files, _ := filepath.Glob(dir + "fd/*")
		for _, path := range append(files, dir+"exe", dir+"cwd") {
			if to, err := os.Readlink(path); err == nil {
				p.Add(path, to)
			}
		}
	}
}

// Add adds one.
func (p *ProcTexts) Add(from, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.texts == nil {
		p.texts = make(map[string]string)
	}
	if _, had := p.texts[text]; !had {
		p.texts[text] = from
	}
}

// Has reports whether one of them shows a text.
func (p *ProcTexts) Has(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for text := range maps.Keys(p.texts) {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// WantHidden fails the test if one of them shows a value.
func (p *ProcTexts) WantHidden(tb testing.TB, values ...string) {
	tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := new(strings.Builder)
	for text, from := range p.texts {
		all.WriteString(from + ": " + text + "\n")
	}
	WantHidden(tb, "/proc", all.String(), values...)
}
