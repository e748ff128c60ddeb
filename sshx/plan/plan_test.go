package plan_test

import (
	"os"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// A malformed pin must be refused before anything is dialled.
func TestFingerprintForm(t *testing.T) {
	srv, err := sshserver.Listen(sshserver.Config{NoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	_, err = sshx.Dial(
		t.Context(),
		term.Target{Host: "127.0.0.1", Port: srv.Port(), SSH: term.SSHOptions{NoConfig: true, HostKeyFingerprint: "MD5:aa"}},
		sshx.Options{HomeDir: t.TempDir()},
		nil,
	)
	if term.KindOf(err) != term.InvalidArgument || srv.Stats().Accepted != 0 {
		t.Errorf("%v, %d connections", err, srv.Stats().Accepted)
	}
}

// Match exec must run only if the operator allows it.
func TestMatchExec(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		srv, err := sshserver.Listen(sshserver.Config{NoAuth: true})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		config, ran := dir+"/config", dir+"/ran"
		text := "Match exec \"touch " + ran + "\"\n  User matched\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := sshx.Dial(t.Context(), term.Target{Host: "127.0.0.1", Port: srv.Port()}, sshx.Options{
			HomeDir: dir, ConfigPath: config, AllowExecDirectives: allowed, HostKeyPolicy: "accept_new",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, statErr := os.Stat(ran)
		if user := c.Describe().Ladder[0].User; (user == "matched") != allowed || (statErr == nil) != allowed {
			t.Errorf("allowed %t: user %s, %v", allowed, user, statErr)
		}
		_ = c.Close()
		_ = srv.Close()
	}
}
