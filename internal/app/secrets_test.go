package app

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/config"
	"ptyctl/secret"
	"ptyctl/term"
)

// A reload of the configuration keeps the uses of secrets: otherwise each reload would permit per_hour more uses, and a
// host would get the same code again.
func TestSecretsAfterReload(t *testing.T) {
	t.Setenv("PTYCTL_TEST_PASSWORD", "planted-1138")
	t.Setenv("PTYCTL_TEST_KEY", "GEZDGNBVGY3TQOJQ")
	cfg := config.Default()
	cfg.Secret = []config.NamedSecret{
		{Entry: config.Entry{Name: "pw"}, Source: "env:PTYCTL_TEST_PASSWORD", Local: true, PerHour: 2, Confirm: "never"},
		{Entry: config.Entry{Name: "code"}, Source: "totp:env:PTYCTL_TEST_KEY", Local: true, Confirm: "never"},
	}
	synctest.Test(t, func(t *testing.T) {
		d := &dialers{secrets: secret.Options{Uses: new(secret.Uses)}}
		read := func() {
			t.Helper()
			if err := d.replace(cfg, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
		}
		release := func(name, prompt string) error {
			_, err := d.Release(t.Context(), term.SecretRequest{
				Name: name, Use: term.SecretTerminal, Prompt: prompt, Peer: term.Peer{Protocol: "local"},
			})
			return err
		}
		begin := time.Now()
		for range 2 {
			read()
			if err := release("pw", "Password: "); err != nil {
				t.Fatal(err)
			}
			if err := release("code", "Code: "); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 30*time.Second {
			t.Errorf("two codes were given out within %v, want that the second waits for its step, 30s", took)
		}
		read()
		if err := release("pw", "Password: "); term.KindOf(err) != term.PolicyDenied || !strings.Contains(err.Error(), "2 times") {
			t.Errorf("the third use ends with %v, want POLICY_DENIED", err)
		}
	})
}
