package secret

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

const localValue = "Planted-1138-badger"

// newHome makes a home with a secret for local programs, and more lines.
func newHome(t *testing.T, lines ...string) *lab.Home {
	t.Helper()
	leaktest.Secret(t, localValue)
	value := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(value, []byte(localValue+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := "source = 'file:" + value + "'"
	return lab.NewHome(t, append([]string{"[secret.here]", source, "local = true", "per_hour = 20",
		"[secret.shown]", source, "local = true", "allow_echo = true",
		"[secret.web]", source, "hosts = ['web1']"}, lines...)...)
}

// TestLocalTerminals types a secret where the terminal keeps it to itself, and nowhere else.
func TestLocalTerminals(t *testing.T) {
	h := newHome(t)
	c := h.Connect(t)
	id := c.OpenLocal(t, []string{"bash", "--norc"}, `,"env":["PS1=$ "]`)
	c.Expect(t, id, `\$ $`)
	enter := func(line, until string) {
		t.Helper()
		data, _ := json.Marshal(line + "\r")
		r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":`+string(data)+`,"until_regex":%s}`, id, until)
		if !r.Matched {
			t.Fatalf("after %q the terminal shows %s, want %q", line, r.Text, until)
		}
	}
	refused := func(code, name, part string) {
		t.Helper()
		r := c.Refused(t, code, lab.ToolIO, `{"action":"write","session_id":%s,"secret":%s}`, id, name)
		if !strings.Contains(r.Text, part) {
			t.Errorf("the secret %s is refused with %s, want %q in it", name, r.Text, part)
		}
	}
	leave := func() {
		t.Helper()
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_c","until_regex":"\\$ $"}`, id)
	}
	const length = `; echo "got=${#x}"`
	r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"steps":[
		{"data":"read -s -p 'Password: ' x; echo \"got=${#x}\"\r","until_regex":"Password: $"},
		{"secret":"here","until_regex":"got=\\d+"}]}`, id)
	if !strings.Contains(r.Chunk, "got=19") || strings.Contains(r.Text, localValue) {
		t.Errorf("a secret in a list gives %s, want its length and not the value", r.Text)
	}
	enter(`read -s -p 'Password: ' x`+length, `Password: $`)
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"secret":"here","until_regex":"got=\\d+"}`, id)
	if !strings.Contains(r.Text, `"secret":"here"`) || !strings.Contains(r.Chunk, "got=19") || r.BytesWritten != 0 {
		t.Errorf("a secret gives %s, want its name, and no length of what was written", r.Text)
	}

	refused("POLICY_DENIED", "here", "the prompt of a shell")
	refused("NOT_FOUND", localValue, "no secret of that name")
	enter(`read -p 'Password: ' x`+length, `Password: $`)
	refused("POLICY_DENIED", "here", "secret.here.allow_echo = true")
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"secret":"shown","until_regex":"got=\\d+"}`, id)
	if !strings.Contains(r.Chunk, "got=19") || strings.Contains(r.Text, localValue) {
		t.Errorf("a secret that may be shown gives %s, want its length and not the value", r.Text)
	}
	enter(`read -e -p 'Password: ' x`, `Password: $`) // by a line editor, in a terminal without echo
	refused("POLICY_DENIED", "here", "shows the input")
	leave()
	enter(`printf '\033[?1049hPassword: '; read -s x`, `Password: $`)
	refused("POLICY_DENIED", "here", "whole screen")
	leave()
	enter(`printf '\033[?1049l'`, `\$ $`)
	enter(`read -s -p 'Password: ' x`, `Password: $`)
	refused("POLICY_DENIED", "web", "not for programs on this machine")
	// Half of another answer was typed there.
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"abc"}`, id)
	refused("POLICY_DENIED", "here", "something was typed")
	leave()
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolIO, `{"action":"write","session_id":%s,"secret":"here","data":"x"}`, id)
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolIO, `{"action":"write","session_id":%s,"secret":"here","paste":true}`, id)
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolIO, `{"action":"write","session_id":%s,"secret":"here","steps":[{"key":"enter"}]}`, id)
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolIO, `{"action":"write","session_id":%s,"steps":[{"key":"enter","secret":"here"}]}`, id)
	c.Close(t, id)
	c.Finish()

	log, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), `"here for a terminal of this machine, question sha256:`); n != 7 || strings.Contains(string(log), localValue) {
		t.Errorf("the audit log has %d uses and refusals of a secret, want 7 and no value:\n%s", n, log)
	}
	if n := strings.Count(string(log), `"detail":"here by name"`); n != 7 {
		t.Errorf("the audit log names the secret of %d writes, want 7:\n%s", n, log)
	}
}

