package mcpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/term"
)

func TestOpenListStatusClose(t *testing.T) {
	l := newLab(t, labConfig{ssh: sshserver.Config{Banner: "Authorized use only\n"}})
	before := time.Now().UnixMilli()
	o := l.open("")
	if !o.Success || o.Action != "open" || o.State != "open" || o.Cursor != "0" || o.Protocol != "ssh" || o.PTYEnabled == nil || !*o.PTYEnabled ||
		!strings.Contains(o.ServerBanner, "Authorized use only") || o.Capabilities == nil ||
		o.Capabilities.ExitCode != term.Yes ||
		o.LockAcquired != nil {
		t.Errorf("open: %s", o.text)
	}
	if !strings.HasPrefix(o.SessionID, "127") || len(o.SessionID) > 33 {
		t.Errorf("session id %q", o.SessionID)
	}

	r := l.ok(sessionName, `{"action":"list"}`)
	if len(r.Sessions) != 1 || r.Sessions[0].SessionID != o.SessionID || r.Sessions[0].State != session.Open ||
		r.Sessions[0].Host != "127.0.0.1" ||
		r.Sessions[0].CreatedAt < before ||
		r.Sessions[0].SessionType != "normal" {
		t.Errorf("list: %s", r.text)
	}
	if c := r.Sessions[0].Capabilities; c == nil || *c != *o.Capabilities {
		t.Errorf("list: capabilities %+v, open had %+v", c, o.Capabilities)
	}

	r = l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
	if s := r.Session; s == nil || s.SessionID != o.SessionID || !s.PTY || s.Cols != 120 || s.Rows != 40 || s.Term != "xterm-256color" ||
		!strings.HasPrefix(s.HostKey, "SHA256:") || len(s.Ladder) != 1 || s.BufferLimit == 0 ||
		s.ExitCode != nil ||
		s.Capabilities == nil {
		t.Errorf("status: %s", r.text)
	}

	r = l.ok(sessionName, `{"action":"close","session_id":"$S"}`)
	if r.State != "closed" || r.AlreadyClosed || r.SessionID != o.SessionID {
		t.Errorf("close: %s", r.text)
	}
	r = l.ok(sessionName, `{"action":"close","session_id":"$S"}`)
	if !r.AlreadyClosed || !r.Success {
		t.Errorf("second close: %s", r.text)
	}
	r = l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
	if r.State != "closed" || r.Session.EndReason != "closed by the caller" || r.Session.EndedAt < before {
		t.Errorf("status of what is closed: %s", r.text)
	}
}

