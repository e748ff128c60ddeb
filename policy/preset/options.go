package preset

import (
	"fmt"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/policy/grammar"
)

// A presetOption is an option in a preset.
type presetOption struct {
	value  optionValue
	form   *lazyregexp.Regexp // of the value; nil: any
	values int                // number of words that follow
}

// An optionValue says whether and where an option has its value.
type optionValue int

const (
	valueNone     optionValue = iota
	valueRequired             // in the same word or the next
	valueAttached             // in the same word, or no value
)

// options consumes words up to the name of a sub-command. It judges options and
// collects operands, and returns why an option is not in the preset.
func (c *presetCommand) options(words []string) (rest []string, why string) {
	o := &c.spec.operands
	for len(words) > 0 {
		w := words[0]
		switch {
		case o.kind == operandsWords, o.kind == operandsRest && len(c.operands) > 0:
			if strings.HasPrefix(w, string(grammar.Hole)) {
				return nil, c.unknownStart(w)
			}
			c.operands, words = append(c.operands, w), words[1:]
			continue
		case strings.HasPrefix(w, string(grammar.Hole)):
			return nil, c.unknownStart(w)
		case w == "--" && c.spec.ends:
			for _, operand := range words[1:] {
				if strings.HasPrefix(operand, string(grammar.Hole)) {
					return nil, c.unknownStart(operand)
				}
			}
			c.operands = append(c.operands, words[1:]...)
			return nil, ""
		case len(w) < 2 || w[0] != '-':
			switch o.kind {
			case operandsSub:
				return words, ""
			case operandsRun:
				c.operands = append(c.operands, words...)
				return nil, ""
			}
			c.operands, words = append(c.operands, w), words[1:]
			continue
		case len(c.operands) > 0 && o.most >= 0: // a program that stops at the first operand would read it as another
			return nil, fmt.Sprintf("write the option %s of %s before its operand", shownText(w), c.name)
		}
		if strings.ContainsRune(w, grammar.Hole) {
			return nil, fmt.Sprintf("the option %s of %s is not known before it runs", shownText(w), c.name)
		}
		taken, why := c.option(words)
		if why != "" {
			return nil, why
		}
		words = words[taken:]
	}
	return nil, ""
}

// unknownStart returns why a word with an unknown beginning is refused: it may
// become an option.
func (c *presetCommand) unknownStart(w string) string {
	return fmt.Sprintf("%s can become an option of %s: begin it with ./ or a letter", shownText(w), c.name)
}

// option judges the option at the start of words, and returns the number of
// words that it takes.
func (c *presetCommand) option(words []string) (taken int, why string) {
	w := words[0]
	if c.spec.number && strings.Trim(w[1:], "0123456789") == "" {
		return 1, ""
	}
	if c.spec.exact || strings.HasPrefix(w, "--") {
		name, value, with := strings.Cut(w, "=")
		opt, ok := c.spec.options[w]
		if ok {
			name, with = w, false
		} else {
			opt, ok = c.spec.options[name]
		}
		if !ok || with && opt.value == valueNone {
			return 0, c.unknown(w)
		}
		c.seen = append(c.seen, name)
		if with {
			return 1 + max(opt.values-1, 0), c.value(name, value, opt)
		}
		return c.following(name, words, opt)
	}
	for i := 1; i < len(w); i++ {
		name := "-" + w[i:i+1]
		opt, ok := c.spec.options[name]
		if !ok {
			return 0, c.unknown(name)
		}
		c.seen = append(c.seen, name)
		switch {
		case opt.value == valueNone:
		case i+1 < len(w):
			return 1, c.value(name, w[i+1:], opt)
		default:
			return c.following(name, words, opt)
		}
	}
	return 1, ""
}

// following judges the values of an option in the words after it.
func (c *presetCommand) following(name string, words []string, opt presetOption) (taken int, why string) {
	if opt.value != valueRequired {
		return 1, ""
	}
	if len(words) <= opt.values {
		return 0, fmt.Sprintf("the option %s of %s lacks its value", name, c.name)
	}
	for _, v := range words[1 : 1+opt.values] {
		if strings.HasPrefix(v, "-") && v != "-" &&
			!negative.MatchString(v) { // another version of the program may read it as an option
			return 0, fmt.Sprintf(
				"the value %s of %s %s looks like an option: write it in the same word",
				shownText(v),
				c.name,
				name,
			)
		}
		if why := c.value(name, v, opt); why != "" {
			return 0, why
		}
	}
	return 1 + opt.values, ""
}

// negative matches a value that begins with a dash and is no option: of
// numbers, times and modes.
var negative = lazyregexp.New(`^-(?:[0-9][^=]*|[ugoa]+[=+][rwxstX]+)$`)

// value judges the value of an option.
func (c *presetCommand) value(name, value string, opt presetOption) string {
	if strings.ContainsRune(value, grammar.Hole) {
		return fmt.Sprintf("the value of %s %s is not known before it runs: write it out, or quote it", c.name, name)
	}
	if c.spec.operands.kind == operandsFiles && isDevice(value) {
		return fmt.Sprintf("to read %s can change it: %s reads files that are no devices", shownText(value), c.name)
	}
	if opt.form != nil && !opt.form.MatchString(value) {
		return fmt.Sprintf(
			"the value %s of %s %s is not one that the preset %s has",
			shownText(value),
			c.name,
			name,
			c.preset.name,
		)
	}
	return ""
}

// unknown returns the reason for an option that is not in the preset, with
// those that are.
func (c *presetCommand) unknown(option string) string {
	has := "it has none"
	if len(c.spec.text) > 0 {
		has = "it has " + listed(c.spec.text)
	}
	return fmt.Sprintf("the option %s of %s is not in the preset %s; %s", shownText(option), c.name, c.preset.name, has)
}
