package ssh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/sshx"
	"ptyctl/term"
)

// An unreachable is a person who is asked and never answers.
type unreachable struct{ asked chan struct{} }

// Prompt implements term.Prompter.
func (u unreachable) Prompt(ctx context.Context, _ term.Prompt) (string, error) {
	u.asked <- struct{}{}
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// As many logins as may run at a time wait for an answer, and another one still gets in.
func labUnanswered(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{
		PAM: lab.PAMPassword, Config: "KbdInteractiveAuthentication yes\nMaxStartups 100",
	})
	o := l.Operator(t, server)
	network := sshx.NewNetwork(o.Options)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	nobody := unreachable{make(chan struct{}, 8)}
	for range 8 {
		waiting.Go(func() {
			if _, err := network.OpenShell(ctx, server.Target(l.Users["bob"]), nobody, nil); err == nil {
				t.Error("a login without an answer succeeded")
			}
		})
	}
	for range 8 {
		<-nobody.asked
	}
	target := server.WithKey(l.Users["alice"])
	target.ConnectTimeout = lab.Patience
	began := time.Now()
	sh, err := network.OpenShell(t.Context(), target, nil, nil)
	if err != nil {
		t.Fatalf("beside 8 unanswered logins, after %v: %v", time.Since(began), err)
	}
	_ = sh.Close()
}

// Of a caller's eight logins at one account two ask, however the account is spelled, and the server keeps no connection
// of the others.
func labSpelledLogins(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "KbdInteractiveAuthentication yes"})
	o := l.Operator(t, server)
	o.Options.ConfigPath = o.Write("config", fmt.Sprintf(
		"Host db DB2\n HostName 127.0.0.1\n Port %d\n User bob\n", server.Port,
	))
	target := func(host string) term.Target {
		to := server.Target(l.Users["bob"])
		if to.Host = host; host != "127.0.0.1" {
			to.Port, to.User = 0, ""
		}
		return to
	}
	first, err := o.Open(target("127.0.0.1"))
	if err != nil {
		lab.Fatal(t, err)
	}
	asking := []string{first.Session.ID()}
	var mu sync.Mutex
	var opens sync.WaitGroup
	refused := 0
	for _, host := range []string{"db", "DB2", "127.0.0.1", "db", "127.0.0.1", "DB2", "127.0.0.1"} {
		opens.Go(func() {
			r, err := o.Open(target(host))
			mu.Lock()
			defer mu.Unlock()
			switch e, _ := errors.AsType[*term.Error](err); {
			case err == nil && r.Prompt != nil:
				asking = append(asking, r.Session.ID())
			case e != nil && e.Kind == term.Busy && len(term.FactOf[term.Unanswered](err).Sessions) == 2:
				refused++
			default:
				t.Errorf("open %s = %+v, %v; want a question or BUSY", host, r, err)
			}
		})
	}
	opens.Wait()
	if len(asking) != 2 || refused != 6 {
		t.Errorf("%d logins ask (%v) and %d were refused; want 2 and 6", len(asking), asking, refused)
	}
}
