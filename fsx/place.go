package fsx

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A root is a folder named by the operator.
type root struct {
	name string // the operator's name, cleaned
	real string // the same with symbolic links resolved
	dir  *os.Root
}

// below returns path relative to the root, if its name is below the root.
func (r root) below(path string) (rel string, ok bool) {
	for _, base := range []string{r.name, r.real} {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// A place is the result of resolving a caller's path: a path below a root, without
// symbolic links at that moment. If it is replaced by one later, dir does not
// follow it out of the root.
type place struct {
	dir   *os.Root
	rel   string
	given string
}

// maxLinks is the most symbolic links followed, as in Linux (path_resolution(7)).
const maxLinks = 40

// find resolves path. A link in the last component is followed only with follow.
func (l *Local) find(op, path string, follow bool) (place, error) {
	if err := checkPath(op, path); err != nil {
		return place{}, err
	}
	r, rel, err := l.under(op, path)
	if err != nil {
		return place{}, err
	}
	escape := func(at string) error {
		return denied(
			op,
			"%s is a symbolic link that leads out of %s, so it is not followed; give a path below that folder",
			quote(at),
			r.name,
		)
	}
	// os.Root would refuse an absolute link even if it leads back inside; therefore
	// the links are resolved here, component by component.
	var done []string
	todo := split(rel)
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." { // in a link's target; those in path itself are already resolved
			if len(done) == 0 {
				return place{}, escape(path)
			}
			done = done[:len(done)-1]
			continue
		}
		here := filepath.Join(append(slices.Clip(done), name)...)
		target, err := r.dir.Readlink(here)
		if err != nil || len(todo) == 0 && !follow { // not a link; the later operation reports any other error
			done = append(done, name)
			continue
		}
		if links++; links > maxLinks {
			return place{}, fault(op, path, syscall.ELOOP)
		}
		if filepath.IsAbs(target) {
			inside, ok := r.below(filepath.Clean(target))
			if !ok {
				return place{}, escape(filepath.Join(r.name, here))
			}
			done, target = nil, inside
		}
		todo = append(split(target), todo...)
	}
	return place{dir: r.dir, rel: cmp.Or(filepath.Join(done...), "."), given: path}, nil
}

// under returns the root that path is below; of several, the deepest.
func (l *Local) under(op, path string) (r root, rel string, err error) {
	if !filepath.IsAbs(path) {
		switch rel = filepath.Clean(path); {
		case len(l.roots) != 1 && fromHome(path):
			return root{}, "", invalid(
				op,
				"%s: ~ is not expanded; give an absolute path below one of %s",
				quote(path),
				l.names(),
			)
		case len(l.roots) != 1:
			return root{}, "", invalid(
				op,
				"path %s is relative, but there are several folders; "+
					"give an absolute path below one of %s",
				quote(path),
				l.names(),
			)
		case !filepath.IsLocal(rel):
			return root{}, "", l.outside(op, path)
		}
		return l.roots[0], rel, nil
	}
	clean := filepath.Clean(path)
	for _, candidate := range l.roots {
		if at, ok := candidate.below(clean); ok && (r.dir == nil || len(at) < len(rel)) {
			r, rel = candidate, at
		}
	}
	if r.dir == nil {
		return root{}, "", l.outside(op, path)
	}
	return r, rel, nil
}

// outside returns the error for a path outside of all roots.
func (l *Local) outside(op, path string) error {
	return denied(
		op,
		"%s is outside of the folders that the operator allows: %s",
		quote(path),
		l.names(),
	)
}

// names returns the names of the roots.
func (l *Local) names() string {
	names := make([]string, len(l.roots))
	for i, r := range l.roots {
		names[i] = r.name
	}
	return strings.Join(names, ", ")
}

// split returns the components of a path, without empty ones and ".".
func split(path string) []string {
	return slices.DeleteFunc(
		strings.Split(filepath.ToSlash(path), "/"),
		func(name string) bool { return name == "" || name == "." },
	)
}
