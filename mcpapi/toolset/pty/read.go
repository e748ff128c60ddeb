package pty

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"ptyctl/mcpapi"
	"ptyctl/term"
)

type readArgs struct {
	ID            string
	Offset, Limit int
	Pattern       string
	IgnoreCase    bool `json:"ignore_case"`
}

const (
	defaultLimit = 500
	maxLine      = 2000     // characters of a line that are shown
	maxSearched  = 64 << 10 // bytes of a line that are searched: nothing ends the search within a line
)

func (s *set) read(ctx context.Context, c *mcpapi.Call) (mcpapi.Answer, error) {
	in := readArgs{Limit: defaultLimit}
	if err := c.Args(&in); err != nil {
		return mcpapi.Answer{}, err
	}
	t, err := s.find(ctx, c, term.VerbRead, in.ID)
	if err != nil {
		return mcpapi.Answer{}, err
	}
	st := t.status(t.State()) // before the lines: of a program that has ended, all of them are there
	p := page{offset: in.Offset, limit: in.Limit, room: c.Options().MaxReadBytes}
	if in.Pattern == "" {
		t.page(ctx, &p)
	} else if err = t.search(ctx, &p, &in); err != nil {
		return mcpapi.Answer{}, err
	}
	return mcpapi.Answer{Text: p.output(in.ID, st)}, nil
}

// A page is a part of a session's lines, or of those that match.
type page struct {
	offset, limit int
	room          int    // bytes that the lines may still take; the first one is shown all the same
	pattern       string // empty: none

	lines   []string
	total   int  // lines held
	matches int  // of all lines held
	dropped bool // older lines are no longer held
}

// page fills p with lines.
func (t *terminal) page(ctx context.Context, p *page) {
	lines := t.Lines(ctx, p.offset, p.limit)
	p.total, p.dropped = lines.Total, lines.Dropped > 0
	for n, text := range lines.All {
		if !p.add(n, text) {
			break
		}
	}
}

// search fills p with the lines that match.
func (t *terminal) search(ctx context.Context, p *page, in *readArgs) error {
	re, err := compile(in.Pattern, in.IgnoreCase)
	if err != nil {
		return err
	}
	p.pattern = in.Pattern
	lines := t.Lines(ctx, 0, 0)
	p.total, p.dropped = lines.Total, lines.Dropped > 0
	full := false
	for n, text := range lines.All {
		if ctx.Err() != nil {
			return &term.Error{
				Op:      "read",
				Session: t.ID(),
				Kind:    term.Canceled,
				Msg:     "canceled while the lines were searched",
				Err:     ctx.Err(),
			}
		}
		if !re.Match(text[:min(len(text), maxSearched)]) {
			continue
		}
		p.matches++
		if p.matches > p.offset && !full {
			full = len(p.lines) == p.limit || !p.add(n, text)
		}
	}
	return nil
}

// compile makes a regular expression that is for one line.
func compile(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	re, err := mcpapi.CompileRegexp(pattern, ignoreCase)
	if err == nil {
		return re, nil
	}
	why := err.Error()
	if fault, ok := errors.AsType[*syntax.Error](err); ok {
		why = fmt.Sprintf(
			"%s: `%s`; patterns are RE2 (https://golang.org/s/re2syntax): no look-around, no back-references",
			fault.Code,
			visible(cut(fault.Expr, maxShown)),
		)
	}
	return nil, &term.Error{
		Op:      "read",
		Kind:    term.InvalidArgument,
		Msg:     fmt.Sprintf(`Invalid regex pattern "%s": %s`, visible(cut(pattern, maxShown)), why),
		Details: &term.Details{Field: "pattern"},
	}
}

// add shows a line, if there is room.
func (p *page) add(number int, text []byte) bool {
	line := fmt.Sprintf("%05d| %s", number, cut(string(text[:min(len(text), 4*maxLine+4)]), maxLine))
	if p.room -= len(line) + 1; p.room < 0 && len(p.lines) > 0 {
		return false
	}
	p.lines = append(p.lines, line)
	return true
}

func (p *page) output(id string, st status) string {
	open := fmt.Sprintf(`pty_output id="%s" status="%s"`, id, st)
	if p.pattern != "" {
		open += fmt.Sprintf(` pattern="%s"`, visible(p.pattern))
	}
	return element(open, p.text()...)
}

// text is what stands within the element.
func (p *page) text() []string {
	shown, end := len(p.lines), p.offset+len(p.lines)
	if shown == 0 {
		return p.nothing()
	}
	lines := append(p.lines, "")
	if p.dropped {
		lines = append(lines, "(Older lines were dropped; line 1 is the oldest kept)")
	}
	switch {
	case p.pattern == "" && end < p.total:
		return append(lines, fmt.Sprintf("(Buffer has more lines. Use offset=%d to read beyond line %d)", end, end))
	case p.pattern == "":
		return append(lines, fmt.Sprintf("(End of buffer - total %d lines)", p.total))
	case end < p.matches:
		return append(lines, fmt.Sprintf("(%d of %d matches shown. Use offset=%d to see more.)", shown, p.matches, end))
	case p.matches == 1:
		return append(lines, fmt.Sprintf("(1 match from %d total lines)", p.total))
	default:
		return append(lines, fmt.Sprintf("(%d matches from %d total lines)", p.matches, p.total))
	}
}

// nothing says why there are no lines.
func (p *page) nothing() []string {
	switch {
	case p.pattern == "" && p.total == 0:
		return []string{"(No output available - buffer is empty)", "Total lines: 0"}
	case p.pattern == "":
		return []string{fmt.Sprintf("(No output beyond line %d)", p.total), fmt.Sprintf("Total lines: %d", p.total)}
	case p.matches > 0:
		return []string{
			fmt.Sprintf("(No matches beyond the %d there are)", p.matches),
			fmt.Sprintf("Total lines in buffer: %d", p.total),
		}
	default:
		return []string{
			fmt.Sprintf("No lines matched the pattern '%s'.", visible(p.pattern)),
			fmt.Sprintf("Total lines in buffer: %d", p.total),
		}
	}
}
