package tools

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
)

// search finds a pattern in the output that the session still holds. Text that is not UTF-8 has U+FFFD in its place,
// because JSON cannot hold it.
func search(ctx context.Context, c *toolset.Call, in *ioArgs) (any, error) {
	s, err := c.Look(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		// Within the pattern, so that the limits on its size count it.
		pattern = "(?i)" + pattern
	}
	re, err := schema.RegexpArgument("pattern", pattern)
	if err != nil {
		return nil, err
	}
	r := session.SearchRequest{Pattern: re, Context: in.Context, Max: in.MaxMatches, Clean: in.Format != formatRaw}
	if in.Cursor != "" {
		if r.Cursor, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || r.Cursor < 0 {
			return nil, c.Checker().Invalid(
				"cursor",
				nil,
				"cursor %q is none: pass the next_cursor of a result, or leave it out for all that is held",
				in.Cursor,
			)
		}
	}
	// It reads the output held and never waits, so that it cannot delay the session.
	var res session.SearchResult
	if in.ExecID != "" {
		res, err = s.SearchExec(ctx, in.ExecID, cmp.Or(in.Stream, "stdout"), r)
	} else if in.Stream != "" {
		err = streamNeedsExec(c)
	} else {
		res = s.Search(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	found := &searchOut{
		Action: c.Action(),
		// Never nil: a client would have to tell null from an empty list.
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
