package pty

import (
	"context"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/session"
	"ptyctl/term"
)

// A search has bounded costs: by its pattern, by the length of a line, and by the life of
// its call.
func TestSearchBounds(t *testing.T) {
	l := newLab(t, Options{}, session.Config{}, mcpapi.Options{})
	c := connect(t, l, identity.Caller{})[0]
	id := c.sh(
		`head -c 65530 /dev/zero | tr '\0' x; printf 'in'; head -c 100 /dev/zero | tr '\0' y; echo out; echo next`,
		"next\r\n",
	)
	c.awaitEnd(id)
	if got := c.call("pty_read", about(id, `,"pattern":"xiny"`)); !strings.Contains(got, "(1 match from 2 total lines)") {
		t.Errorf("search for xiny within the first 64 KiB of a line = %.200s, want one match", got)
	}
	if got := c.call("pty_read", about(id, `,"pattern":"out"`)); !strings.Contains(
		got,
		"No lines matched the pattern 'out'.",
	) {
		t.Errorf("search for out after the first 64 KiB of a line = %.200s, want no match", got)
	}
	for _, more := range []string{"", `,"ignore_case":true`} {
		text, failed := c.try("pty_read", about(id, `,"pattern":"`+strings.Repeat("x{0,1000}", 455)+`"`+more))
		if !failed || !strings.HasPrefix(text, `Error: Invalid regex pattern "x{0,1000}x`) ||
			!strings.Contains(text, "shorten the repeat counts") {
			t.Errorf("search with a huge pattern%s = %s, want the advice to shorten it", more, text)
		}
	}

	s, err := l.m.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := page{limit: 500, room: 1 << 20}
	if err := (&terminal{Session: s}).search(ctx, &p, &readArgs{Pattern: "next"}); term.KindOf(err) != term.Canceled ||
		len(p.lines) > 0 {
		t.Errorf("search in a canceled call: err %v, %d lines; want %s and no lines", err, len(p.lines), term.Canceled)
	}
}
