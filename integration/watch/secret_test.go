package watch

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A login that needs a secret which a person gives waits in the page, says which one, and takes the value in a hidden
// field. It is in nothing that is kept; see leaktest.
func TestSecretOfAPerson(t *testing.T) {
	const password = "given-page-1138"
	server := lab.ServeSSH(t, sshserver.Config{KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
		answers, err := ask("", "", []string{"Password: "}, []bool{false})
		if err == nil && (len(answers) != 1 || answers[0] != password) {
			err = errors.New("this answer is wrong")
		}
		return err
	}})
	h := lab.NewHome(t, lab.ReadWrite, "[secret.web]", "source = 'person'", "hosts = ['web1']", "auto = true")
	h.Write(t, h.SSHConfig, fmt.Sprintf(
		"Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n\tIdentityAgent none\n\tIdentityFile none\n", server.Port()))
	h.Trust(t, server.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password)
	id := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh","host":"web1"}`).SessionID
	b := newTab(t, 1000, 700)
	b.open(startPage(t, h).link())
	b.shows(".question", "secret web")
	if kind := evaluate[string](b, `document.querySelector('.question input').type`); kind != "password" {
		t.Errorf("the field for the value of a secret is of the type %q, want password", kind)
	}
	b.line(".question input", password)
	b.wait("that nothing is asked any more", `!document.querySelector('.question')`)
	lab.Eventually(t, "the value that was given has opened the session", func() bool {
		return c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id).State == "open"
	})
	b.clean()
}

// The button for consent that lasts does not say that it is for one call.
func TestLastingConsent(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite, "[secret.first]", "source = 'env:FIRST'", "local = true", "confirm = 'first'")
	const value = "given-first-1138"
	h.Env = append(h.Env, "FIRST="+value)
	c := h.Connect(t)
	c.Hide(value)
	id := c.OpenLocal(t, []string{"bash", "--norc", "-c", "read -s -p 'Password: ' x; echo got=${#x}; read x"}, "")
	c.Expect(t, id, `Password: $`)
	const write = `{"action":"write","session_id":%s,"secret":"first","until_regex":"got=[0-9]+","timeout_ms":1500}`
	c.Refused(t, "BUSY", lab.ToolIO, write, id)
	b := newTab(t, 1000, 700)
	b.open(startPage(t, h).link())
	b.shows(".question", "Allow from now on")
	b.shows(".question", "also all later uses of this caller in this session")
	b.run("agree", evaluateClick("Allow from now on"))
	b.wait("that nobody has to agree any more", `!document.body.textContent.includes('Allow from now on')`)
	if r := c.Call(t, lab.ToolIO, write, id); r.Chunk == "" || r.ErrorCode != "" {
		t.Errorf("after the person has agreed, the same write gives %s, want that it is made", r.Text)
	}
	b.clean()
}
