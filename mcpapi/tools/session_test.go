package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

func TestOpenListStatusClose(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Banner: "Authorized use only\n"}})
	before := time.Now().UnixMilli()
	o := l.Open("")
	if !o.Success || o.Action != "open" || o.State != "open" || o.Cursor != "0" || o.Protocol != "ssh" ||
		o.PTYEnabled == nil || !*o.PTYEnabled ||
		!strings.Contains(o.ServerBanner, "Authorized use only") || o.Capabilities == nil ||
		o.Capabilities.ExitCode != term.Yes ||
		o.LockAcquired != nil {
		t.Errorf("open: %s", o.Text)
	}
	if !strings.HasPrefix(o.SessionID, "127") || len(o.SessionID) > 33 {
		t.Errorf("session id %q", o.SessionID)
	}

	r := l.OK(mcptest.SessionTool, `{"action":"list"}`)
	if len(r.Sessions) != 1 || r.Sessions[0].SessionID != o.SessionID || r.Sessions[0].State != session.Open ||
		r.Sessions[0].Host != "127.0.0.1" ||
		r.Sessions[0].CreatedAt < before ||
		r.Sessions[0].SessionType != "normal" {
		t.Errorf("list: %s", r.Text)
	}
	if c := r.Sessions[0].Capabilities; c == nil || *c != *o.Capabilities {
		t.Errorf("list: capabilities %+v, open had %+v", c, o.Capabilities)
	}

	r = l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if s := r.Session; s == nil || s.SessionID != o.SessionID || !s.PTY || s.Cols != 120 || s.Rows != 40 ||
		s.Term != "xterm-256color" ||
		!strings.HasPrefix(s.HostKey, "SHA256:") || len(s.Ladder) != 1 || s.BufferLimit == 0 ||
		s.ExitCode != nil ||
		s.Capabilities == nil {
		t.Errorf("status: %s", r.Text)
	}

	r = l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	if r.State != "closed" || r.AlreadyClosed || r.SessionID != o.SessionID {
		t.Errorf("close: %s", r.Text)
	}
	r = l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	if !r.AlreadyClosed || !r.Success {
		t.Errorf("second close: %s", r.Text)
	}
	r = l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
	if r.State != "closed" || r.Session.EndReason != "closed by the caller" || r.Session.EndCode != session.EndClosed ||
		r.Session.EndedAt < before {
		t.Errorf("status of what is closed: %s", r.Text)
	}
}

