package ssh

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

// Forty terminals at once, each with two commands at once, on a server that admits ten unauthenticated connections
// (MaxStartups 10:30:100) and ten sessions per connection (MaxSessions 10). These are OpenSSH's defaults.
func labDefaultLimits(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{})
	o := l.Operator(t, server)
	target := server.WithKey(l.Users["alice"])
	o.MustOpen(target) // makes the manager
	began := time.Now()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			r, err := o.Open(target)
			if err != nil {
				t.Errorf("session %d: %v", i, err)
				return
			}
			for j := range 2 {
				all.Go(func() { labWantEcho(t, r.Session, fmt.Sprintf("%d-%d", i, j)) })
			}
		})
	}
	all.Wait()
	t.Logf("80 commands in 40 sessions took %s", time.Since(began).Round(time.Millisecond))

	// Thirty commands at once in one session need more connections than one.
	s := o.MustOpen(target)
	for i := range 30 {
		all.Go(func() { labWantEcho(t, s, fmt.Sprint(i)) })
	}
	all.Wait()
}

// labWantEcho runs a short command that prints a token. It may be called from any goroutine.
func labWantEcho(t *testing.T, s *session.Session, token string) {
	r, err := s.Exec(t.Context(), session.ExecRequest{Command: "sleep 0.2; echo " + token, Lane: session.LaneChannel})
	if err != nil {
		t.Errorf("command %s: %s: %v", token, term.KindOf(err), err)
	} else if got := string(r.Stdout.Bytes()); got != token+"\n" || r.Exit.Code != 0 {
		t.Errorf("exec of echo %s: stdout %q, exit %+v (%s)", token, got, r.Exit, r.Done)
	}
}
