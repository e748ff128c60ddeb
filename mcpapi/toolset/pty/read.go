package pty

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

const (
	maxLine     = 2000     // characters of a line that are shown
	maxSearched = 64 << 10 // bytes of a line that are searched: a match cannot be interrupted within a line
)

// read returns a window of the session's lines, or of the lines that match a pattern.
func (s *set) read(ctx context.Context, c *toolset.Call, in *readArgs) (any, error) {
	t, err := s.find(ctx, c, term.VerbRead, in.ID)
	if err != nil {
		return nil, err
	}
	st := t.status(t.State()) // before the lines: if the program has ended, no line may be missing
	p := page{offset: in.Offset, limit: in.Limit, room: c.Limits().MaxReadBytes}
	if in.Pattern == "" {
		t.page(ctx, &p)
	} else if err = t.search(ctx, &p, in); err != nil {
		return nil, err
	}
	return wire.Answer{Text: p.output(in.ID, st)}, nil
}

// A page is a window of a session's lines, or of the lines that match.
type page struct {
	offset, limit int
	room          int    // bytes left for lines; the first line is always shown
	pattern       string // empty: all lines

	lines   []string
	total   int  // lines in the buffer
	matches int  // matching lines in the whole buffer
	dropped bool // the buffer has dropped older lines
}

// page fills p with lines, until the limit or the room is reached.
func (t *terminal) page(ctx context.Context, p *page) {
	lines := t.Lines(ctx, p.offset, p.limit)
	p.total, p.dropped = lines.Total, lines.Dropped > 0
	for n, text := range lines.All {
		if !p.add(n, text) {
			break
		}
	}
}

// search fills p with the lines that match. It counts the matches in the whole buffer,
// because the result must say how many there are.
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

// compile compiles a pattern that is matched against single lines. The message of an
// error starts like that of those servers and adds the part at fault.
func compile(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	re, err := schema.CompileRegexp(pattern, ignoreCase)
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
		Op:    "read",
		Kind:  term.InvalidArgument,
		Msg:   fmt.Sprintf(`Invalid regex pattern "%s": %s`, visible(cut(pattern, maxShown)), why),
		Facts: term.Facts{term.ArgumentFault{Field: "pattern"}},
	}
}

// add appends a line, unless it exceeds the room. Lines carry their number in five
// digits, as those servers print it.
func (p *page) add(number int, text []byte) bool {
	line := fmt.Sprintf("%05d| %s", number, cut(string(text[:min(len(text), 4*maxLine+4)]), maxLine))
	if p.room -= len(line) + 1; p.room < 0 && len(p.lines) > 0 {
		return false
	}
	p.lines = append(p.lines, line)
	return true
}

// output returns the result: the lines in an element with the session's id and status.
func (p *page) output(id string, st status) string {
	open := fmt.Sprintf(`pty_output id="%s" status="%s"`, id, st)
	if p.pattern != "" {
		open += fmt.Sprintf(` pattern="%s"`, visible(p.pattern))
	}
	return element(open, p.text()...)
}

// text returns the lines and, after a blank line, a note that says how many there are and
// how to read more.
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

// nothing explains why the result has no lines.
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
