package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// adopted has the members about sessions in the results of list and adopt.
type adopted struct {
	Sessions []struct {
		SessionID string `json:"session_id"`
		Resumable bool
		Orphaned  int64 `json:"orphaned_since"`
	}
	Running   []string `json:"running_exec_ids"`
	Unfetched []string `json:"unfetched_exec_ids"`
	NewBytes  *int64   `json:"new_bytes"`
}

// asks calls ptyctl_session and reads the members of its result that the common type has not.
func asks(t *testing.T, c *lab.Conversation, arguments string, values ...string) (lab.Result, adopted) {
	t.Helper()
	r := c.NextResult(c.Ask(lab.ToolSession, arguments, values...))
	var a adopted
	if err := json.Unmarshal([]byte(r.Text), &a); err != nil {
		t.Fatal(err)
	}
	return r, a
}

// A client is killed in mid-exec. The next one of the same program in the same folder is shown the sessions, adopts
// them, and gets the results, whether the command still runs or has ended meanwhile. The lock is its task's.
func TestAdopt(t *testing.T) {
	h := newHome(t)
	one := h.Converse(t, "--daemon")
	id := one.NextResult(one.Ask(lab.ToolSession, `{"action":"open","protocol":"local","argv":["bash","--norc"],`+
		`"task_id":"t1","acquire_lock":true,"lock_ttl_ms":3600000}`)).SessionID
	begun := filepath.Join(h.Dir, "begun")
	wait := fmt.Sprintf("touch %s.$1; while [ ! -e %s.go$1 ]; do sleep 0.05; done; echo built $1", begun, begun)
	one.Ask(lab.ToolExec, `{"session_id":%s,"task_id":"t1","cmd":%s}`, id, "set 1; "+wait)
	one.Ask(lab.ToolRun, `{"argv":["sh","-c",%s,"sh","2"]}`, wait)
	for _, name := range []string{".1", ".2"} {
		lab.Eventually(t, "both commands have begun", func() bool { return exists(begun + name) })
	}
	one.Kill()
	lab.Eventually(t, "the client has gone", func() bool { return theDaemon(t, h).Clients == 0 })
	if err := os.WriteFile(begun+".go2", nil, 0o600); err != nil {
		t.Fatal(err)
	}

	two := h.Converse(t, "--daemon")
	list, found := asks(t, two, `{"action":"list"}`)
	if len(found.Sessions) != 2 || !found.Sessions[0].Resumable || !found.Sessions[1].Resumable || found.Sessions[0].Orphaned == 0 {
		t.Fatalf("list of the next client = %s, want both sessions, resumable", list.Text)
	}
	if r := two.NextResult(two.Ask(lab.ToolIO, `{"action":"read","session_id":%s}`, id)); r.ErrorCode != "NOT_FOUND" ||
		!strings.Contains(r.Message, "ptyctl_session adopt") {
		t.Errorf("a read before the adoption: %s, want NOT_FOUND and what to do", r.Text)
	}
	r, a := asks(t, two, `{"action":"adopt","session_id":%s}`, id)
	if r.State != "open" || r.Holder != "t1" || len(a.Running) != 1 || a.NewBytes == nil {
		t.Fatalf("adopt = %s, want state open, lock_holder t1 and the exec that runs", r.Text)
	}
	if err := os.WriteFile(begun+".go1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := two.NextResult(two.Ask(lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, a.Running[0])); !strings.Contains(r.Stdout, "built 1") {
		t.Errorf("the exec's result = %s, want built 1", r.Text)
	}
	if r := two.NextResult(two.Ask(lab.ToolExec, `{"session_id":%s,"task_id":"t1","cmd":"echo mine"}`, id)); !strings.Contains(r.Stdout, "mine") {
		t.Errorf("a command under the adopted lock = %s, want its output", r.Text)
	}

	run := found.Sessions[0].SessionID
	if run == id {
		run = found.Sessions[1].SessionID
	}
	lab.Eventually(t, "the program has ended", func() bool {
		list, _ := asks(t, two, `{"action":"list","state":"closed"}`)
		return strings.Contains(list.Text, run)
	})
	r, a = asks(t, two, `{"action":"adopt","session_id":%s}`, run)
	if len(a.Unfetched) != 1 || r.EndCode != "exited" {
		t.Fatalf("adopt of a program that has ended = %s, want its exec and end_code exited", r.Text)
	}
	if r := two.NextResult(two.Ask(lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, run, a.Unfetched[0])); r.Stdout != "built 2\n" {
		t.Errorf("the program's result = %s, want built 2", r.Text)
	}
}

