package preset

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ptyctl/internal/lazyregexp"
)

// A presetSpec is one line of a preset's file, which is a program or one of its
// commands. Other lines are empty or comments. The form of a line is
//
//	NAME|NAME COMMAND|COMMAND: OPTIONS ; OPERANDS
//
// OPTIONS are -abc (letters, alone or together), -n: (with a value), -n? (with one in the same word, or none), -NUM
// (a number), --name, --name= (with a value), --name[=] (with one in the same word, or none), --name=2 (with two
// words after it), and -- (all following words are operands). A letter or a name after a value's mark gives its form:
// N a number, S seconds, P a format of git without signatures, R an order of its references. After "exact" they are
// words with one dash instead of letters. ! before options marks a set; one of its options must be present.
//
// OPERANDS are a number or two (1-2), * for any number, files for names of
// files to read, file for at most one, words for anything, rest for the same
// after a first operand, net for words of a network device, sub for a command
// with its own line (sub?: or none), run for another command of the preset.
// /FORM/ before one of them is the form of the first operand; alone, or with a
// number, of each. Only operands of the kind words may begin with a dash.
type presetSpec struct {
	options  map[string]presetOption
	required []string
	text     []string // options as they are written
	exact    bool
	number   bool // -10 is an option
	ends     bool // -- ends the options
	operands presetOperands
}

// An operandKind is a kind of operands; see presetSpec.
type operandKind int

const (
	operandsAny operandKind = iota
	operandsFiles
	operandsWords
	operandsRest
	operandsSub
	operandsRun
	operandsNet
)

// presetOperands is the right part of a line.
type presetOperands struct {
	kind        operandKind
	least, most int // most: -1 for any number
	optional    bool
	first       *regexp.Regexp
	each        bool // first is the form of all operands
}

// A presetNode is a program or a command of a program.
type presetNode struct {
	spec *presetSpec
	sub  map[string]*presetNode
}

// names returns the names of the commands, sorted.
func (n *presetNode) names() []string { return slices.Sorted(maps.Keys(n.sub)) }

// parsePreset parses the file of a preset. The tests parse all of them, so its
// errors never reach an operator.
func parsePreset(name, text string) (*List, error) {
	root := &presetNode{sub: make(map[string]*presetNode)}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := root.add(line); err != nil {
			return nil, fmt.Errorf("%s.txt:%d: %w", name, i+1, err)
		}
	}
	if err := root.complete(name); err != nil {
		return nil, err
	}
	return &List{name: name, programs: root.sub}, nil
}

// add parses a line.
func (n *presetNode) add(line string) error {
	head, rest, ok := strings.Cut(line, ": ")
	options, operands, both := strings.Cut(" "+rest, " ; ")
	if !ok || !both {
		return fmt.Errorf("%q is not NAME: OPTIONS ; OPERANDS", line)
	}
	spec := &presetSpec{options: make(map[string]presetOption)}
	for token := range strings.FieldsSeq(options) {
		if err := spec.addOption(token); err != nil {
			return err
		}
	}
	if err := spec.operands.parse(strings.TrimSpace(operands)); err != nil {
		return err
	}
	at := []*presetNode{n}
	for names := range strings.FieldsSeq(head) {
		var next []*presetNode
		for _, parent := range at {
			for name := range strings.SplitSeq(names, "|") {
				child := parent.sub[name]
				if child == nil {
					child = &presetNode{sub: make(map[string]*presetNode)}
					parent.sub[name] = child
				}
				next = append(next, child)
			}
		}
		at = next
	}
	for _, node := range at {
		if node.spec != nil {
			return fmt.Errorf("%s is there twice", head)
		}
		node.spec = spec
	}
	return nil
}

// complete checks that commands exist exactly where a line mentions them.
func (n *presetNode) complete(name string) error {
	for _, child := range n.names() {
		node := n.sub[child]
		full := name + " " + child
		switch {
		case node.spec == nil:
			return fmt.Errorf("%s has commands and no line of its own", full)
		case (node.spec.operands.kind == operandsSub) != (len(node.sub) > 0):
			return fmt.Errorf("%s: sub and the lines of its commands do not agree", full)
		}
		if err := node.complete(full); err != nil {
			return err
		}
	}
	return nil
}

