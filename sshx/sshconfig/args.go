package sshconfig

import (
	"fmt"
	"slices"
	"strings"
)

// ParsedArgs is the configuration given by command-line options of ssh(1).
//
// The Overrides are in reading order. ssh(1) uses the last of some flags (-4,
// -A, -b, -c and so on), so these come before the -o options, where it uses the first.
type ParsedArgs struct {
	Overrides  []Override
	ConfigFile string // -F: Options.CallerFile
}

// UnsupportedArgError is an option of ssh(1) that this client does not support.
type UnsupportedArgError struct {
	Arg string // the option by its letter, such as "-L", or an operand
}

// Error names the option.
func (e *UnsupportedArgError) Error() string {
	return fmt.Sprintf("%s is not supported: use -o -J -l -p -i -F -4 -6 -A -a -b -c -m -C -t -T -q -v", e.Arg)
}

// ArgError is a supported option with a bad or missing argument, or an override that is not a
// valid configuration line.
type ArgError struct {
	Arg    string // the option by its letter, or the keyword
	Reason string
}

// Error never quotes the whole argument of -o: it may contain a secret.
func (e *ArgError) Error() string { return fmt.Sprintf("%s: %s", e.Arg, e.Reason) }

// ParseExtraArgs parses -o Keyword=Value, -J, -l, -p, -i, -F, -4, -6, -A, -a, -b, -c, -m, -C,
// -t, -T, -q and -v in the forms of getopt(3): the argument attached or separate, flags in
// clusters, for example -4C. Any other option or operand is an *UnsupportedArgError. The
// values are checked by Evaluate, not here.
func ParseExtraArgs(args []string) (ParsedArgs, error) {
	var p argParser
	if err := p.parse(args); err != nil {
		return ParsedArgs{}, err
	}
	return p.result(), nil
}

// argParser collects the options of one command line.
type argParser struct {
	// Additional options for jumpFromCommand; empty and nil for a plain command line.
	flags   string
	value   func(letter byte, value string) bool // reports whether it used an option with an argument
	operand func(arg string) bool                // reports whether it used an operand

	last   map[string]Override // flags by keyword, where the last one wins
	first  []Override          // options in order, where the first one wins
	config string              // argument of -F
	jumped bool                // -J was given
}

// set records a flag; the last one counts.
func (p *argParser) set(keyword, value string) {
	if p.last == nil {
		p.last = make(map[string]Override)
	}
	p.last[keyword] = Override{Keyword: keyword, Value: value}
}

// add records an option; the first one counts.
func (p *argParser) add(keyword, value string) {
	p.first = append(p.first, Override{Keyword: keyword, Value: value})
}

// result returns the overrides in reading order.
func (p *argParser) result() ParsedArgs {
	r := ParsedArgs{ConfigFile: p.config}
	for _, o := range p.last {
		r.Overrides = append(r.Overrides, o)
	}
	slices.SortFunc(r.Overrides, func(a, b Override) int { return strings.Compare(a.Keyword, b.Keyword) })
	r.Overrides = append(r.Overrides, p.first...)
	return r
}

// parse reads the options in the manner of getopt(3).
func (p *argParser) parse(args []string) error {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" || len(arg) < 2 || arg[0] != '-' {
			if p.operand == nil || arg == "--" || !p.operand(arg) {
				return &UnsupportedArgError{Arg: arg}
			}
			continue
		}
		for letters := arg[1:]; letters != ""; {
			letter := letters[0]
			letters = letters[1:]
			if p.flag(letter) {
				continue
			}
			if !strings.ContainsRune("oJlpiFbcm", rune(letter)) &&
				(p.value == nil || !strings.ContainsRune("We", rune(letter))) {
				return &UnsupportedArgError{Arg: "-" + string(rune(letter))}
			}
			value := letters
			if value == "" {
				i++
				if i == len(args) {
					return &ArgError{Arg: "-" + string(rune(letter)), Reason: "the argument is missing"}
				}
				value = args[i]
			}
			if err := p.option(letter, value); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// flag handles an option without an argument, and reports whether it is one.
func (p *argParser) flag(letter byte) bool {
	switch letter {
	case '4':
		p.set("AddressFamily", "inet")
	case '6':
		p.set("AddressFamily", "inet6")
	case 'A':
		p.set("ForwardAgent", "yes")
	case 'a':
		p.set("ForwardAgent", "no")
	case 'C':
		p.set("Compression", "yes")
	case 't':
		// A second -t requests a terminal even if standard input is not one.
		if p.last["RequestTTY"].Value == "yes" {
			p.set("RequestTTY", "force")
		} else {
			p.set("RequestTTY", "yes")
		}
	case 'T':
		p.set("RequestTTY", "no")
	case 'q':
		p.set("LogLevel", "QUIET")
	case 'v':
		p.set("LogLevel", "DEBUG")
	default:
		return strings.ContainsRune(p.flags, rune(letter))
	}
	return true
}

// option handles an option with its argument.
func (p *argParser) option(letter byte, value string) error {
	switch letter {
	case 'o':
		keyword, rest := splitLine(value)
		if keyword == "" || rest == "" {
			return &ArgError{Arg: "-o", Reason: "write -o Keyword=Value"}
		}
		p.add(keyword, rest)
	case 'J':
		if p.jumped {
			return &ArgError{Arg: "-J", Reason: "give all jump hosts in one option, separated by commas"}
		}
		p.jumped = true
		p.add("ProxyJump", Quote(value))
	case 'l':
		p.add("User", Quote(value))
	case 'p':
		p.add("Port", Quote(value))
	case 'i':
		p.add("IdentityFile", Quote(value))
	case 'F':
		p.config = value
	case 'b':
		p.set("BindAddress", Quote(value))
	case 'c':
		p.set("Ciphers", Quote(value))
	case 'm':
		p.set("MACs", Quote(value))
	default:
		if !p.value(letter, value) {
			return &UnsupportedArgError{Arg: "-" + string(rune(letter))}
		}
	}
	return nil
}