// A session that no client comes for ends, with a line in the audit log.
func TestOrphanEnds(t *testing.T) {
	h := newHome(t, "[session]", "orphan_ttl_ms = 1500")
	one := h.Converse(t, "--daemon")
	id := one.NextResult(one.Ask(lab.ToolSession, openBash)).SessionID
	one.Kill()
	lab.Eventually(t, "the session has ended", func() bool {
		out, _, _ := h.Run(t, "sessions", "--json")
		return strings.Contains(out, "no client had it for 1.5s")
	})
	two := h.Converse(t, "--daemon")
	if r, _ := asks(t, two, `{"action":"adopt","session_id":%s}`, id); r.ErrorCode != "ALREADY_CLOSED" {
		t.Errorf("adopt of a session that has ended: %s, want ALREADY_CLOSED", r.Text)
	}
	if lines := lab.AuditLines(t, h.Audit, "orphan"); len(lines) != 1 || lines[0].Detail != "integration in "+h.Dir {
		t.Errorf("the audit log has %+v, want one line that names the client that went", lines)
	}
	states := lab.AuditLines(t, h.Audit, "state")
	if last := states[len(states)-1]; !strings.Contains(last.Detail, "no client had it for 1.5s") {
		t.Errorf("the audit log has %+v, want why the session ended", last)
	}
}

// A person logs in and leaves the session to the next agent in the folder; and takes one from an agent for another.
func TestOpenKept(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	h.EndDaemons(t)
	one := h.Converse(t, "--daemon")
	p := h.AtTerminal(t, "open", "--config", h.Config, "--keep", "-p", fmt.Sprint(s.Port), s.User+"@127.0.0.1")
	p.Sees("you have taken")
	p.Types("echo per''son\r")
	p.Sees("person")
	p.Types("\x1d")
	p.Sees("is left to the next client in")
	p.Leaves(0)
	_, found := asks(t, one, `{"action":"list"}`)
	if len(found.Sessions) != 1 || !found.Sessions[0].Resumable {
		t.Fatalf("the agent is shown %+v, want one session, resumable", found.Sessions)
	}
	id := found.Sessions[0].SessionID
	if r, _ := asks(t, one, `{"action":"adopt","session_id":%s}`, id); r.State != "open" || r.Holder != "" {
		t.Fatalf("adopt = %s, want it open and free", r.Text)
	}
	if r := one.NextResult(one.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)); !strings.Contains(r.Chunk, "person") {
		t.Errorf("the agent reads %s, want what the person has done", r.Text)
	}

	two := h.Converse(t, "--daemon")
	_, said, status := h.Run(t, "sessions", "give", "--config", h.Config, id, "shim-none")
	if status == 0 || !strings.Contains(said, "no client \"shim-none\" is connected; there are shim-") {
		t.Errorf("sessions give to nobody: status %d, %s, want the clients there are", status, said)
	}
	names := strings.Fields(strings.ReplaceAll(said, "(", " "))
	var shims []string
	for _, n := range names {
		if strings.HasPrefix(n, "shim-") {
			shims = append(shims, n)
		}
	}
	out, said, status := h.Run(t, "sessions", "give", "--config", h.Config, id, shims[len(shims)-1])
	if status != 0 || !strings.Contains(out, "is now with integration in "+h.Dir) {
		t.Fatalf("sessions give: status %d, %s%s", status, out, said)
	}
	if _, found := asks(t, one, `{"action":"list"}`); len(found.Sessions) != 0 {
		t.Errorf("the agent before is shown %+v, want no session", found.Sessions)
	}
	if _, found := asks(t, two, `{"action":"list"}`); len(found.Sessions) != 1 || found.Sessions[0].Resumable {
		t.Errorf("the agent that has it is shown %+v, want it as its own", found.Sessions)
	}
	table, _, _ := h.Run(t, "sessions", "--config", h.Config)
	if !strings.Contains(table, "OWNER") || !strings.Contains(table, shims[len(shims)-1]) {
		t.Errorf("ptyctl sessions shows %s, want the owner", table)
	}
}

// Without a daemon the session that a person keeps is the one agent's, as it is.
func TestOpenKeptAlone(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	one := h.Converse(t)
	p := h.AtTerminal(t, "open", "--config", h.Config, "--keep", "-p", fmt.Sprint(s.Port), s.User+"@127.0.0.1")
	p.Sees("you have taken")
	p.Types("\x1d")
	p.Sees("whose agent sees it")
	p.Leaves(0)
	_, found := asks(t, one, `{"action":"list"}`)
	if len(found.Sessions) != 1 || found.Sessions[0].Resumable || found.Sessions[0].Orphaned != 0 {
		t.Fatalf("the agent is shown %+v, want the session as its own", found.Sessions)
	}
	id := found.Sessions[0].SessionID
	if _, said, status := h.Run(t, "sessions", "give", "--config", h.Config, id, "shim-none"); status == 0 ||
		!strings.Contains(said, "they end with the program that holds them") {
		t.Errorf("sessions give without a daemon: status %d, %s, want why it does nothing", status, said)
	}
	if r := one.NextResult(one.Ask(lab.ToolSession, `{"action":"close","session_id":%s,"force":true}`, id)); r.ErrorCode != "" {
		t.Errorf("the agent closes it: %s", r.Text)
	}
}
