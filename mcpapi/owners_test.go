package mcpapi_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/session"
	"ptyctl/session/owners"
	"ptyctl/term"
)

// shims are the clients of one server, as a daemon has them.
type shims struct {
	*mcptest.Lab
	srv *mcpapi.Server
}

func newShims(t *testing.T, c mcptest.Config) shims {
	l, srv := mcptest.NewServer(t, c)
	return shims{l, srv}
}

// come connects the client of a program in a folder. gone ends it as kill -9 ends its process.
func (s shims) come(t *testing.T, shim, name, dir string) (a *mcptest.Agent, gone func()) {
	t.Helper()
	c := identity.Caller{Transport: "stdio", Shim: shim, Isolated: true}
	if err := s.Manager.ServerView().Owners().Join(c.Principal(), owners.Place{Dir: dir, User: "1000"}); err != nil {
		t.Fatal(err)
	}
	a, end := mcptest.Connected(t, identity.WithCaller(t.Context(), c), s.srv, name, "")
	return a, func() {
		end()
		s.Manager.ServerView().Owners().Leave(c.Principal())
	}
}

// person connects the operator, as at the control socket.
func (s shims) person(t *testing.T) *mcptest.Agent {
	t.Helper()
	a, _ := mcptest.Connected(
		t, identity.WithCaller(t.Context(), identity.Caller{Transport: "socket", Operator: true}), s.srv, "ptyctl", "",
	)
	return a
}

const (
	listing  = `{"action":"list"}`
	adopting = `{"action":"adopt","session_id":"$S"}`
)

// A client is killed in the middle of a command. The next one of the same program in the same folder is shown the
// session, adopts it, and gets the command's result; the lock is its task's.
func TestAdoptAfterKill(t *testing.T) {
	s := newShims(t, mcptest.Config{})
	one, gone := s.come(t, "shim-one", "agent", "/srv/web")
	one.Session = one.OK(mcptest.SessionTool, s.OpenArgs(`,"task_id":"t1","acquire_lock":true`)).SessionID
	fifo := t.TempDir() + "/go"
	one.OK(mcptest.ExecTool, `{"session_id":"$S","task_id":"t1","cmd":"mkfifo `+fifo+`"}`)
	one.Start("tools/call", one.Params(mcptest.ExecTool,
		`{"session_id":"$S","task_id":"t1","cmd":"read x < `+fifo+`; echo built $x","lane":"channel"}`))
	watching := &mcptest.Lab{Agent: one}
	exec := watching.WaitRunning("channel")

	two, _ := s.come(t, "shim-two", "agent", "/srv/web")
	other, _ := s.come(t, "shim-other", "other", "/srv/web")
	two.Session, other.Session = one.Session, one.Session
	if r := two.OK(mcptest.SessionTool, listing); len(r.Sessions) != 0 {
		t.Errorf("while its client is present, another is shown %s, want no session", r.Text)
	}
	two.Fails(mcptest.SessionTool, adopting, term.Locked, "shim-one (agent in /srv/web) is connected",
		"ptyctl sessions give SESSION SHIM")
	hidden := other.Fails(mcptest.SessionTool, adopting, term.NotFound, "other in /srv/web", "shim-other").Message
	other.Session = "web1-00000000"
	if none := other.Fails(mcptest.SessionTool, adopting, term.NotFound).Message; none !=
		strings.ReplaceAll(hidden, one.Session, "web1-00000000") {
		t.Errorf("a session that the caller may not know of is refused with %q, none with %q, want the same", hidden, none)
	}
	gone()

	r := two.OK(mcptest.SessionTool, listing)
	if len(r.Sessions) != 1 || !r.Sessions[0].Resumable || r.Sessions[0].Orphaned == 0 {
		t.Fatalf("list shows %s, want one session that is resumable", r.Text)
	}
	if r := other.OK(mcptest.SessionTool, listing); len(r.Sessions) != 0 {
		t.Errorf("another program is shown %s, want no session", r.Text)
	}
	two.Fails(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`, term.NotFound, "not yours yet", "ptyctl_session adopt")
	two.Fails(mcptest.IOTool, `{"action":"read","session_id":"$S"}`, term.NotFound, "not yours yet")

	r = two.OK(mcptest.SessionTool, adopting)
	if r.State != "open" || len(r.Running) != 1 || r.Running[0] != exec || r.LockHolder != "t1" || r.NewBytes == nil {
		t.Errorf("adopt: %s, want state open, exec %s running and lock_holder t1", r.Text, exec)
	}
	two.OK(mcptest.ExecTool, `{"session_id":"$S","task_id":"t1","cmd":"echo well > `+fifo+`","lane":"channel"}`)
	if r := two.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+exec+`"}`); r.Stdout != "built well\n" {
		t.Errorf("the command's result is %s, want built well", r.Text)
	}
	if again := two.OK(mcptest.SessionTool, adopting); again.State != "open" {
		t.Errorf("adopt of a session that is the caller's: %s, want its state", again.Text)
	}
	// No other task has it now, and the next call with a host finds it.
	three, _ := s.come(t, "shim-three", "agent", "/srv/web")
	three.Session = one.Session
	three.Fails(mcptest.SessionTool, adopting, term.Locked, "shim-two")
}

