package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"ptyctl/internal/leaktest"
)

func TestSecretIsNeverShown(t *testing.T) {
	const value = "hunter2-1138"
	leaktest.Secret(t, value)
	secret := NewSecret(value)
	holder := struct {
		Token Secret
		Ptr   *Secret
		List  []Secret
		Map   map[string]Secret
		inner Secret
	}{secret, &secret, []Secret{secret}, map[string]Secret{"a": secret}, secret}

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%08.3f", "%U"} {
		fmt.Fprintf(&out, verb+"\n", holder)
		fmt.Fprintf(&out, verb+"\n", secret)
	}
	fmt.Fprintln(&out, secret, fmt.Errorf("with %w", fmt.Errorf("made of %v", secret)))
	if err := json.NewEncoder(&out).Encode(holder); err != nil {
		t.Fatal(err)
	}
	if err := toml.NewEncoder(&out).Encode(holder); err != nil {
		t.Fatal(err)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "token", secret, "holder", holder)
	}
	leaktest.Output(t, "formatted", out.Bytes())
	for _, leak := range []string{value, fmt.Sprintf("%x", value), fmt.Sprintf("%X", value)} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q is shown in:\n%s", leak, out.String())
		}
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Errorf("nothing was formatted:\n%s", out.String())
	}
	for _, empty := range []Secret{{}, NewSecret("")} {
		if empty != (Secret{}) || empty.String() != "" || empty.Reveal() != "" {
			t.Errorf("the empty secret is %q, %q", empty.String(), empty.Reveal())
		}
	}
	if got := holder.inner.Reveal(); got != value {
		t.Errorf("Reveal() = %q", got)
	}
}

// TestSecretKey loads valid and invalid values of a secret key.
func TestSecretKey(t *testing.T) {
	for _, file := range []string{
		"a.token = 'hunter2-1138'", "a.token = ['hunter2-1138']",
		"a.token = {hunter2-1138 = 'hunter2-1138'}", "a.token = 'hunter2-1138", "a.token = hunter2-1138", "a.token = \"hunter2-1138\\q\"",
	} {
		var s Secret
		l := &loader{
			rows:   []row{secret(&s, "a.token", "A token.")},
			origin: make(map[string]string), where: make(map[string]string), doubt: make(map[string]bool),
		}
		l.readTOML("f", []byte(file))
		leaktest.Marked(t, file)
		leaktest.Output(t, "problems", lines(l.problems))
		valid := file == "a.token = 'hunter2-1138'"
		if valid != (s.Reveal() == "hunter2-1138") || valid == (len(l.problems) > 0) {
			t.Errorf("%s: %d bytes, problems %v", file, len(s.Reveal()), l.problems)
		}
		if strings.Contains(lines(l.problems), "hunter2-1138") {
			t.Errorf("%s: shown in %v", file, l.problems)
		}
	}
}

// A variable that is taken is in no environment of a program that is started, and stays known here.
func TestTakeVariable(t *testing.T) {
	t.Setenv("PTYCTL_TEST_TAKEN", "value-1138")
	for range 2 {
		if value, ok := TakeVariable("PTYCTL_TEST_TAKEN"); value != "value-1138" || !ok {
			t.Errorf("TakeVariable = %q, %v", value, ok)
		}
	}
	if value, ok := os.LookupEnv("PTYCTL_TEST_TAKEN"); ok {
		t.Errorf("a program would inherit %q", value)
	}
	if _, ok := TakeVariable("PTYCTL_TEST_NONE"); ok {
		t.Error("TakeVariable finds a variable that does not exist")
	}
}