// The answer of a closed session, and of one that never was, to every call.
func TestNoSuchSession(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S","force":true}`)
	calls := []struct {
		tool, args string
		closed     term.Kind // empty: it works
	}{
		{mcptest.ExecTool, `"cmd":"true"`, term.AlreadyClosed},
		{mcptest.IOTool, `"action":"write","data":"x"`, term.AlreadyClosed},
		{mcptest.IOTool, `"action":"read","cursor":"0"`, ""},
		{mcptest.IOTool, `"action":"read","mode":"tail"`, ""},
		{mcptest.ConfigTool, `"action":"resize","cols":80,"rows":24`, term.AlreadyClosed},
		{mcptest.ConfigTool, `"action":"expect","expect":{"prompt_regex":"x"}`, term.AlreadyClosed},
		{mcptest.SessionTool, `"action":"lock","task_id":"a"`, term.AlreadyClosed},
		{mcptest.SessionTool, `"action":"unlock","task_id":"a"`, term.AlreadyClosed},
		{mcptest.SessionTool, `"action":"heartbeat","task_id":"a"`, term.AlreadyClosed},
		{mcptest.SessionTool, `"action":"signal","signal":"INT"`, term.AlreadyClosed},
		{mcptest.SessionTool, `"action":"status"`, ""},
		{mcptest.SessionTool, `"action":"close"`, ""},
	}
	for _, c := range calls {
		l.Fails(c.tool, `{"session_id":"web1-aaaaaaaa",`+c.args+`}`, term.NotFound, "web1-aaaaaaaa", "ptyctl_session list")
		args := `{"session_id":"$S",` + c.args + `}`
		if c.closed == "" {
			l.OK(c.tool, args)
			continue
		}
		r := l.Fails(c.tool, args, c.closed, "has ended", "closed by")
		if r.Details.SessionID != l.Session || r.Details.EndReason != "" || r.Details.EndCode != "closed" {
			t.Errorf("%s: details %+v, want the session, its end_code, and no reason: the message has it", c.args, r.Details)
		}
	}
	r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`)
	if !r.EOF && r.BufferEnd != r.NextCursor {
		t.Errorf("read of what is closed: %s", r.Text)
	}
}

func TestOpenOptions(t *testing.T) {
	l := mcptest.NewLab(
		t,
		mcptest.Config{
			Options: mcpapi.Options{Limits: toolset.Limits{MaxConnectTimeout: 9 * time.Second, LockTTL: 20 * time.Second, MaxLockTTL: 30 * time.Second}},
		},
	)

	r := l.Open(
		`,"pty":{"cols":90,"rows":33,"term":"vt100"},"expect":{"prompt_regex":"[>#] $","pager_regexes":["--More--"]},"timeouts":{"connect_timeout_ms":60000}`,
	)
	if len(r.Warnings) != 1 ||
		r.Warnings[0] != "timeouts.connect_timeout_ms was lowered to 9s (limits.max_connect_timeout_ms)" {
		t.Errorf("warnings %q", r.Warnings)
	}
	r = l.OK(mcptest.ConfigTool, `{"action":"get","session_id":"$S"}`)
	if r.Cols != 90 || r.Rows != 33 || r.Expect.Prompt != "[>#] $" || len(r.Expect.Pagers) != 1 {
		t.Errorf("get: %s", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"true"}`)
	if len(r.Warnings) != 0 {
		t.Errorf("a later result repeats the warnings of open: %q", r.Warnings)
	}

	r = l.Open(`,"pty":{"enabled":false}`)
	if r.PTYEnabled == nil || *r.PTYEnabled {
		t.Errorf("no pty: %s", r.Text)
	}
	if r = l.OK(mcptest.ConfigTool, `{"action":"get","session_id":"$S"}`); r.Cols != 0 || r.Members["cols"] != nil {
		t.Errorf("a session without a window has a size: %s", r.Text)
	}
	l.Fails(mcptest.ConfigTool, `{"action":"resize","session_id":"$S","cols":80,"rows":24}`, term.Unsupported)

	now := time.Now()
	r = l.Open(`,"acquire_lock":true,"task_id":"a","lock_ttl_ms":3600000`)
	if r.LockAcquired == nil || !*r.LockAcquired || r.LockHolder != "a" || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "lock_ttl_ms was lowered to 30s") {
		t.Errorf("locked open: %s", r.Text)
	}
	if left := time.UnixMilli(r.LockExpiresAt).Sub(now); left < 25*time.Second || left > 35*time.Second {
		t.Errorf("the lock expires in %v", left)
	}
	l.Fails(mcptest.SessionTool, l.OpenArgs(`,"acquire_lock":true`), term.InvalidArgument, "acquire_lock needs task_id")
	l.Fails(
		mcptest.SessionTool,
		l.OpenArgs(`,"expect":{"error_regexes":["ok","(("]}`),
		term.InvalidArgument,
		"expect.error_regexes[1]",
		"RE2",
	)
	l.Fails(
		mcptest.SessionTool,
		l.OpenArgs(`,"auth":{"method":"private_key"}`),
		term.InvalidArgument,
		"needs auth.private_key_pem",
	)
	l.Fails(
		mcptest.SessionTool,
		l.OpenArgs(`,"auth":{"method":"agent","password":"excluded-1138"}`),
		term.InvalidArgument,
		"leave method out",
	)
	l.Fails(
		mcptest.SessionTool,
		l.OpenArgs(`,"auth":{"method":"password","private_key_pem":"excluded-1138"}`),
		term.InvalidArgument,
		"takes no private_key_pem",
	)
}

func TestOpenFails(t *testing.T) {
	l := mcptest.NewLab(
		t,
		mcptest.Config{
			SSH:      sshserver.Config{Passwords: map[string]string{"demo": "correct horse-1138"}},
			Sessions: session.Config{MaxSessions: 1},
		},
	)
	r := l.Fails(mcptest.SessionTool, l.OpenArgs(`,"auth":{"password":"battery staple-1138"}`), term.AuthFailed)
	if strings.Contains(r.Text, "battery") {
		t.Errorf("the password is in %s", r.Text)
	}
	if len(r.Details.Ladder) != 1 || len(r.Details.MethodsTried) == 0 || r.Details.SessionID == "" {
		t.Errorf("details: %s", r.Text)
	}
	l.Fails(mcptest.SessionTool, `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1}`, term.ConnectFailed)
	l.Fails(
		mcptest.SessionTool,
		l.OpenArgs(`,"ssh_options":{"host_key_fingerprint":"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`),
		term.HostKeyMismatch,
	)

	l.Open(`,"auth":{"password":"correct horse-1138"}`)
	r = l.Fails(mcptest.SessionTool, l.OpenArgs(`,"auth":{"password":"correct horse-1138"}`), term.LimitExceeded)
	if r.Details.Limit != "session.max_sessions" || r.Details.Value != 1 {
		t.Errorf("details %+v", r.Details)
	}
}

