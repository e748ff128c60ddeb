package policy

import (
	"context"
	"strings"

	"ptyctl/policy/grammar"
	"ptyctl/term"
)

// Typing selects the input that may be typed into terminals where commands are
// judged. Rules for commands cannot be enforced on input: keys edit a line or
// recall another, and programs have shells inside.
type Typing string

// Values of Typing.
const (
	TypingAuto  Typing = "auto"  // deny if commands are judged; lines if only PTY_PERMISSIONS judges them
	TypingDeny  Typing = "deny"  // no input; commands run through exec
	TypingLines Typing = "lines" // lines that are allowed commands; prevents mistakes, not attacks
	TypingAllow Typing = "allow" // all input
)

// Every denial of input has one of these: for input that is not judged, and for a line that is.
const (
	warning = "typed input cannot be judged: " + keyboards
	caution = "judging it prevents mistakes, not attacks: " + keyboards

	keyboards = "keys edit a line or recall another, and programs have shells inside"
)

// typed judges a write.
func (p *Policy) typed(ctx context.Context, a term.Action) error {
	typing, rule := p.rules.Typing, p.rules.typing(p.rules.Typing, p.rules.TypingWhere)
	k := &p.commands
	if typing == "" || typing == TypingAuto {
		rule = p.rules.typing(TypingAuto, "")
		switch programs := p.ruled() && a.Protocol == local; {
		case k.lists() || len(k.deny)+len(k.ask) > 0:
			typing, rule.Where = TypingDeny, "for "+k.first().String()
		case programs:
			typing, rule.Where = TypingDeny, "for "+p.programRule().String()
		case k.any():
			typing = TypingLines
		default:
			typing = TypingAllow
		}
	}
	switch {
	case typing == TypingAllow:
		return nil
	case typing == TypingDeny:
		return &denial{rule: rule, why: warning, reason: term.ReasonRunCommands}
	case a.Sensitive:
		return &denial{
			rule: rule,
			why:  "typed input is judged line by line here, and sensitive text is hidden from the rules; " + warning,
		}
	}
	return p.lines(ctx, a, rule)
}

// lines judges each typed line as a command.
func (p *Policy) lines(ctx context.Context, a term.Action, rule Rule) error {
	text := pasteBrackets.Replace(string(a.Data))
	switch {
	case harmlessKeys[a.Key]:
		return nil
	case a.Key != "", strings.ContainsAny(text, editing):
		return &denial{
			rule:    rule,
			why:     "with keys that edit a line or recall another, the command that runs is unknown; " + warning,
			instead: "type whole lines",
		}
	}
	judge := func(line string) error { return p.commands.line(line, true, nil, p.variables(a)) }
	if p.commands.closed() {
		if strings.ContainsFunc(text, isKey) {
			return &denial{
				rule:    rule,
				why:     "line editors take such characters for keys, or drop them",
				instead: "type printable ASCII characters and line ends alone",
			}
		}
		if text != "" && !strings.HasSuffix(text, "\r") && !strings.HasSuffix(text, "\n") {
			return &denial{
				rule:    rule,
				why:     "the rest of this line would be typed later, and is not judged with it",
				instead: "type whole lines, with their ends",
			}
		}
		c := closedLine{
			k:        &p.commands,
			screen:   true,
			variable: p.variables(a),
			d:        grammar.Dialect{Class: farSide(ctx, a)},
		}
		judge = func(line string) error {
			printed, err := c.rewritten(line)
			if err == nil && line != printed {
				err = &denial{
					rule:    rule,
					part:    grammar.Shorten(line),
					why:     "a typed line has to be written so that every shell reads it alike",
					instead: "type " + printed,
				}
			}
			return err
		}
	}
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c < ' ' }) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := judge(line); err != nil {
			if d, ok := asDenial(err); ok && !p.commands.closed() {
				d.why = strings.TrimPrefix(d.why+"; this was a line of typed text, and "+caution, "; ")
				return d
			}
			return err
		}
	}
	return nil
}

// isKey reports whether a line editor may do more with a character than insert
// it. If its language is unknown, it may treat bytes beyond ASCII as keys with
// Meta.
func isKey(c rune) bool { return (c < ' ' || c > '~') && c != '\r' && c != '\n' }

// pasteBrackets removes the marks around pasted text (xterm control sequences,
// "Bracketed Paste Mode").
var pasteBrackets = strings.NewReplacer("\x1b[200~", "", "\x1b[201~", "")

// editing holds the characters that line editors treat as commands: ESC starts
// keys, the others are Emacs keys.
const editing = "\t\x1b\x7f\x01\x02\x05\x06\x08\x0b\x0e\x0f\x10\x12\x13\x14\x15\x16\x17\x18\x19\x1f"

// harmlessKeys neither edit a line nor recall another.
var harmlessKeys = grammar.SetOf(
	"enter ctrl_c ctrl_d ctrl_z ctrl_l ctrl_backslash break interrupt_process abort_output ayt eof",
)