// Without a daemon, adopt is not shown, and says why it does nothing; give is not known.
func TestAdoptAlone(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	l.Fails(mcptest.SessionTool, adopting, term.Unsupported, "end with the program that holds them", "ptyctl mcp --daemon")
	l.Fails(mcptest.SessionTool, `{"action":"give","session_id":"$S","to":"x"}`, term.InvalidArgument, "use one of open, close")
	s := newShims(t, mcptest.Config{})
	shim, _ := s.come(t, "shim-one", "agent", "/srv/web")
	for name, tt := range map[string]struct {
		a           *mcptest.Agent
		adopt, give bool
	}{"alone": {l.Agent, false, false}, "shim": {shim, true, false}, "person": {s.person(t), false, true}} {
		list := string(tt.a.Request("tools/list", `{}`).Result)
		if adopt, give := strings.Contains(list, `"adopt"`), strings.Contains(list, `"give"`); adopt != tt.adopt || give != tt.give ||
			strings.Contains(list, `"to":{"type":"string"`) != tt.give {
			t.Errorf("%s is shown adopt %v, give %v, want %v, %v", name, adopt, give, tt.adopt, tt.give)
		}
		if n := len(list); n >= maxAll {
			t.Errorf("%s is shown a list of %d bytes, want less than %d", name, n, maxAll)
		}
	}
}

// A person hands a session to a client, or leaves it in a folder; a client cannot.
func TestGive(t *testing.T) {
	watch := subscribe.NewWatch()
	defer watch.Close()
	s := newShims(t, mcptest.Config{
		Options: mcpapi.Options{Watch: watch}, Sessions: session.Config{Observers: []term.Observer{watch}},
	})
	person := s.person(t)
	person.Session = person.OK(mcptest.SessionTool, s.OpenArgs("")).SessionID
	one, _ := s.come(t, "shim-one", "agent", "/srv/web")
	two, _ := s.come(t, "shim-two", "other", "/srv/db")
	for _, a := range []*mcptest.Agent{one, two} {
		a.Session = person.Session
		a.Fails(mcptest.SessionTool, `{"action":"give","session_id":"$S","to":"shim-one"}`, term.InvalidArgument)
	}
	sees := func(a *mcptest.Agent) string {
		t.Helper()
		r := a.OK(mcptest.SessionTool, listing)
		switch {
		case len(r.Sessions) == 0:
			return "none"
		case r.Sessions[0].Resumable:
			return "resumable"
		}
		return "its own"
	}
	give := func(to string) string {
		return person.OK(mcptest.SessionTool, `{"action":"give","session_id":"$S","to":"`+to+`"}`).Text
	}
	for _, tt := range []struct{ to, one, two string }{
		{"shim-one", "its own", "none"},
		{"shim-two", "none", "its own"},
		{"/srv/web", "resumable", "none"},
		{"/srv/db/", "none", "resumable"},
	} {
		give(tt.to)
		if a, b := sees(one), sees(two); a != tt.one || b != tt.two {
			t.Errorf("given to %s, the first client sees %s and the second %s, want %s and %s", tt.to, a, b, tt.one, tt.two)
		}
	}
	two.OK(mcptest.SessionTool, adopting)
	if r := person.OK(mcptest.SessionTool, listing); len(r.Sessions) != 1 || r.Sessions[0].Owner != "shim-two (other in /srv/db)" {
		t.Errorf("the person is shown %s, want the owner shim-two", r.Text)
	}
	person.Fails(mcptest.SessionTool, `{"action":"give","session_id":"$S","to":"shim-none"}`, term.NotFound,
		`no client "shim-none" is connected`, "shim-one (agent in /srv/web)", "shim-two (other in /srv/db)")
	two.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S","force":true}`)
	person.Fails(mcptest.SessionTool, `{"action":"give","session_id":"$S","to":"shim-one"}`, term.AlreadyClosed)
}

// The compact result of adopt has only the news, and a read from its cursor has all new output.
func TestAdoptIsBrief(t *testing.T) {
	s := newShims(t, mcptest.Config{Options: mcpapi.Options{Results: identity.Compact}})
	one, gone := s.come(t, "shim-one", "agent", "/srv/web")
	one.Session = one.OK(mcptest.SessionTool, s.OpenArgs(`,"until_prompt":true`)).SessionID
	fifo := t.TempDir() + "/go"
	one.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"mkfifo `+fifo+`; read x < `+fifo+`; echo new-$x\r","until_regex":"echo"}`)
	one.Start("tools/call", one.Params(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"never","timeout_ms":20000}`))
	gone()
	two, _ := s.come(t, "shim-two", "agent", "/srv/web")
	two.Session = one.Session
	found, err := s.Manager.Get(one.Session)
	if err != nil {
		t.Fatal(err)
	}
	end := found.End()
	if err := os.WriteFile(fifo, []byte("lines\n"), 0); err != nil {
		t.Fatal(err)
	}
	found.ServerView().AwaitRead(t.Context(), session.ReadRequest{Cursor: end, Until: regexp.MustCompile(`new-lines\r\n\$ $`)})
	r := two.OK(mcptest.SessionTool, adopting)
	if want := fmt.Sprintf(`{"cursor":"%d","new_bytes":%d}`, end, found.End()-end); r.Text != want {
		t.Errorf("adopt: %s, want %s", r.Text, want)
	}
	if k := two.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"`+r.Cursor+`"}`); !strings.Contains(k.Text, "new-lines") {
		t.Errorf("a read from the cursor of adopt: %s, want the new output", k.Text)
	}
}
