package inorder

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Subject is what a call is about: a terminal, or a file of a machine.
type Subject struct {
	Name  string // of the terminal, or of the machine with the file
	Path  string // of the file, cleaned; empty: of the terminal
	Reads bool   // the call reads the file: calls that read it, too, need not wait for it
}

// conflicts reports whether a call about s and one about t must keep their order. A folder has all that is in it. An
// absolute path and a relative one may be of the same file.
func (s Subject) conflicts(t Subject) bool {
	switch {
	case s.Name != t.Name, s.Reads && t.Reads, (s.Path == "") != (t.Path == ""):
		return false
	case s.Path == t.Path, below(s.Path, t.Path), below(t.Path, s.Path):
		return true
	}
	return s.relative() != t.relative() || s.Path == "." || t.Path == "."
}

// relative reports whether the path is one from the home directory, or the first root.
func (s Subject) relative() bool { return s.Path != "" && s.Path[0] != '/' && !filepath.IsAbs(s.Path) }

// below reports whether a file is in a folder, at any depth.
func below(file, folder string) bool {
	rest, ok := strings.CutPrefix(file, folder)
	return ok && folder != "" && (rest == "" || rest[0] == '/' || strings.HasSuffix(folder, "/"))
}

// conflict reports whether two calls must keep their order. A call without a subject keeps none.
func conflict(a, b []Subject) bool {
	return slices.ContainsFunc(a, func(s Subject) bool { return slices.ContainsFunc(b, s.conflicts) })
}
