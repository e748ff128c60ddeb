package pty

import (
	"context"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/session"
	"ptyctl/term"
)

// A search costs no more than it may: neither by its pattern, nor by the length of a line, nor after its call.
func TestSearchBounds(t *testing.T) {
	l := newLab(t, Options{}, session.Config{}, mcpapi.Options{})
	c := connect(t, l, mcpapi.Caller{})[0]
	id := c.sh(
		`head -c 65530 /dev/zero | tr '\0' x; printf 'in'; head -c 100 /dev/zero | tr '\0' y; echo out; echo next`,
		"next\r\n",
	)
	c.awaitEnd(id)
	if got := c.call("pty_read", about(id, `,"pattern":"xiny"`)); !strings.Contains(got, "(1 match from 2 total lines)") {
		t.Errorf("%.200s", got)
	}
	if got := c.call("pty_read", about(id, `,"pattern":"out"`)); !strings.Contains(
		got,
		"No lines matched the pattern 'out'.",
	) {
		t.Errorf("%.200s", got)
	}
	for _, more := range []string{"", `,"ignore_case":true`} {
		text, failed := c.try("pty_read", about(id, `,"pattern":"`+strings.Repeat("x{0,1000}", 455)+`"`+more))
		if !failed || !strings.HasPrefix(text, `Error: Invalid regex pattern "x{0,1000}x`) ||
			!strings.Contains(text, "shorten the repeat counts") {
			t.Error(text)
		}
	}

	s, err := l.m.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := page{limit: defaultLimit, room: 1 << 20}
	if err := (&terminal{Session: s}).search(ctx, &p, &readArgs{Pattern: "next"}); term.KindOf(err) != term.Canceled ||
		len(p.lines) > 0 {
		t.Errorf("%v, %d lines", err, len(p.lines))
	}
}