// The answer of a closed session, and of one that never was, to every call.
func TestNoSuchSession(t *testing.T) {
	l := newLab(t, labConfig{})
	l.open("")
	l.ok(sessionName, `{"action":"close","session_id":"$S","force":true}`)
	calls := []struct {
		tool, args string
		closed     term.Kind // empty: it works
	}{
		{execName, `"cmd":"true"`, term.AlreadyClosed},
		{ioName, `"action":"write","data":"x"`, term.AlreadyClosed},
		{ioName, `"action":"read","cursor":"0"`, ""},
		{ioName, `"action":"read","mode":"tail"`, ""},
		{configName, `"action":"resize","cols":80,"rows":24`, term.AlreadyClosed},
		{configName, `"action":"expect","expect":{"prompt_regex":"x"}`, term.AlreadyClosed},
		{sessionName, `"action":"lock","task_id":"a"`, term.AlreadyClosed},
		{sessionName, `"action":"unlock","task_id":"a"`, term.AlreadyClosed},
		{sessionName, `"action":"heartbeat","task_id":"a"`, term.AlreadyClosed},
		{sessionName, `"action":"signal","signal":"INT"`, term.AlreadyClosed},
		{sessionName, `"action":"status"`, ""},
		{sessionName, `"action":"close"`, ""},
	}
	for _, c := range calls {
		l.fails(c.tool, `{"session_id":"web1-aaaaaaaa",`+c.args+`}`, term.NotFound, "web1-aaaaaaaa", "ptyctl_session list")
		args := `{"session_id":"$S",` + c.args + `}`
		if c.closed == "" {
			l.ok(c.tool, args)
			continue
		}
		r := l.fails(c.tool, args, c.closed, "has ended")
		if r.Details.SessionID != l.session || r.Details.EndReason == "" {
			t.Errorf("%s: details %+v", c.args, r.Details)
		}
	}
	r := l.ok(ioName, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`)
	if !r.EOF && r.BufferEnd != r.NextCursor {
		t.Errorf("read of what is closed: %s", r.text)
	}
}

func TestOpenOptions(t *testing.T) {
	l := newLab(
		t,
		labConfig{
			options: Options{Limits: Limits{MaxConnectTimeout: 9 * time.Second, LockTTL: 20 * time.Second, MaxLockTTL: 30 * time.Second}},
		},
	)

	r := l.open(
		`,"pty":{"cols":90,"rows":33,"term":"vt100"},"expect":{"prompt_regex":"[>#] $","pager_regexes":["--More--"]},"timeouts":{"connect_timeout_ms":60000}`,
	)
	if len(r.Warnings) != 1 ||
		r.Warnings[0] != "timeouts.connect_timeout_ms was lowered to 9s (limits.max_connect_timeout_ms)" {
		t.Errorf("warnings %q", r.Warnings)
	}
	r = l.ok(configName, `{"action":"get","session_id":"$S"}`)
	if r.Cols != 90 || r.Rows != 33 || r.Expect.Prompt != "[>#] $" || len(r.Expect.Pagers) != 1 {
		t.Errorf("get: %s", r.text)
	}
	r = l.ok(execName, `{"session_id":"$S","cmd":"true"}`)
	if len(r.Warnings) != 0 {
		t.Errorf("a later result repeats the warnings of open: %q", r.Warnings)
	}

	r = l.open(`,"pty":{"enabled":false}`)
	if r.PTYEnabled == nil || *r.PTYEnabled {
		t.Errorf("no pty: %s", r.text)
	}
	if r = l.ok(configName, `{"action":"get","session_id":"$S"}`); r.Cols != 0 || r.members["cols"] != nil {
		t.Errorf("a session without a window has a size: %s", r.text)
	}
	l.fails(configName, `{"action":"resize","session_id":"$S","cols":80,"rows":24}`, term.Unsupported)

	now := time.Now()
	r = l.open(`,"acquire_lock":true,"task_id":"a","lock_ttl_ms":3600000`)
	if r.LockAcquired == nil || !*r.LockAcquired || r.LockHolder != "a" || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "lock_ttl_ms was lowered to 30s") {
		t.Errorf("locked open: %s", r.text)
	}
	if left := time.UnixMilli(r.LockExpiresAt).Sub(now); left < 25*time.Second || left > 35*time.Second {
		t.Errorf("the lock expires in %v", left)
	}
	l.fails(sessionName, l.openArgs(`,"acquire_lock":true`), term.InvalidArgument, "acquire_lock needs task_id")
	l.fails(
		sessionName,
		l.openArgs(`,"expect":{"error_regexes":["ok","(("]}`),
		term.InvalidArgument,
		"expect.error_regexes[1]",
		"RE2",
	)
	l.fails(
		sessionName,
		l.openArgs(`,"auth":{"method":"private_key"}`),
		term.InvalidArgument,
		"needs auth.private_key_pem",
	)
	l.fails(
		sessionName,
		l.openArgs(`,"auth":{"method":"agent","password":"excluded-1138"}`),
		term.InvalidArgument,
		"leave method out",
	)
	l.fails(
		sessionName,
		l.openArgs(`,"auth":{"method":"password","private_key_pem":"excluded-1138"}`),
		term.InvalidArgument,
		"takes no private_key_pem",
	)
}

func TestOpenFails(t *testing.T) {
	l := newLab(
		t,
		labConfig{
			ssh:      sshserver.Config{Passwords: map[string]string{"demo": "correct horse-1138"}},
			sessions: session.Config{MaxSessions: 1},
		},
	)
	r := l.fails(sessionName, l.openArgs(`,"auth":{"password":"battery staple-1138"}`), term.AuthFailed)
	if strings.Contains(r.text, "battery") {
		t.Errorf("the password is in %s", r.text)
	}
	if len(r.Details.Ladder) != 1 || len(r.Details.MethodsTried) == 0 || r.Details.SessionID == "" {
		t.Errorf("details: %s", r.text)
	}
	l.fails(sessionName, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1}`, term.ConnectFailed)
	l.fails(
		sessionName,
		l.openArgs(`,"ssh_options":{"host_key_fingerprint":"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`),
		term.HostKeyMismatch,
	)

	l.open(`,"auth":{"password":"correct horse-1138"}`)
	r = l.fails(sessionName, l.openArgs(`,"auth":{"password":"correct horse-1138"}`), term.LimitExceeded)
	if r.Details.Limit != "session.max_sessions" || r.Details.Value != 1 {
		t.Errorf("details %+v", r.Details)
	}
}