// valueForms holds the forms that a letter after the mark of a value means.
var valueForms = map[string]*lazyregexp.Regexp{
	"N": lazyregexp.New(`^[+-]?[0-9]+$`),
	"S": lazyregexp.New(`^(?:0\.[2-9][0-9]*|[1-9][0-9]*(?:\.[0-9]+)?)$`),
	"F": lazyregexp.New(`^[^%]*%?[-+0-9. ']*[efgEFG]?[^%]*$`),
	"P": lazyregexp.New(`^(?:[^%]|%[-+ ]?(?:[^-+ G(]|\((?:trailers|decorate|describe)[^)]*\)))*$`),
	"R": lazyregexp.New(`^-?(?:(?:version:|v:)?refname|objectname|(?:author|committer|creator|tagger)date)$`),
}

// optionForm matches an option in a preset's file.
var optionForm = lazyregexp.New(`^(-{1,2}[A-Za-z0-9][A-Za-z0-9+=_-]*?)(?:(\[=\]|=2|[:=?])([NSFPR]?))?$`)

// addOption parses one option.
func (s *presetSpec) addOption(token string) error {
	switch token {
	case "exact":
		s.exact = true
		return nil
	case "-NUM":
		s.number = true
		s.text = append(s.text, token)
		return nil
	case "--":
		s.ends = true
		return nil
	}
	plain, required := strings.CutPrefix(token, "!")
	m := optionForm.FindStringSubmatch(plain)
	if m == nil {
		return fmt.Errorf("%q is no option", token)
	}
	opt := presetOption{values: 1}
	switch m[2] {
	case "":
		opt.values = 0
	case "[=]", "?":
		opt.value = valueAttached
	case "=2":
		opt.value, opt.values = valueRequired, 2
	default:
		opt.value = valueRequired
	}
	opt.form = valueForms[m[3]]
	names := []string{m[1]}
	if !s.exact && !strings.HasPrefix(m[1], "--") {
		names = nil
		for i := 1; i < len(m[1]); i++ {
			names = append(names, "-"+m[1][i:i+1])
		}
		if len(names) > 1 && m[2] != "" {
			return fmt.Errorf("%q: a letter with a value must be alone", token)
		}
	}
	for _, name := range names {
		if have, ok := s.options[name]; ok && (have.value != opt.value || !required) {
			return fmt.Errorf("%s is there twice", name)
		}
		s.options[name] = opt
		if required {
			s.required = append(s.required, name)
		}
	}
	s.text = append(s.text, plain)
	return nil
}

// netWord matches a word that no device reads as a pipe, a file to write, or a
// script.
var netWord = lazyregexp.New(`^[A-Za-z0-9_.:@*+,^#%~/][A-Za-z0-9_.:@*+,^#%~/-]*$`)

// parse parses the operands.
func (o *presetOperands) parse(text string) error {
	if form, ok := strings.CutPrefix(text, "run "); ok { // run /FORM/: the operand before the command
		text = form + " run"
	}
	if strings.HasPrefix(text, "/") {
		end := strings.LastIndex(text, "/")
		form, err := regexp.Compile(text[1:end])
		if err != nil || end == 0 {
			return fmt.Errorf("%q is no form: %w", text, err)
		}
		o.first, text = form, strings.TrimSpace(text[end+1:])
		switch text {
		case "", "1", "2", "words":
			o.each = true
		}
		if text == "" {
			text = "*"
		}
	}
	o.most = -1
	switch least, most, two := strings.Cut(text, "-"); text {
	case "*":
	case "files":
		o.kind = operandsFiles
	case "file":
		o.kind, o.most = operandsFiles, 1
	case "words":
		o.kind = operandsWords
	case "rest":
		o.kind = operandsRest
	case "sub", "sub?":
		o.kind, o.optional = operandsSub, text == "sub?"
	case "run":
		o.kind = operandsRun
	case "net":
		o.kind, o.first, o.each = operandsNet, netWord.Regexp(), true
	default:
		n, err := strconv.Atoi(least)
		if err != nil {
			return fmt.Errorf("%q says nothing of operands", text)
		}
		if o.most = n; two {
			if o.least = n; most == "" {
				return fmt.Errorf("%q lacks a number", text)
			}
			if o.most, err = strconv.Atoi(most); err != nil {
				return fmt.Errorf("%q says nothing of operands", text)
			}
		}
	}
	return nil
}
