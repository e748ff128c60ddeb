package record

import (
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/term"
)

// TestDirOthers: calls without a session have a recording of the process, which is exchanged for a new one when it is
// large or old.
func TestDirOthers(t *testing.T) {
	dir := folderFor(t)
	d := newDir(t, DirOptions{Path: dir, MaxBytes: 512})
	now := time.Now()
	for range 3 {
		d.Observe(term.Event{Time: now, Verb: term.VerbFileRead, Host: "localhost", Path: "/etc/hosts", Size: 12, Actor: actor})
		d.Observe(term.Event{Time: now, Verb: term.VerbOpen, Session: "web1", Detail: "deploy@web1:22", Refused: &term.Error{Kind: term.PolicyDenied}})
		d.Observe(term.Event{Time: now, Verb: term.VerbOpen, Session: "web2", Detail: "deploy@web2:22", Err: &term.Error{Kind: term.Canceled}})
		d.Observe(term.Event{Time: now, Verb: term.VerbWrite, Session: "guessed", Size: 4, Refused: &term.Error{Kind: term.NotFound}})
		for _, v := range []term.Verb{term.VerbOutput, term.VerbRead, term.VerbGone, term.VerbState, term.VerbExecEnd} {
			d.Observe(term.Event{Time: now, Verb: v, Session: "gone", State: "closed", Data: []byte("output")})
		}
		for !d.others.old() {
			time.Sleep(time.Millisecond)
		}
	}
	d.Observe(term.Event{Time: now, Verb: term.VerbFileWrite, Path: "/tmp/last", Size: 1})
	if d.Active() != 0 {
		t.Errorf("%d sessions are recorded, want none", d.Active())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if len(d.ending) > 0 || d.others != nil {
		t.Errorf("after Close, %d recordings are being written", len(d.ending))
	}
	d.Observe(term.Event{Time: now, Verb: term.VerbFileWrite, Path: "/tmp/after", Size: 1})
	var text strings.Builder
	all := list(t, dir)
	for _, s := range all {
		if !s.Ended || s.Header.About.Session != "" || s.Header.Title != "ptyctl "+othersName() || s.Header.About.PID != os.Getpid() {
			t.Errorf("%+v; want one of this process that is complete", s)
		}
		if err := Text(&text, open(t, s.Path)); err != nil {
			t.Error(err)
		}
	}
	if path, err := Find(dir, othersName()); err != nil || path == "" {
		t.Errorf("Find(%q) = %q, %v", othersName(), path, err)
	}
	for what, n := range map[string]int{
		"-- file_read /etc/hosts, 12 bytes by ": 3, "   [file_read /etc/hosts, 12 bytes by ": 3,
		"-- open deploy@web1:22: refused, POLICY_DENIED (session web1)": 3,
		"-- open deploy@web2:22: failed, CANCELED (session web2)":       3,
		"-- write 4 bytes: refused, NOT_FOUND (session guessed)":        3,
		"-- file_write /tmp/last, 1 bytes":                              1, "after": 0, "gone": 0, "output": 0,
	} {
		if got := strings.Count(text.String(), what); got != n {
			t.Errorf("%q is %d times in the recordings, want %d:\n%s", what, got, n, text.String())
		}
	}
	if len(all) != 4 {
		t.Errorf("%d recordings, want a new one after each 512 bytes", len(all))
	}
}