func TestLocks(t *testing.T) {
	l := newLab(t, labConfig{options: Options{Limits: Limits{MaxLockTTL: time.Minute}}})
	l.open("")
	r := l.ok(sessionName, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	if r.LockHolder != "a" || r.LockExpiresAt <= time.Now().UnixMilli() || r.SessionID != l.session {
		t.Errorf("lock: %s", r.text)
	}
	first := r.LockExpiresAt
	for _, other := range []string{``, `,"task_id":"b"`} {
		for tool, args := range map[string][]string{
			execName:    {`"cmd":"true"`},
			ioName:      {`"action":"write","data":"x"`, `"action":"write","key":"enter"`},
			configName:  {`"action":"resize","cols":80,"rows":24`, `"action":"expect","expect":{}`},
			sessionName: {`"action":"signal","signal":"INT"`, `"action":"close"`, `"action":"close","force":true`},
		} {
			for _, a := range args {
				r := l.fails(tool, `{"session_id":"$S",`+a+other+`}`, term.Locked, "task a holds", "reading is allowed")
				if hint := "if that task is yours, pass its name as task_id"; strings.Contains(r.text, hint) != (other == "") {
					t.Errorf("%s%s: %s; want the hint %q only without task_id", a, other, r.text, hint)
				}
				if r.Details.LockHolder != "a" || r.Details.LockExpiresAt < first {
					t.Errorf("%s: details %+v", a, r.Details)
				}
			}
		}
	}
	l.fails(sessionName, `{"action":"lock","session_id":"$S","task_id":"b"}`, term.Locked)
	l.fails(sessionName, `{"action":"heartbeat","session_id":"$S","task_id":"b"}`, term.Locked)
	l.fails(sessionName, `{"action":"unlock","session_id":"$S","task_id":"b"}`, term.Locked)

	l.ok(ioName, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`)
	l.ok(execName, `{"session_id":"$S","cmd":"true","task_id":"a"}`)
	l.ok(ioName, `{"action":"write","session_id":"$S","data":"\r","task_id":"a"}`)
	l.ok(configName, `{"action":"resize","session_id":"$S","cols":80,"rows":24,"task_id":"a"}`)
	r = l.ok(sessionName, `{"action":"heartbeat","session_id":"$S","task_id":"a","lock_ttl_ms":3600000}`)
	if r.LockHolder != "a" || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "lock_ttl_ms was lowered to 1m0s (locks.max_ttl_ms)") {
		t.Errorf("heartbeat: %s", r.text)
	}
	if r := l.ok(sessionName, `{"action":"status","session_id":"$S"}`); r.LockHolder != "a" ||
		r.Session.LockHolder != "a" {
		t.Errorf("status: %s", r.text)
	}
	if r := l.ok(sessionName, `{"action":"unlock","session_id":"$S","task_id":"a"}`); r.LockHolder != "" ||
		!r.Success {
		t.Errorf("unlock: %s", r.text)
	}
	l.ok(ioName, `{"action":"write","session_id":"$S","data":"\r"}`)

	l.ok(sessionName, `{"action":"lock","session_id":"$S","task_id":"b","lock_ttl_ms":1}`)
	time.Sleep(5 * time.Millisecond) // the lock is over then
	l.fails(
		sessionName,
		`{"action":"heartbeat","session_id":"$S","task_id":"b"}`,
		term.LockRequired,
		"may have expired",
	)
	l.ok(sessionName, `{"action":"close","session_id":"$S"}`)
}

func TestForcedClose(t *testing.T) {
	l := newLab(t, labConfig{options: Options{AllowForce: true}})
	l.open(`,"acquire_lock":true,"task_id":"a"`)
	l.fails(sessionName, `{"action":"close","session_id":"$S","task_id":"b"}`, term.Locked)
	if r := l.ok(sessionName, `{"action":"close","session_id":"$S","task_id":"b","force":true}`); r.State != "closed" {
		t.Errorf("forced close: %s", r.text)
	}
}

func TestSignal(t *testing.T) {
	got := make(chan string, 1)
	l := newLab(t, labConfig{ssh: sshserver.Config{Handler: signalled(got)}})
	l.open("")
	for _, name := range []string{"INT", "TERM", "HUP", "KILL", "QUIT"} {
		if r := l.ok(sessionName, `{"action":"signal","session_id":"$S","signal":"`+name+`"}`); r.SessionID != l.session {
			t.Errorf("signal: %s", r.text)
		}
		if g := <-got; g != name {
			t.Errorf("the shell got %s, not %s", g, name)
		}
	}
	l.srv.SetFaults(sshserver.Faults{RefuseSignals: true})
	r := l.call(sessionName, `{"action":"signal","session_id":"$S","signal":"INT"}`)
	if r.isError && r.ErrorCode != term.Unsupported {
		t.Errorf("refused signal: %s", r.text)
	}
}

func TestConfig(t *testing.T) {
	l := newLab(t, labConfig{})
	l.openShell()
	r := l.ok(configName, `{"action":"resize","session_id":"$S","cols":77,"rows":22}`)
	if !r.Success || r.Cols != 77 || r.Rows != 22 {
		t.Errorf("resize: %s", r.text)
	}
	// The test server takes a new size and typed input on two ways, so the shell waits for the size.
	r = l.ok(
		ioName,
		`{"action":"write","session_id":"$S","data":"until stty size | grep '^22 77$'; do sleep 0.01; done\r","until_regex":"\\n22 77\\s","timeout_ms":10000}`,
	)
	if !r.Matched {
		t.Errorf("the far side does not know: %s", r.text)
	}
	expect := func(action, want string) {
		t.Helper()
		r := l.ok(configName, `{"session_id":"$S",`+action+`}`)
		if got := string(r.members["expect"]); got != want {
			t.Errorf("%s: expect is %s, want %s", action, got, want)
		}
	}
	expect(`"action":"get"`, `{}`)
	expect(
		`"action":"expect","expect":{"prompt_regex":"[>#] $","pager_regexes":["--More--","\\(END\\)"]}`,
		`{"prompt_regex":"[>#] $","pager_regexes":["--More--","\\(END\\)"]}`,
	)
	expect(
		`"action":"expect","expect":{"error_regexes":["(?i)invalid"]}`,
		`{"prompt_regex":"[>#] $","pager_regexes":["--More--","\\(END\\)"],"error_regexes":["(?i)invalid"]}`,
	)
	expect(`"action":"expect","expect":{"pager_regexes":[]}`, `{"prompt_regex":"[>#] $","error_regexes":["(?i)invalid"]}`)
	bad := l.fails(
		configName,
		`{"action":"expect","session_id":"$S","expect":{"error_regexes":[],"prompt_regex":"a(?!b)"}}`,
		term.InvalidArgument,
		"expect.prompt_regex",
		"no look-around",
	)
	if bad.Details.Field != "expect.prompt_regex" || !strings.HasPrefix(bad.Details.Position, "character 1: ") {
		t.Errorf("details %+v", bad.Details)
	}
	expect(`"action":"get"`, `{"prompt_regex":"[>#] $","error_regexes":["(?i)invalid"]}`) // nothing was half done
	if r := l.ok(configName, `{"action":"get","session_id":"$S"}`); r.Cols != 77 || r.Rows != 22 {
		t.Errorf("get: %s", r.text)
	}
}

// The end of the shell is not an error: the session says how it ended.
func TestShellEnds(t *testing.T) {
	l := newLab(t, labConfig{})
	l.openShell()
	r := l.ok(
		ioName,
		`{"action":"write","session_id":"$S","data":"exit 3\r","until_regex":"never","timeout_ms":10000}`,
	)
	if !r.EOF || r.Matched || r.TimedOut {
		t.Errorf("write: %s", r.text)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		r = l.ok(sessionName, `{"action":"status","session_id":"$S"}`)
		if r.State == "closed" || time.Now().After(deadline) {
			break
		}
	}
	if r.State != "closed" || r.Session.ExitCode == nil || *r.Session.ExitCode != 3 {
		t.Errorf("status: %s", r.text)
	}
	var entry map[string]json.RawMessage
	if err := json.Unmarshal(r.members["session"], &entry); err != nil || entry["end_reason"] == nil {
		t.Errorf("no end_reason in %s (%v)", r.text, err)
	}
}

// Terminal sessions do not belong to a connection: another MCP client of the same server sees and uses them.
func TestSessionsOutliveClients(t *testing.T) {
	l := newLab(t, labConfig{})
	l.open("")
	other := newAgent(t, NewServer(Options{Sessions: l.manager}), "2025-11-25")
	other.session = l.session
	if r := other.ok(execName, `{"session_id":"$S","cmd":"echo hi"}`); r.Stdout != "hi\n" {
		t.Errorf("exec by another client: %s", r.text)
	}
	if r := other.ok(sessionName, `{"action":"list"}`); len(r.Sessions) != 1 {
		t.Errorf("list by another client: %s", r.text)
	}
}

// The manager's observers learn who made a call.
func TestActor(t *testing.T) {
	seen := make(actors, 100)
	l := newLab(
		t,
		labConfig{sessions: session.Config{Observers: []term.Observer{seen}}, options: Options{Transport: "socket"}},
	)
	l.open(`,"task_id":"a"`)
	want := term.Actor{Transport: "socket", Client: "tester", Version: "7", Task: "a"}
	for {
		e := <-seen
		if e.Verb == term.VerbOpen {
			if e.Actor != want {
				t.Errorf("actor %+v, want %+v", e.Actor, want)
			}
			return
		}
	}
}

type actors chan term.Event

func (a actors) Observe(e term.Event) {
	select {
	case a <- e:
	default:
	}
}