func TestLocks(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{MaxLockTTL: time.Minute}}})
	l.Open("")
	r := l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	if r.LockHolder != "a" || r.LockExpiresAt <= time.Now().UnixMilli() || r.SessionID != l.Session {
		t.Errorf("lock: %s", r.Text)
	}
	first := r.LockExpiresAt
	for _, other := range []string{``, `,"task_id":"b"`} {
		for tool, args := range map[string][]string{
			mcptest.ExecTool:    {`"cmd":"true"`},
			mcptest.IOTool:      {`"action":"write","data":"x"`, `"action":"write","key":"enter"`},
			mcptest.ConfigTool:  {`"action":"resize","cols":80,"rows":24`, `"action":"expect","expect":{}`},
			mcptest.SessionTool: {`"action":"signal","signal":"INT"`, `"action":"close"`, `"action":"close","force":true`},
		} {
			for _, a := range args {
				r := l.Fails(tool, `{"session_id":"$S",`+a+other+`}`, term.Locked, "task a holds", "reading is allowed")
				if hint := "if that task is yours, pass its name as task_id"; strings.Contains(r.Text, hint) != (other == "") {
					t.Errorf("%s%s: %s; want the hint %q only without task_id", a, other, r.Text, hint)
				}
				if r.Details.LockHolder != "a" || r.Details.LockExpiresAt < first {
					t.Errorf("%s: details %+v", a, r.Details)
				}
			}
		}
	}
	l.Fails(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"b"}`, term.Locked)
	l.Fails(mcptest.SessionTool, `{"action":"heartbeat","session_id":"$S","task_id":"b"}`, term.Locked)
	l.Fails(mcptest.SessionTool, `{"action":"unlock","session_id":"$S","task_id":"b"}`, term.Locked)

	l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","cursor":"0","timeout_ms":0}`)
	l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"true","task_id":"a"}`)
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"\r","task_id":"a"}`)
	l.OK(mcptest.ConfigTool, `{"action":"resize","session_id":"$S","cols":80,"rows":24,"task_id":"a"}`)
	r = l.OK(mcptest.SessionTool, `{"action":"heartbeat","session_id":"$S","task_id":"a","lock_ttl_ms":3600000}`)
	if r.LockHolder != "a" || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "lock_ttl_ms was lowered to 1m0s (locks.max_ttl_ms)") {
		t.Errorf("heartbeat: %s", r.Text)
	}
	if r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.LockHolder != "a" ||
		r.Session.LockHolder != "a" {
		t.Errorf("status: %s", r.Text)
	}
	if r := l.OK(mcptest.SessionTool, `{"action":"unlock","session_id":"$S","task_id":"a"}`); r.LockHolder != "" ||
		!r.Success {
		t.Errorf("unlock: %s", r.Text)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"\r"}`)

	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"b","lock_ttl_ms":1}`)
	time.Sleep(5 * time.Millisecond) // the lock is over then
	l.Fails(
		mcptest.SessionTool,
		`{"action":"heartbeat","session_id":"$S","task_id":"b"}`,
		term.LockRequired,
		"may have expired",
	)
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
}

func TestForcedClose(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{AllowForce: true}})
	l.Open(`,"acquire_lock":true,"task_id":"a"`)
	l.Fails(mcptest.SessionTool, `{"action":"close","session_id":"$S","task_id":"b"}`, term.Locked)
	if r := l.OK(mcptest.SessionTool,
		`{"action":"close","session_id":"$S","task_id":"b","force":true}`); r.State != "closed" {
		t.Errorf("forced close: %s", r.Text)
	}
}

func TestSignal(t *testing.T) {
	got := make(chan string, 1)
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Signalled(got)}})
	l.Open("")
	for _, name := range []string{"INT", "TERM", "HUP", "KILL", "QUIT"} {
		if r := l.OK(mcptest.SessionTool,
			`{"action":"signal","session_id":"$S","signal":"`+name+`"}`); r.SessionID != l.Session {
			t.Errorf("signal: %s", r.Text)
		}
		if g := <-got; g != name {
			t.Errorf("the shell got %s, not %s", g, name)
		}
	}
	l.SSH.SetFaults(sshserver.Faults{RefuseSignals: true})
	r := l.Call(mcptest.SessionTool, `{"action":"signal","session_id":"$S","signal":"INT"}`)
	if r.IsError && r.ErrorCode != term.Unsupported {
		t.Errorf("refused signal: %s", r.Text)
	}
}

