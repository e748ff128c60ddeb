package local

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// Programs of this machine learn from ptyctl the type of the terminal; a shell at its prompt is typed nothing.
func TestLocalAnswers(t *testing.T) {
	t.Parallel()
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"bash", "--norc"}, `,"env":["PS1=ready$ "]`)
	c.Expect(t, id, `ready\$ $`)

	c.Enter(t, id, "vim --clean\r", `VIM - Vi IMproved`)
	// The answers go out a moment after the queries.
	c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen","until_stable_ms":300,"timeout_ms":20000}`, id)
	c.Enter(t, id, ":echo 'response' v:termresponse\r", `response \^\[\[>1;10;0c`)
	c.Enter(t, id, ":q\r", `ready\$ $`)

	c.Enter(t, id, "TMUX= tmux -L "+t.Name()+" -f /dev/null new 'sh -c \"sleep 1; tmux -L "+t.Name()+
		" display -p \\\"type #{client_termtype}, #{client_width}\\\"; cat\"'\r", `type ptyctl, 120`)
	c.Enter(t, id, "\x04", `ready\$ $`)

	// Queries in shown text come from no program.
	c.Enter(t, id, `printf '\033[c\033[6n\033[>q'; echo sh''own`+"\r", `shown\nready\$ $`)
	r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo right"}`, id)
	if strings.TrimSpace(r.Stdout) != "right" {
		t.Errorf("exec after it: %s", r.Text)
	}
	r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","timeout_ms":0,"max_bytes":262144}`, id)
	if strings.Contains(r.Chunk, "62;22c") {
		t.Errorf("the shell was typed an answer: %s", lab.Tail(r.Text, 4<<10))
	}
	c.Close(t, id)
}

// The operator, or the caller, may forbid the answers; the caller cannot allow them against the operator.
func TestLocalAnswersNever(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*lab.Client, string){
		"the operator": func() (*lab.Client, string) { return lab.ConnectLocal(t, "[session]", `answer = "never"`), "" },
		"the caller":   func() (*lab.Client, string) { return lab.ConnectLocal(t), `,"pty":{"answer":"never"}` },
		"the operator, for auto": func() (*lab.Client, string) {
			return lab.ConnectLocal(t, "[session]", `answer = "never"`), `,"pty":{"answer":"auto"}`
		},
	} {
		c, more := open()
		const asks = `stty raw -echo min 0 time 10; printf '\033[c'; dd count=1 2>/dev/null | od -An -tx1; echo "end"`
		id := c.OpenLocal(t, []string{"sh", "-c", asks}, more)
		if r := c.Expect(t, id, `end`); strings.Contains(r.Chunk, "1b 5b") {
			t.Errorf("%s says never, and the terminal shows %q", name, r.Chunk)
		}
		c.Close(t, id)
	}
}
