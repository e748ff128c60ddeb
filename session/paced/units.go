package paced

import (
	"fmt"
	"strings"

	"ptyctl/internal/lazyregexp"
)

// A Unit is lines that the far side reads as one: one line, or a block up to its end mark.
type Unit struct {
	First int      // number of the first line, from 1
	Lines []string // without line ends
}

// Blocks by their first line. The group "end" is the mark itself; without one, until is the whole last line.
var blocks = []struct {
	name  string
	first *lazyregexp.Regexp
	until string
}{
	// IOS, NX-OS: the mark is the first character of the text, or ^C as show running-config writes it. A letter may
	// begin a word: "banner motd line Hello" of FRRouting is one line.
	{"banner", lazyregexp.New(`^\s*banner\s+(?:exec|incoming|login|motd|prompt-timeout|slip-ppp)\s+` +
		`(?:(?P<end>\^C|[^\w\s])|(?P<end>\w)\s*$)`), ""},
	{"banner", lazyregexp.New(`^\s*banner\s+(?:login|motd)\s*$`), "EOF"}, // EOS
	{"certificate", lazyregexp.New(`^\s*certificate\s+(?:ca\s+|self-signed\s+|rollover\s+)*[0-9A-Fa-f]{2,}\s*$`), "quit"},
	{"macro", lazyregexp.New(`^\s*macro\s+name\s+\S+\s*$`), "@"},
	{"here-document", lazyregexp.New(`<<-?\s*(?:'(?P<end>[\w.\-]+)'|"(?P<end>[\w.\-]+)"|(?P<end>\w[\w.\-]*))`), ""},
}

// Lines returns the lines of a text each as a unit. They end with LF, CRLF or CR; one at the very end is no empty line.
func Lines(text string) []Unit {
	lines := split(text)
	units := make([]Unit, len(lines))
	for i := range lines {
		units[i] = Unit{First: i + 1, Lines: lines[i : i+1]}
	}
	return units
}

func split(text string) []string {
	text = strings.TrimSuffix(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Units cuts a text into units. The error names the line in which a block begins that has no end.
func Units(text string) ([]Unit, error) {
	lines := split(text)
	var units []Unit
	for i := 0; i < len(lines); {
		n, err := blockAt(lines[i:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		units = append(units, Unit{First: i + 1, Lines: lines[i : i+n]})
		i += n
	}
	return units, nil
}

// blockAt returns the number of lines of the unit with which lines begin.
func blockAt(lines []string) (int, error) {
	for _, b := range blocks {
		found := b.first.FindStringSubmatchIndex(lines[0])
		if found == nil {
			continue
		}
		mark, rest := b.until, ""
		for i, name := range b.first.SubexpNames() {
			if name == "end" && found[2*i] >= 0 {
				mark, rest = lines[0][found[2*i]:found[2*i+1]], lines[0][found[2*i+1]:]
			}
		}
		ends := func(line string) bool { return strings.TrimSpace(line) == mark }
		if b.name == "banner" && b.until == "" { // the mark may be anywhere, also in the first line
			ends = func(line string) bool { return strings.Contains(line, mark) }
			if ends(rest) {
				return 1, nil
			}
		}
		for n, line := range lines[1:] {
			if ends(line) {
				return n + 2, nil
			}
		}
		return 0, fmt.Errorf("the %s that begins here has no end: a line with %q must follow", b.name, mark)
	}
	return 1, nil
}