func TestConfig(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	r := l.OK(mcptest.ConfigTool, `{"action":"resize","session_id":"$S","cols":77,"rows":22}`)
	if !r.Success || r.Cols != 77 || r.Rows != 22 {
		t.Errorf("resize: %s", r.Text)
	}
	// The test server takes a new size and typed input on two ways, so the shell waits for the size.
	r = l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"until stty size | grep '^22 77$'; do sleep 0.01; done\r","until_regex":"\\n22 77\\s","timeout_ms":10000}`,
	)
	if !r.Matched {
		t.Errorf("the far side does not know: %s", r.Text)
	}
	expect := func(action, want string) {
		t.Helper()
		r := l.OK(mcptest.ConfigTool, `{"session_id":"$S",`+action+`}`)
		if got := string(r.Members["expect"]); got != want {
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
	bad := l.Fails(
		mcptest.ConfigTool,
		`{"action":"expect","session_id":"$S","expect":{"error_regexes":[],"prompt_regex":"a(?!b)"}}`,
		term.InvalidArgument,
		"expect.prompt_regex",
		"no look-around",
	)
	if bad.Details.Field != "expect.prompt_regex" || !strings.HasPrefix(bad.Details.Position, "character 1: ") {
		t.Errorf("details %+v", bad.Details)
	}
	expect(`"action":"get"`, `{"prompt_regex":"[>#] $","error_regexes":["(?i)invalid"]}`) // no part of it was done
	if r := l.OK(mcptest.ConfigTool, `{"action":"get","session_id":"$S"}`); r.Cols != 77 || r.Rows != 22 {
		t.Errorf("get: %s", r.Text)
	}
}

// The end of the shell is not an error: the session says how it ended.
func TestShellEnds(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	r := l.OK(
		mcptest.IOTool,
		`{"action":"write","session_id":"$S","data":"exit 3\r","until_regex":"never","timeout_ms":10000}`,
	)
	if !r.EOF || r.Matched || r.TimedOut {
		t.Errorf("write: %s", r.Text)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		r = l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`)
		if r.State == "closed" || time.Now().After(deadline) {
			break
		}
	}
	if r.State != "closed" || r.Session.ExitCode == nil || *r.Session.ExitCode != 3 {
		t.Errorf("status: %s", r.Text)
	}
	var entry map[string]json.RawMessage
	if err := json.Unmarshal(r.Members["session"], &entry); err != nil || entry["end_reason"] == nil {
		t.Errorf("no end_reason in %s (%v)", r.Text, err)
	}
}

// Terminal sessions do not belong to a connection: another MCP client of the same server sees and uses them.
func TestSessionsOutliveClients(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.Open("")
	other := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{Sessions: l.Manager}), "2025-11-25")
	other.Session = l.Session
	if r := other.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo hi"}`); r.Stdout != "hi\n" {
		t.Errorf("exec by another client: %s", r.Text)
	}
	if r := other.OK(mcptest.SessionTool, `{"action":"list"}`); len(r.Sessions) != 1 {
		t.Errorf("list by another client: %s", r.Text)
	}
}

// A secret in the wrong place or of the wrong type is in no message.
func TestDecodeKeepsSecrets(t *testing.T) {
	const secret = "hunter2-1138"
	leaktest.Secret(t, secret)
	for _, args := range []string{
		`"auth":{"password":["hunter2-1138"]}`,
		`"auth":{"password":{"hunter2-1138":"hunter2-1138x"}}`,
		`"auth":"hunter2-1138"`,
		`"auth":["hunter2-1138"]`,
		`"auth":{"pasword":"hunter2-1138"}`,
		`"auth":{"password":"hunter2-1138","password":"hunter2-1138"}`,
		`"auth":{"private_key_pem":["hunter2-1138"]}`,
		`"auth":{"interactive":"hunter2-1138"}`,
		`"password":"hunter2-1138"`,
		`"port":"hunter2-1138"`,
		`"auth":{"method":"agent","password":"hunter2-1138"}`,
		`"auth":{"method":"private_key","password":"hunter2-1138"}`,
		`"auth":{"password":"hunter2-1138"},"acquire_lock":true`,
	} {
		a := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{}), "")
		r := a.Call(mcptest.SessionTool, `{"action":"open","protocol":"ssh","host":"h",`+args+`}`)
		if r.ErrorCode != term.InvalidArgument {
			t.Errorf("%s: got %s", args, r.Text)
		}
		if strings.Contains(r.Text, secret) {
			t.Errorf("%s: the secret is in %s", args, r.Text)
		}
	}
}
