package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A renamer replaces a module's path in text.
type renamer struct {
	old, to  string
	packages map[string]bool   // without the module's path
	phrases  *strings.Replacer // with the path of the module itself, without a package
}

func newRenamer(old, to string, packages []string) *renamer {
	r := &renamer{old: old, to: to, packages: make(map[string]bool)}
	for _, p := range packages { // and the folders above it, which patterns name
		for p = strings.TrimPrefix(p, old+"/"); p != "." && p != ""; p = path.Dir(p) {
			r.packages[p] = true
		}
	}
	var pairs []string
	for _, form := range []string{"-local %", "require % v", "\t% v0.0.0", "replace % =>", "go get %`", "module %/", "module-path: %", "[%]"} {
		pairs = append(pairs, strings.Replace(form, "%", old, 1), strings.Replace(form, "%", to, 1))
	}
	r.phrases = strings.NewReplacer(pairs...)
	return r
}

// file renames the module in a file, and reports whether that has changed it. Links and binary files stay as they are.
func (r *renamer) file(folder, name string) (changed bool, err error) {
	name = filepath.Join(folder, name)
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeType != 0 {
		return false, err
	}
	before, err := os.ReadFile(name)
	if err != nil || bytes.IndexByte(before, 0) >= 0 {
		return false, err
	}
	after := r.text(string(before))
	if after == string(before) {
		return false, nil
	}
	return true, os.WriteFile(name, []byte(after), info.Mode().Perm())
}

// text returns a text with the new path: in front of each package of the module, and in the phrases.
func (r *renamer) text(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, r.old+"/")
		b.WriteString(before)
		if !found {
			return r.phrases.Replace(b.String())
		}
		module := r.old
		if r.isPath(b.String(), rest) {
			module = r.to
		}
		b.WriteString(module + "/")
		s = rest
	}
}

// isPath reports whether the module's path between two texts is one, and not a part of a file's path.
func (r *renamer) isPath(before, after string) bool {
	if before != "" && (inPath(before[len(before)-1]) || strings.ContainsRune(".~", rune(before[len(before)-1]))) {
		return false
	}
	n := 0
	for n < len(after) && inPath(after[n]) {
		n++
	}
	if n+1 < len(after) && after[n] == '.' && 'a' <= after[n+1] && after[n+1] <= 'z' { // config.toml
		return false
	}
	return r.packages[strings.TrimSuffix(after[:n], "/")]
}

// inPath reports whether c is a character of the names of packages.
func inPath(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '/'
}
