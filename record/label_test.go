package record

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"ptyctl/term"
)

// TestLabelSecrets: a text that is cut shows no part of a secret, and sequences between its characters do not hide one.
func TestLabelSecrets(t *testing.T) {
	const secret = "Tr0ub4dor"
	l := labels{scrubbed}
	for _, before := range []int{100, 180, 480, 495, 500, 4080, 4090, 8150, 8170, 8180} {
		fill := strings.Repeat("y", before)
		for _, text := range []string{
			fill + " https://bob:" + secret + "@web1/x",
			fill + " password=" + secret,
			fill + " pass\x1b[0mword=" + secret,
			fill + " Authorization: Bearer " + secret + secret + secret,
			strings.Repeat("k=v token="+strings.Repeat("z", 90)+" ", before/100) + "https://bob:" + secret + secret + "@web1/",
		} {
			for _, e := range []term.Event{
				{Verb: term.VerbState, State: "open", Detail: text},
				{Verb: term.VerbFileRead, Path: text},
				{Verb: term.VerbExec, Exec: "x1", Detail: "channel", Command: text},
				{Verb: term.VerbExec, Exec: "x1", Detail: text, Command: text},
			} {
				if got := l.of(e) + "\n" + l.line(e); strings.Contains(got, secret[:3]) {
					t.Errorf("the label of %s with %d bytes of text, the secret after %d, shows a part of it: %.300q", e.Verb, len(text), before, got)
				}
			}
		}
	}
}

// TestLabelHash: the form of a command in the audit log is made from the whole command.
func TestLabelHash(t *testing.T) {
	line := strings.Repeat("echo \x1b[1mlong\x1b[m; ", 2000)
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(line)))
	l := labels{func(line string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(line))) }}
	if got := l.line(term.Event{Verb: term.VerbExec, Command: line}); got != want {
		t.Errorf("the hash of a line of %d bytes is %q, want %q, that of all of it", len(line), got, want)
	}
}
