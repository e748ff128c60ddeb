package mcptest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// A Lab is a real SSH server, ptyctl's sessions over it, and one MCP client of ptyctl, all in this process.
type Lab struct {
	*Agent
	SSH     *sshserver.Server
	Manager *session.Manager
	Plan    term.Planner // of the SSH server's host
}

// A Config holds the settings of a lab; its zero value lets the user demo in without a password.
type Config struct {
	SSH      sshserver.Config
	Options  mcpapi.Options
	Sessions session.Config
	revision string // of the protocol; empty: 2025-06-18
	Stranger bool   // the server's host key is not on record
}

// The names of the tools.
const (
	SessionTool = "ptyctl_session"
	ExecTool    = "ptyctl_session_exec"
	IOTool      = "ptyctl_session_io"
	ConfigTool  = "ptyctl_session_config"
	RunTool     = "ptyctl_run"
	FilesTool   = "ptyctl_fs"
	HealthTool  = "ptyctl_health"
)

// NewLab starts a server, the sessions over it and a client. All of it ends with the test.
func NewLab(t *testing.T, c Config) *Lab {
	t.Helper()
	l, srv := NewServer(t, c)
	l.Agent = NewAgent(t, srv, c.revision)
	return l
}

// NewServer makes a lab without a client, and the MCP server for one.
func NewServer(t *testing.T, c Config) (*Lab, *mcpapi.Server) {
	t.Helper()
	// Registered before the server starts, so that its very first log line is searched for them.
	for _, password := range c.SSH.Passwords {
		leaktest.Secret(t, password)
	}
	if c.SSH.KeyboardInteractive != nil {
		leaktest.Typed(t, twoAnswers[0]+"\r"+twoAnswers[1])
	}
	if c.SSH.Passwords == nil && c.SSH.KeyboardInteractive == nil {
		c.SSH.NoAuth = true
	}
	// A home of its own: the files and the environment of the machine that runs the test must not matter.
	home := t.TempDir()
	c.SSH.Shell, c.SSH.Dir = "/bin/sh", home
	c.SSH.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SHELL=/bin/sh", "PS1=$ "}
	srv, err := sshserver.Listen(c.SSH)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	l := &Lab{SSH: srv}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	// On record by default: few tests are about host keys, and a question would hold up each of them.
	known := srv.KnownHostsLine() + "\n"
	if c.Stranger {
		known = ""
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Sessions.Dialers == nil {
		network := sshx.NewNetwork(
			sshx.Options{NoConfig: true, HomeDir: home, IdentityAgent: "none", Logger: leaktest.Log(t)},
		)
		c.Sessions.Dialers = map[string]term.Dialer{"ssh": network.OpenShell}
		l.Plan = network.Plan
		c.Options.Plan = l.Plan
	}
	if c.Sessions.Logger == nil {
		c.Sessions.Logger = leaktest.Log(t)
	}
	if c.Options.Logger == nil {
		c.Options.Logger = c.Sessions.Logger
	}
	// Ended before the server, because cleanups run in reverse: an orderly close has a far side to speak to.
	l.Manager = session.NewManager(c.Sessions)
	t.Cleanup(func() { l.Manager.Close(context.Background()) })
	c.Options.Sessions = l.Manager
	c.Options.Results = cmp.Or(c.Options.Results, identity.Full) // the form that the tests check
	return l, mcpapi.NewServer(c.Options)
}

// OpenArgs are the arguments of an open; more is a list of members that begins with a comma, or nothing.
func (l *Lab) OpenArgs(more string) string {
	return fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":"demo"%s}`,
		l.SSH.Port(),
		more,
	)
}

// Open opens a session and keeps its id, for $S in later calls.
func (l *Lab) Open(more string) Reply {
	l.T.Helper()
	r := l.OK("ptyctl_session", l.OpenArgs(more))
	l.Session = r.SessionID
	if s, err := l.Manager.Get(r.SessionID); err == nil &&
		r.State == "connecting" { // if a call may wait only for moments
		s.Settle(l.T.Context(), 20*time.Second)
	}
	return r
}

// OpenShell opens a session and waits for the shell's prompt.
func (l *Lab) OpenShell() {
	l.T.Helper()
	l.Open("")
	const untilPrompt = `{"action":"read","session_id":"$S","cursor":"0","until_regex":"\\$ $","timeout_ms":10000}`
	if r := l.OK(IOTool, untilPrompt); !r.Matched {
		l.T.Fatalf("no prompt came: %s", r.Text)
	}
}

// Echo is a shell, and a command, that gives back the very bytes it gets.
func Echo(_ context.Context, r *sshserver.Request) sshserver.Exit {
	buf := make([]byte, 4096)
	for {
		n, err := r.Stdin.Read(buf)
		if _, werr := r.Stdout.Write(buf[:n]); err != nil || werr != nil {
			return sshserver.Exit{}
		}
	}
}

// Signalled is a shell that only reports the signals it gets.
func Signalled(to chan<- string) sshserver.Handler {
	return func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
		for {
			select {
			case s := <-r.Signals:
				to <- string(s)
			case <-ctx.Done():
				return sshserver.Exit{}
			}
		}
	}
}

// WaitRunning waits until a sleep runs and returns its exec_id.
func (l *Lab) WaitRunning(lane string) string {
	l.T.Helper()
	if lane == "terminal" { // until it is typed, a call that is cancelled does nothing
		l.OK(IOTool, `{"action":"read","session_id":"$S","cursor":"0","until_regex":"sleep \\d","timeout_ms":10000}`)
	}
	for range 2000 {
		if r := l.OK(SessionTool, `{"action":"status","session_id":"$S"}`); len(r.Session.Running) == 1 {
			return r.Session.Running[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.T.Fatal("no command runs")
	return ""
}

// WithFiles offers the files of far sides.
var WithFiles = session.Config{
	FarFiles: func(context.Context, io.ReadWriteCloser) (term.Files, error) { return nil, io.EOF },
}

// twoAnswers are right for twoQuestions.
var twoAnswers = [2]string{"p w-1138\r", "code-1138 "}

// TwoQuestions is a server that asks for a password and a code in one round (RFC 4256).
var TwoQuestions = sshserver.Config{
	KeyboardInteractive: func(user string, challenge ssh.KeyboardInteractiveChallenge) error {
		answers, err := challenge("", "Two factors.", []string{"Password: ", "Code (shown): "}, []bool{false, true})
		if err != nil {
			return err
		}
		if len(answers) != 2 || answers[0] != twoAnswers[0] || answers[1] != twoAnswers[1] {
			return term.AuthFailed
		}
		return nil
	},
}