// TestPersonWithinTimeout has a person asked for a secret no longer than the write or the command says.
func TestPersonWithinTimeout(t *testing.T) {
	t.Parallel()
	c := newHome(t, "[secret.mine]", "source = 'person'", "local = true", "commands = ['wc -c']").Connect(t)
	id := c.OpenLocal(t, []string{"bash", "--norc", "-c", "read -s -p 'Password: ' x; echo got=${#x}"}, "")
	c.Expect(t, id, `Password: $`)
	for what, ask := range map[string]func() lab.Result{
		"write": func() lab.Result {
			return c.Refused(t, "BUSY", lab.ToolIO, `{"action":"write","session_id":%s,"secret":"mine","timeout_ms":1500}`, id)
		},
		"command": func() lab.Result {
			return c.Refused(t, "BUSY", "ptyctl_run", `{"argv":["wc","-c"],"stdin_secret":"mine","timeout_ms":1500}`)
		},
	} {
		began := time.Now()
		r := ask()
		if took := time.Since(began); took > 45*time.Second || !strings.Contains(r.Text, `"kind":"person"`) {
			t.Errorf("a %s with timeout_ms 1500 gives %s after %v, want that a person is asked, and no wait of limits.max_wait_ms, 50 s",
				what, r.Text, took)
		}
	}
	c.Close(t, id)
}

// TestConsentToFirstUse checks that the person learns that they agree to all later uses, and is not asked about those.
func TestConsentToFirstUse(t *testing.T) {
	value := filepath.Join(t.TempDir(), "value")
	h := lab.NewHome(t, lab.ReadWrite, "[secret.first]", "source = 'file:"+value+"'", "local = true", "confirm = 'first'")
	h.Write(t, value, localValue+"\n")
	c := h.Connect(t)
	id := c.OpenLocal(t, []string{"bash", "--norc", "-c", "while read -s -p 'Password: ' x; do echo got=${#x}; done"}, "")
	c.Expect(t, id, `Password: $`)
	const write = `{"action":"write","session_id":%s,"secret":"first","until_regex":"got=[0-9]+\\s+Password: $","timeout_ms":1500}`
	c.Refused(t, "BUSY", lab.ToolIO, write, id)
	p := h.AtTerminal(t, "answer")
	p.Sees(`agree to this and all later uses, yes or no\? $`)
	p.Types("yes\r")
	p.Sees("is agreed to")
	p.Leaves(0)
	for range 2 {
		if r := c.Call(t, lab.ToolIO, write, id); !strings.Contains(r.Chunk, "got=19") {
			t.Errorf("after the person has agreed, a write gives %s, want the length", r.Text)
		}
	}
	c.Close(t, id)
}

// TestAnotherCaller has two clients of one daemon: a secret goes to a client's own sessions alone.
func TestAnotherCaller(t *testing.T) {
	h := newHome(t)
	h.EndDaemons(t)
	one, two := h.Connect(t, "--daemon"), h.Connect(t, "--daemon")
	id := one.OpenLocal(t, []string{"bash", "--norc", "-c", "read -s -p 'Password: ' x; echo got=${#x}; sleep 100"}, "")
	one.Expect(t, id, `Password: $`)
	const write = `{"action":"write","session_id":%s,"secret":"here","until_regex":"got=[0-9]+"}`
	two.Refused(t, "NOT_FOUND", lab.ToolIO, write, id)
	if r := one.Call(t, lab.ToolIO, write, id); !strings.Contains(r.Chunk, "got=19") {
		t.Errorf("the session's own client gets %s, want the length", r.Text)
	}
	one.Close(t, id)
}

// TestWithoutSecrets checks that without secrets no tool has arguments for them.
func TestWithoutSecrets(t *testing.T) {
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"bash", "--norc"}, "")
	r := c.Refused(t, "INVALID_ARGUMENT", lab.ToolIO, `{"action":"write","session_id":%s,"secret":"here"}`, id)
	if !strings.Contains(r.Text, "[secret.NAME]") {
		t.Errorf("without secrets the argument is refused with %s, want what would bring it", r.Text)
	}
	c.Close(t, id)
}

// TestRulesOnTyping checks that a secret is typed under the same rules as other input that no one may read.
func TestRulesOnTyping(t *testing.T) {
	c := newHome(t, "[policy]", "typing = 'deny'").Connect(t)
	id := c.OpenLocal(t, []string{"bash", "--norc", "-c", "read -s -p 'Password: ' x; echo got=$x"}, "")
	c.Expect(t, id, `Password: $`)
	r := c.Refused(t, "POLICY_DENIED", lab.ToolIO, `{"action":"write","session_id":%s,"secret":"here"}`, id)
	if !strings.Contains(r.Text, "policy.typing") {
		t.Errorf("a secret in spite of policy.typing gives %s, want that rule", r.Text)
	}
	c.Close(t, id)
}
