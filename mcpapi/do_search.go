package mcpapi

import (
	"context"
	"strconv"
	"strings"

	"ptyctl/session"
)

// searchOut is the result of ptyctl_session_io search.
type searchOut struct {
	Action     string      `json:"action"`
	Lines      []foundLine `json:"lines"`
	Matches    int         `json:"matches"`
	More       bool        `json:"more"` // go on from next_cursor
	NextCursor string      `json:"next_cursor"`
	Dropped    int64       `json:"dropped_bytes"`
	Truncated  bool        `json:"truncated"`
}

// foundLine is one line of the output.
type foundLine struct {
	Line   int64  `json:"line"` // counted from the oldest line held, from 1
	Cursor string `json:"cursor"`
	Text   string `json:"text"`
	Match  bool   `json:"match,omitempty"`
}

// sanitized says what was removed from clean text, by kind.
type sanitized struct {
	CSI       int `json:"csi,omitempty"`
	OSC       int `json:"osc,omitempty"`
	DCS       int `json:"dcs,omitempty"`
	Other     int `json:"other,omitempty"`
	Controls  int `json:"controls,omitempty"`
	Bidi      int `json:"bidi,omitempty"`
	ZeroWidth int `json:"zero_width,omitempty"`
	BadUTF8   int `json:"bad_utf8,omitempty"`
	Hidden    int `json:"hidden,omitempty"`
	Rewritten int `json:"rewritten,omitempty"`
}

// newSanitized is the wire form of s; nil if nothing was removed.
func newSanitized(s session.Sanitized) *sanitized {
	if s == (session.Sanitized{}) {
		return nil
	}
	out := sanitized(s)
	return &out
}

// searchArgs are the arguments of ptyctl_session_io search.
type searchArgs struct {
	SessionID  string `json:"session_id"`
	Pattern    string
	IgnoreCase bool `json:"ignore_case"`
	Context    int
	MaxMatches int `json:"max_matches"`
	Cursor     string
}

func (c *invocation) search(ctx context.Context) (any, error) {
	var in searchArgs
	if err := c.args(&in); err != nil {
		return nil, err
	}
	s, err := c.m.Get(in.SessionID)
	if err != nil {
		return nil, err
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := compileRegexp("pattern", pattern)
	if err != nil {
		return nil, err
	}
	r := session.SearchRequest{Pattern: re, Context: in.Context, Max: in.MaxMatches}
	if in.Cursor != "" {
		if r.Cursor, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || r.Cursor < 0 {
			ch := checker{t: c.tool, action: c.action}
			return nil, ch.invalid(
				"cursor",
				nil,
				"cursor %q is none: pass the next_cursor of a result, or leave it out for all that is held",
				in.Cursor,
			)
		}
	}
	res := s.Search(ctx, r)
	found := &searchOut{
		Action:     c.action,
		Lines:      []foundLine{},
		Matches:    res.Matches,
		More:       res.More,
		NextCursor: strconv.FormatInt(res.Next, 10),
		Dropped:    res.Dropped,
		Truncated:  res.Dropped > 0,
	}
	for _, l := range res.Lines {
		found.Lines = append(
			found.Lines,
			foundLine{
				Line:   l.Number,
				Cursor: strconv.FormatInt(l.Cursor, 10),
				Text:   strings.ToValidUTF8(string(l.Text), "\uFFFD"),
				Match:  l.Match,
			},
		)
	}
	return found, canceled(ctx, s)
}
