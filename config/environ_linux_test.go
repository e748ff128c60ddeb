package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOverwriteIn checks which bytes of an environment are overwritten.
func TestOverwriteIn(t *testing.T) {
	block := []byte("A=1\x00SECRET=hunter2\x00SECRETS=kept\x00XSECRET=kept\x00SECRET=again=x\x00none\x00\x00SECRET=")
	err := overwriteIn(block, []string{"SECRET"}, func(at, n int) error {
		for i := range n {
			block[at+i] = '.'
		}
		return nil
	})
	const want = "A=1\x00SECRET=.......\x00SECRETS=kept\x00XSECRET=kept\x00SECRET=.......\x00none\x00\x00SECRET="
	if err != nil || string(block) != want {
		t.Errorf("overwriteIn = %q, %v, want %q", block, err, want)
	}
}

// TestTakeSecrets checks that only the variables of secret keys leave the environment,
// and that Load still finds them.
func TestTakeSecrets(t *testing.T) {
	const secret, plain = "PTYCTL_SERVER_HTTP_AUTH_TOKEN", "PTYCTL_SERVER_HTTP_LISTEN"
	t.Setenv(secret, "0123456789abcdef")
	t.Setenv(plain, "127.0.0.1:1")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Cleanup(func() { taken.list = nil })
	if err := TakeSecrets(); err != nil {
		t.Fatal(err)
	}
	if value, ok := os.LookupEnv(secret); ok {
		t.Errorf("%s is still %q", secret, value)
	}
	if os.Getenv(plain) == "" {
		t.Errorf("%s was taken, too", plain)
	}
	if !slices.ContainsFunc(Environ(), func(e string) bool { return strings.HasPrefix(e, secret+"=0123") }) {
		t.Errorf("Environ() lacks %s", secret)
	}
	c, _, err := Load(Source{})
	if err != nil || c.Server.HTTP.AuthToken.Reveal() != "0123456789abcdef" {
		t.Errorf("Load: %v, the token is %q", err, c.Server.HTTP.AuthToken.Reveal())
	}
}
