package cli

import (
	"encoding/hex"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
)

// asksTwice asks the terminal for its type and its version, and shows the answers in hex.
const asksTwice = `stty raw; printf '\033[c\033[>q'; sleep 1; stty min 0 time 10; dd bs=200 count=1 2>/dev/null | ` +
	`od -An -tx1 | tr -d ' \n'; stty sane -echo; echo .`

var answered = regexp.MustCompile(`([0-9a-f]{6,})\.`)

// A query is answered once: by ptyctl, or by the terminal of a person who has taken the session's terminal.
func TestAttachAnswers(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	const own = "\x1b[?62;22c\x1bP>|ptyctl\x1b\\"
	asks := func() string {
		r := c.Enter(t, id, asksTwice+"\r", answered.String())
		text, _ := hex.DecodeString(answered.FindStringSubmatch(r.Chunk)[1])
		return string(text)
	}
	if got := asks(); got != own {
		t.Errorf("without a person the answer is %q, want %q", got, own)
	}
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	p.Sees("you have taken " + id)
	p.Types(asksTwice + "\r")
	p.Sees(`\x1b\[c\x1b\[>q`)
	p.Types("\x1b[?1;2c")
	p.Sees(`1b5b3f313b3263\.`)
	if n := strings.Count(p.Text(), "\x1b[c"); n != 1 {
		t.Errorf("the person's terminal was asked %d times, want 1", n)
	}
	p.Types("\x1d")
	p.Leaves(0)
	c.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id) // it learns of the person
	if got := asks(); got != own {
		t.Errorf("after the person the answer is %q, want %q", got, own)
	}
	q := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	q.Sees("you have taken " + id)
	if strings.Contains(q.Text(), "\x1b[c") || strings.Contains(q.Text(), "\x1b[>q") {
		t.Errorf("an earlier query was asked again: %q", q.Text())
	}
	if err := q.Cmd.Process.Signal(syscall.SIGHUP); err != nil { // as when the window is closed: the lock comes back at once
		t.Fatal(err)
	}
	q.Leaves(0)
	q.WantSane()
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"\r"}`, id)
	if replies := lab.AuditLines(t, h.Audit, "reply"); len(replies) < 2 || !strings.Contains(replies[0].Detail, "ptyctl") {
		t.Errorf("the audit log has these answers: %+v", replies)
	}
}
