package telnet

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// Over Telnet, nothing is answered before the login is over, and then each query once. An unread answer does not keep a
// command from running.
func TestTelnetAnswers(t *testing.T) {
	t.Parallel()
	s := lab.StartInetutils(t)
	c := lab.HomeFor(t, nil).Connect(t)
	id, _ := c.OpenTelnet(t, s, "")
	c.LoginTelnet(t, s, id)
	const asks = `stty raw -echo; printf '\033[c\033[?2026$p'; sleep 0.5; stty min 0 time 10; dd bs=200 count=1 2>/dev/null | ` +
		`od -An -tx1 | tr -d ' \n'; stty sane; echo .`
	c.Enter(t, id, "true\r", `demo\$ $`)
	r := c.Enter(t, id, asks+"\r", `[0-9a-f]{6,}\.`)
	if !strings.Contains(r.Chunk, "1b5b3f36323b3232631b5b3f323032363b322479.") {
		t.Errorf("the terminal shows %q, want the answers to DA1 and DECRQM", r.Chunk)
	}
	c.Enter(t, id, "\r", `demo\$ $`)
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"printf '\\033[c'; sleep 1\r","until_regex":"demo\\$ $","timeout_ms":20000}`, id)
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo right","class":"posix"}`, id); strings.TrimSpace(r.Stdout) != "right" {
		t.Errorf("exec with an answer in its line: %s", r.Text)
	}
}
