package policy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/term"
)

// local is the protocol of sessions on this machine.
const local = "local"

// open judges the target of an open, and the program that it starts.
func (p *Policy) open(ctx context.Context, a term.Action) (term.Ruling, error) {
	t := a.Target
	if t == nil {
		return allowed, &denial{rule: Rule{Name: "policy"}, why: "it is not said what to open"}
	}
	if len(p.rules.Protocols) > 0 &&
		!slices.ContainsFunc(p.rules.Protocols, func(r Rule) bool { return r.Text == t.Protocol }) {
		return allowed, &denial{
			rule:    whole(p.rules.Protocols),
			part:    t.Protocol,
			why:     "this protocol is not allowed",
			allowed: p.rules.Protocols,
		}
	}
	if t.Protocol == local {
		a.Protocol = local
		return p.run(ctx, a, !t.PTY.Disabled)
	}
	if a.Plan == nil { // hosts are judged later, when the plan is known
		return allowed, nil
	}
	return allowed, p.plan(a.Plan)
}

// whole returns the name of a list of rules, for the case that none has matched.
func whole(rules []Rule) Rule { return Rule{Name: rules[0].Name, Where: rules[0].Where} }

// A place is a folder or file on this machine.
type place struct {
	Rule
	path string
}

// places parses the texts of rules for paths.
func places(rules []Rule) []place {
	out := make([]place, len(rules))
	for i, r := range rules {
		out[i] = place{r, identity(r.Text)}
	}
	return out
}

// resolved follows symbolic links, as far as the path exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

// identity returns the path by which a program is judged: the target of
// symbolic links. For a program that behaves according to the name of its link,
// for example busybox, it is the last link.
func identity(path string) string {
	real := resolved(path)
	switch filepath.Base(real) {
	case "busybox", "toybox", "coreutils":
		return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
	}
	return real
}

// within reports whether path is place or below it.
func within(path, place string) bool {
	rel, err := filepath.Rel(place, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// inside returns the first rule with a place that contains path.
func inside(list []place, path string) (Rule, bool) {
	for _, p := range list {
		if within(path, p.path) {
			return p.Rule, true
		}
	}
	return Rule{}, false
}

// folder judges the working directory of a local session. An empty dir means
// ptyctl's own folder.
func (p *Policy) folder(dir string) error {
	if len(p.workDirs) == 0 && p.commands.permissions == nil {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.own, dir)
	}
	real := resolved(dir)
	if _, ok := inside(p.workDirs, real); !ok && len(p.workDirs) > 0 {
		return &denial{
			rule:    whole(p.rules.WorkDirs),
			part:    real,
			why:     "no entry allows this folder",
			allowed: p.rules.WorkDirs,
		}
	}
	if within(real, resolved(p.own)) {
		return nil
	}
	return p.commands.permissions.folder(real)
}

// program judges the path of a local session's program, and returns it: "" for
// a word that is a builtin of the shell and not a file. dir is the folder; if
// it is empty, known says that it is ptyctl's own.
func (p *Policy) program(name, dir string, known bool) (path string, err error) {
	path = name
	switch {
	case filepath.IsAbs(name):
	case strings.ContainsRune(name, filepath.Separator) && dir == "" && !known:
		return "", &denial{
			rule:    p.programRule(),
			part:    name,
			why:     "where this path begins is not known",
			instead: "give the whole path",
		}
	case strings.ContainsRune(name, filepath.Separator) && filepath.IsAbs(dir):
		path = filepath.Join(dir, name)
	case strings.ContainsRune(name, filepath.Separator):
		path = filepath.Join(p.own, dir, name)
	default:
		found, err := p.lookPath(name)
		if err != nil && builtins[name] {
			return "", nil
		}
		if err != nil {
			return "", &denial{
				rule: p.programRule(),
				part: name,
				why:  fmt.Sprintf("there is no such program (%v)", err),
			}
		}
		path = found
	}
	path = identity(path)
	if rule, ok := inside(p.denyPrograms, path); ok {
		return "", &denial{rule: rule, part: path, why: "this program is denied", allowed: p.rules.Programs}
	}
	if len(p.programs) == 0 {
		return path, nil
	}
	if _, ok := inside(p.programs, path); !ok {
		return "", &denial{
			rule:    whole(p.rules.Programs),
			part:    path,
			why:     "no entry allows this program",
			allowed: p.rules.Programs,
		}
	}
	if _, err := os.Stat(path); err != nil {
		return "", &denial{rule: p.programRule(), part: path, why: "there is no such program"}
	}
	return path, nil
}

// lookPath finds a program in the PATH of the caller.
func (p *Policy) lookPath(name string) (string, error) {
	if p.env == nil {
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(p.env.Get("PATH")) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// programRule returns the rule to name in a denial of a program.
func (p *Policy) programRule() Rule {
	if len(p.programs) > 0 {
		return whole(p.rules.Programs)
	}
	return whole(p.rules.DenyPrograms)
}

// builtins are words that shells run themselves and that start no other
// program.
var builtins = grammar.SetOf(
	": alias bg break cd continue declare dirs disown exit export false fg getopts jobs local popd pushd read " +
		"readonly " +
		"return set shift shopt times trap true type typeset ulimit umask unalias unset wait",
)
