package watch

import (
	"os"
	"path/filepath"
	"testing"

	"ptyctl/internal/lab"
)

// A command that a rule puts to a person is shown as a whole, and runs after the person has agreed in the page; one
// that is denied there does not. Where people may only watch the page shows the question, and no button.
func TestConsent(t *testing.T) {
	sshd := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[policy]\nask = ['touch *']\nconsent = 'person'\n"+lab.ReadWrite)
	c := h.Connect(t)
	id := c.Open(t, sshd)
	b := newTab(t, 1000, 700)
	b.open(startPage(t, h).link())
	b.shows(".tile .name", id)
	dir := t.TempDir()
	run := func(name string) chan lab.Result {
		done := make(chan lab.Result, 1)
		go func() {
			r, err := c.Try(t.Context(), lab.ToolExec, `{"session_id":%s,"cmd":%s,"lane":"channel"}`, id,
				"touch "+filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		return done
	}
	agreed := run("agreed")
	b.shows(".question .text", "touch")
	b.shows(".question", "Allow once")
	b.picture("watch-consent.png")
	b.click(".question .main")
	if r := <-agreed; r.ErrorCode != "" {
		t.Errorf("the command that was agreed to: %s, want that it runs", r.Text)
	}
	if _, err := os.Stat(filepath.Join(dir, "agreed")); err != nil {
		t.Errorf("the command that was agreed to has made no file: %v", err)
	}
	b.wait("that nothing is asked any more", `!document.querySelector('.question')`)
	denied := run("denied")
	b.shows(".question .text", "denied")
	b.run("deny", evaluateClick("Deny"))
	if r := <-denied; r.ErrorCode != "POLICY_DENIED" {
		t.Errorf("the command that was denied: %s, want POLICY_DENIED", r.Text)
	}
	if _, err := os.Stat(filepath.Join(dir, "denied")); err == nil {
		t.Error("the command that was denied has run")
	}
	b.clean()
}
