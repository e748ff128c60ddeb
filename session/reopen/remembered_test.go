package reopen_test

import (
	"strings"
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/session/known"
	"ptyctl/term"
)

// TestRemembered: another process gets the session's present target, without a secret.
func TestRemembered(t *testing.T) {
	request := session.OpenRequest{IdleTimeout: time.Hour, Target: term.Target{
		User: "ann", Port: 23, Auth: term.Auth{Method: "password", Password: "planted-word-1138", Secret: "lab-login"},
		SSH: term.SSHOptions{ExtraArgs: []string{"-4"}},
	}}
	run(t, session.Config{Retention: time.Minute}, request, func(t *testing.T, l *lab) {
		if err := l.s.Resize(t.Context(), 101, 33); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"open", "lost"} {
			r, err := l.s.ServerView().Remembered()
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if r.Target.Host != "r1" || r.Target.User != "ann" || r.Target.PTY.Cols != 101 || r.Target.PTY.Rows != 33 ||
				r.IdleTimeout != time.Hour || r.Retention != time.Minute || r.Target.Auth != (term.Auth{Method: "password", Secret: "lab-login"}) {
				t.Errorf("%s: it is remembered as %+v", when, r)
			}
			if when == "open" {
				l.lose(t)
			}
		}
		l.s.Close(t.Context(), session.CloseOptions{}) // which is for good
		if _, err := l.s.ServerView().Remembered(); err == nil || !strings.Contains(err.Error(), "for good") {
			t.Errorf("after a close: %v", err)
		}
	})
}

// TestNotRemembered: a target only on this machine, or with a possible secret, is not remembered.
func TestNotRemembered(t *testing.T) {
	hidden := known.NewRegistry()
	defer hidden.Close()
	const secret = "planted-word-1138"
	for want, r := range map[string]session.OpenRequest{
		"runs on this machine": {Target: term.Target{Local: term.LocalOptions{Argv: []string{"sh"}}}},
		"line of this machine": {Target: term.Target{Serial: term.SerialOptions{Path: "/dev/ttyUSB0"}}},
		"limited its life":     {Life: time.Hour},
		"its proxy may need":   {Target: term.Target{SSH: term.SSHOptions{ProxyURL: "http://me:pw@proxy"}}},
		"is a secret":          {Target: term.Target{SSH: term.SSHOptions{ExtraArgs: []string{"-o", "User=" + secret}}}},
	} {
		run(t, session.Config{Input: session.InputOptions{Known: hidden}}, r, func(t *testing.T, l *lab) {
			if want == "is a secret" {
				hidden.Redact(term.RedactedValue{Value: []byte(secret), Session: l.s.ID()})
			}
			if got, err := l.s.ServerView().Remembered(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
				t.Errorf("Remembered = %+v, %v; want %q", got, err, want)
			}
			l.s.Close(sessiontest.Task("t1"), session.CloseOptions{Force: true})
		})
	}
}
