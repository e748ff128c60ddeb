package preset

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"ptyctl/policy/grammar"
)

// A List is a list of programs with their options and operands, for operators
// without a list of their own. It allows a command only if all parts of it are
// in the list.
type List struct {
	name     string
	programs map[string]*presetNode
}

// presetNames holds the names of all presets. Each is the name of a file.
var presetNames = []string{"read-only-linux", "read-only-network"}

//go:embed read-only-*.txt
var presetFiles embed.FS

// presets parses the files at the first use.
var presets = sync.OnceValues(func() (map[string]*List, error) {
	all := make(map[string]*List)
	for _, name := range presetNames {
		text, err := presetFiles.ReadFile(name + ".txt")
		if err != nil {
			return nil, err
		}
		if all[name], err = parsePreset(name, string(text)); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// Names returns the names of all presets.
func Names() []string { return slices.Clone(presetNames) }

// Named returns the preset with the given name.
func Named(name string) (*List, error) {
	all, err := presets()
	if err != nil {
		return nil, err
	}
	if p, ok := all[name]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("no preset has the name %q; there are %s", name, strings.Join(presetNames, ", "))
}

// maxPresetDepth is the deepest nesting of programs that run others, for
// example timeout 5 nice ls.
const maxPresetDepth = 8

// Allows reports whether a command is in the preset, and if not, why. The words
// must be literal, except that an operand may contain the rune hole for unknown
// text, which the shell may expand to several words.
func (p *List) Allows(words []string) (ok bool, why string) {
	if why = p.command(words, 0); why != "" {
		return false, why
	}
	return true, ""
}

// command returns why a command is not in the preset, or "" if it is.
func (p *List) command(words []string, depth int) string {
	if len(words) == 0 || depth == maxPresetDepth {
		return "there is no command, or too many in one another"
	}
	if slices.ContainsFunc(words, func(w string) bool {
		return strings.ContainsFunc(
			w,
			func(c rune) bool { return c < ' ' && c != grammar.Hole && c != '\n' && c != '\t' || c == 0x7f },
		)
	}) {
		return "it holds control characters; leave them out"
	}
	words, ok := p.split(words)
	node := p.programs[words[0]]
	if !ok || node == nil {
		return fmt.Sprintf("the preset %s has no program %s", p.name, shownText(words[0]))
	}
	c := presetCommand{preset: p, name: words[0], spec: node.spec, depth: depth}
	words = words[1:]
	for {
		rest, why := c.options(words)
		if why != "" {
			return why
		}
		if c.spec.operands.kind != operandsSub || len(rest) == 0 {
			return c.judgeOperands()
		}
		next := node.sub[rest[0]]
		if next == nil {
			return fmt.Sprintf(
				"%s %s is not in the preset %s; it has %s %s",
				c.name,
				shownText(rest[0]),
				p.name,
				c.name,
				listed(node.names()),
			)
		}
		node, words = next, rest[1:]
		c = presetCommand{preset: p, name: c.name + " " + rest[0], spec: node.spec, depth: depth}
	}
}

// systemFolders are the folders from which a program may be called by its path.
var systemFolders = []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"}

// split returns the words with the program's name first: the path of a system
// program becomes its name, and a menu of RouterOS becomes several words.
func (p *List) split(words []string) ([]string, bool) {
	name := words[0]
	for _, folder := range systemFolders {
		if base, ok := strings.CutPrefix(name, folder); ok {
			return append([]string{base}, words[1:]...), !strings.ContainsAny(base, "/") && p.programs[base] != nil
		}
	}
	if strings.HasPrefix(name, "/") {
		if menus := strings.Split(name[1:], "/"); p.programs["/"+menus[0]] != nil {
			return append(append([]string{"/" + menus[0]}, menus[1:]...), words[1:]...), true
		}
	}
	return words, true
}

// A presetCommand is the state while the words of a command are consumed one by
// one.
type presetCommand struct {
	preset   *List
	name     string
	spec     *presetSpec
	depth    int
	operands []string
	seen     []string // options, as in the spec
}

// listed joins names for a message, up to a limit.
func listed(names []string) string {
	const most = 40
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

// shownText returns a word for a message, with unknown parts shown as an
// ellipsis.
func shownText(text string) string {
	return grammar.Shorten(strings.ReplaceAll(text, string(grammar.Hole), "…"))
}

// judgeOperands returns why the operands do not fit, or which required option
// is missing.
func (c *presetCommand) judgeOperands() string {
	o := &c.spec.operands
	if len(c.spec.required) > 0 &&
		!slices.ContainsFunc(c.spec.required, func(r string) bool { return slices.Contains(c.seen, r) }) {
		return fmt.Sprintf(
			"in the preset %s, %s is to have one of the options %s",
			c.preset.name,
			c.name,
			strings.Join(c.spec.required, " "),
		)
	}
	rest := c.operands
	if o.kind == operandsSub {
		if !o.optional {
			return fmt.Sprintf("in the preset %s, %s is to have a command of its own behind it", c.preset.name, c.name)
		}
		return ""
	}
	if o.first != nil || o.kind == operandsRun {
		if o.first != nil {
			if len(rest) == 0 && !o.each {
				return fmt.Sprintf("%s is to have an operand", c.name)
			}
			for i, w := range rest {
				if (i == 0 || o.each) && !o.first.MatchString(w) {
					return fmt.Sprintf(
						"the operand %s of %s is not of the form that the preset %s has: %s",
						shownText(w),
						c.name,
						c.preset.name,
						o.first,
					)
				}
			}
		}
		if o.kind == operandsRun {
			if o.first != nil {
				rest = rest[1:]
			}
			return c.preset.command(rest, c.depth+1)
		}
	}
	if o.most >= 0 {
		if len(rest) > o.most || len(rest) < o.least {
			return fmt.Sprintf(
				"%s has %d operands; the preset %s has it with %d to %d",
				c.name,
				len(rest),
				c.preset.name,
				o.least,
				o.most,
			)
		}
		if i := slices.IndexFunc(rest, func(w string) bool { return strings.ContainsRune(w, grammar.Hole) }); i >= 0 {
			return fmt.Sprintf(
				"the file pattern %s can become several operands, of which %s takes %d: write the names out",
				shownText(rest[i]),
				c.name,
				o.most,
			)
		}
	}
	for _, w := range rest {
		if o.kind == operandsNet && netVerbs[w] {
			return fmt.Sprintf("the word %s of %s can change something", w, c.name)
		}
		if o.kind == operandsFiles && isDevice(w) {
			return fmt.Sprintf("to read %s can change it: %s reads files that are no devices", shownText(w), c.name)
		}
	}
	return ""
}

// netVerbs are words that make a command of a network device write or change
// something, even if it begins with show.
var netVerbs = grammar.SetOf("append clear copy delete erase export file redirect reset save tee write")

// isDevice reports whether a name may belong to a device or a kernel file that
// a read changes: for example a watchdog, a tape, the kernel's messages, or a
// pipe of another process. The program may run in the root folder, so relative
// names count, too.
func isDevice(name string) bool {
	clean := path.Clean(name)
	below := strings.TrimLeft(clean, "./")
	known, _, open := strings.Cut(below, string(grammar.Hole))
	switch {
	case clean == "/dev/null", clean == "/dev/stdin", clean == "/dev/zero":
		return false
	case below == "dev",
		strings.HasPrefix(below, "dev/"),
		strings.HasSuffix(below, "/trace_pipe"),
		strings.HasSuffix(below, "/kmsg"):
		return true
	case open && below != clean && strings.HasPrefix("dev/", known):
		return true
	case !strings.HasPrefix(below, "proc/"):
		return open && below != clean && strings.HasPrefix("proc/", known)
	}
	for i, element := range strings.Split(below, "/") { // proc/PID/root/...
		switch element {
		case "root", "cwd", "fd", "map_files":
			return true
		}
		if i > 1 && strings.ContainsRune(element, grammar.Hole) {
			return true
		}
	}
	return false
}
