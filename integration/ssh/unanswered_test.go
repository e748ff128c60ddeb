package ssh

import (
	"context"
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
