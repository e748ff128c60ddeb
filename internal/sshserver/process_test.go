//go:build linux || darwin || freebsd

package sshserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// patience limits each wait for a real process.
const patience = 20 * time.Second

// shellServer returns a server of /bin/sh on the loopback address, with its own home
// folder.
func shellServer(t *testing.T, c Config) *Server {
	t.Helper()
	home := t.TempDir()
	c.NoAuth, c.Shell = true, "/bin/sh"
	if c.Env == nil {
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PS1=PROMPT> "}
	}
	s, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// dial connects to s over TCP.
func dial(t *testing.T, s *Server) *ssh.Client {
	t.Helper()
	client, err := ssh.Dial("tcp", s.Addr(), clientConfig(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// terminal is the client's side of a shell on a PTY.
type terminal struct {
	*ssh.Session
	in     io.Writer
	output chan []byte // closed at the end
	seen   []byte      // output not yet used by expect
}

func openTerminal(t *testing.T, client *ssh.Client, modes ssh.TerminalModes) *terminal {
	t.Helper()
	session := openSession(t, client)
	if err := session.RequestPty("xterm", 24, 80, modes); err != nil {
		t.Fatal(err)
	}
	in, err := session.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{Session: session, in: in, output: make(chan []byte, 1000)}
	go func() {
		defer close(term.output)
		for {
			buf := make([]byte, 4096)
			n, err := out.Read(buf)
			if err != nil {
				return
			}
			term.output <- buf[:n]
		}
	}()
	return term
}

// send types line and Enter.
func (term *terminal) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(term.in, line+"\r"); err != nil {
		t.Fatalf("send %q: %v", line, err)
	}
}

// expect waits for want and returns the output up to its end.
func (term *terminal) expect(t *testing.T, want string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		if i := bytes.Index(term.seen, []byte(want)); i >= 0 {
			i += len(want)
			got := string(term.seen[:i])
			term.seen = term.seen[i:]
			return got
		}
		select {
		case data, ok := <-term.output:
			if !ok {
				t.Fatalf("the output ended with %q, without %q", term.seen, want)
			}
			term.seen = append(term.seen, data...)
		case <-timeout:
			t.Fatalf("no %q in %q", want, term.seen)
		}
	}
}

// within fails the test if do takes longer than patience.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
	}
}

// eventually waits until holds returns true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

// gone reports whether process pid has ended. An orphan that was not yet waited for
// counts as ended.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// readPID waits for a file with a process id.
func readPID(t *testing.T, file string) (pid int) {
	t.Helper()
	eventually(t, "there is a pid in "+filepath.Base(file), func() bool {
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

func TestShellOnPTY(t *testing.T) {
	term := openTerminal(t, dial(t, shellServer(t, Config{})), nil)
	term.expect(t, "PROMPT> ")
	term.send(t, "echo $TERM-$((6*7))")
	if got := term.expect(t, "PROMPT> "); !strings.Contains(got, "echo $TERM") || !strings.Contains(got, "xterm-42\r\n") {
		t.Errorf("echo printed %q", got)
	}
	term.send(t, "stty size; tty; echo $SSH_TTY")
	got := term.expect(t, "PROMPT> ")
	if lines := strings.Split(got, "\r\n"); len(lines) < 4 || lines[1] != "24 80" || lines[2] != lines[3] {
		t.Errorf("stty size; tty printed %q", got)
	}
	for _, size := range []Window{{132, 50}, {100, 30}} {
		if err := term.WindowChange(int(size.Rows), int(size.Cols)); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("\n%d %d\r\n", size.Rows, size.Cols)
		eventually(t, "the size is"+want, func() bool {
			term.send(t, "stty size")
			return strings.Contains(term.expect(t, "PROMPT> "), want)
		})
	}
	term.send(t, "sh -c 'echo started; exec sleep 999'")
	term.expect(t, "started\r\n")
	io.WriteString(term.in, "\x03")
	term.expect(t, "PROMPT> ")
	term.send(t, "echo status $?")
	term.expect(t, "status 130\r\n")
	term.send(t, "exit 7")
	within(t, "Wait", func() {
		if err := term.Wait(); exitStatus(err) != 7 {
			t.Errorf("Wait: %v", err)
		}
	})
}

// TestPTYModes: ECHO=0 and ONLCR=0 in the pty-req must take effect.
func TestPTYModes(t *testing.T) {
	term := openTerminal(
		t,
		dial(t, shellServer(t, Config{})),
		ssh.TerminalModes{ssh.ECHO: 0, ssh.ONLCR: 0, ssh.VINTR: 'q', ssh.TTY_OP_ISPEED: 9600},
	)
	term.expect(t, "PROMPT> ")
	term.send(t, "echo out; stty -a")
	got := term.expect(t, "PROMPT> ")
	if !strings.HasPrefix(got, "out\n") || !strings.Contains(got, "intr = q") || strings.Contains(got, "\r") {
		t.Errorf("got %q", got)
	}
}

// TestPTYLargeOutput: no output may be lost at the end of a command with much output.
func TestPTYLargeOutput(t *testing.T) {
	client := dial(t, shellServer(t, Config{}))
	for range 5 {
		session := openSession(t, client)
		if err := session.RequestPty("xterm", 24, 80, nil); err != nil {
			t.Fatal(err)
		}
		output, err := session.Output("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; printf END")
		if err != nil || bytes.Count(output, []byte("\r\n")) != 20000 || !bytes.HasSuffix(output, []byte("END")) {
			t.Errorf("%d bytes, %d lines, %v", len(output), bytes.Count(output, []byte("\r\n")), err)
		}
	}
}

// TestPTYEndsWithItsShell: a background job that keeps the terminal open must not keep
// the channel open, and must be killed.
func TestPTYEndsWithItsShell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	session := openSession(t, dial(t, shellServer(t, Config{})))
	if err := session.RequestPty("xterm", 24, 80, nil); err != nil {
		t.Fatal(err)
	}
	within(t, "Output", func() {
		output, err := session.Output("trap '' HUP; sleep 999 & echo $! >" + file + "; echo done; exit 3")
		if string(output) != "done\r\n" || exitStatus(err) != 3 {
			t.Errorf("%q, %v", output, err)
		}
	})
	pid := readPID(t, file)
	eventually(t, "the background job is gone", func() bool { return gone(pid) })
}

func TestExec(t *testing.T) {
	s := shellServer(t, Config{Dir: "/"})
	client := dial(t, s)
	for _, tc := range []struct {
		command, stdin, stdout, stderr string
		status                         int
		signal                         string
	}{
		{"echo out; echo err >&2; exit 7", "", "out\n", "err\n", 7, ""},
		{"cat; pwd", "input", "input/\n", "", 0, ""},
		{"exit 255", "", "", "", 255, ""},
		{"no-such-command 2>/dev/null", "", "", "", 127, ""},
		{"kill -TERM $$", "", "", "", 0, "TERM"},
		{"kill -KILL $$", "", "", "", 0, "KILL"},
		{"ulimit -c 0; kill -SEGV $$", "", "", "", 0, "SEGV"},
		{"tty >/dev/null || echo none; ls /dev/tty >/dev/null && (: >/dev/tty) 2>/dev/null || echo no tty", "", "none\nno tty\n", "", 0, ""},
		{"echo \"$LC_ALL,$BAD\"", "", "C,\n", "", 0, ""},
		{"", "", "", "", 0, ""},
	} {
		session := openSession(t, client)
		session.Setenv("LC_ALL", "C")
		session.Setenv("BAD", "x") // refused
		session.Stdin = strings.NewReader(tc.stdin)
		var stdout, stderr bytes.Buffer
		session.Stdout, session.Stderr = &stdout, &stderr
		err := session.Run(tc.command)
		status, signal := 0, ""
		if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
			signal = exit.Signal()
			if signal == "" {
				status = exit.ExitStatus()
			}
		} else if err != nil {
			t.Errorf("%q: %v", tc.command, err)
		}
		if stdout.String() != tc.stdout || stderr.String() != tc.stderr || status != tc.status || signal != tc.signal {
			t.Errorf("%q: stdout %q, stderr %q, status %d, signal %q", tc.command, &stdout, &stderr, status, signal)
		}
	}
}

// TestEnvironment: a process must not inherit the server's environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("SSHSERVER_TEST_SECRET", "leaked")
	for name, env := range map[string][]string{"default": nil, "given": {"ONLY=this", "PATH=" + os.Getenv("PATH")}} {
		s, err := Listen(Config{NoAuth: true, Shell: "/bin/sh", Env: env})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		output, err := openSession(t, dial(t, s)).Output("env")
		if err != nil || strings.Contains(string(output), "SSHSERVER_TEST") {
			t.Errorf("%s: %v, environment %q", name, err, output)
		}
		if got := strings.Contains(string(output), "ONLY=this\n"); got != (env != nil) {
			t.Errorf("%s: environment %q", name, output)
		}
		if got := strings.Contains(string(output), "HOME="); got != (env == nil) {
			t.Errorf("%s: environment %q", name, output)
		}
	}
}

// TestShellWithoutPTY reads commands from standard input until its end.
func TestShellWithoutPTY(t *testing.T) {
	session := openSession(t, dial(t, shellServer(t, Config{})))
	session.Stdin = strings.NewReader("echo $((6*7))\nexit 5\n")
	var stdout bytes.Buffer
	session.Stdout = &stdout
	if err := session.Shell(); err != nil {
		t.Fatal(err)
	}
	if err := session.Wait(); exitStatus(err) != 5 || stdout.String() != "42\n" {
		t.Errorf("%q, %v", &stdout, err)
	}
}

func TestCannotStart(t *testing.T) {
	s, err := Listen(Config{NoAuth: true, Shell: "/no/such/shell"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := dial(t, s)
	for _, pty := range []bool{false, true} {
		session := openSession(t, client)
		if pty {
			session.RequestPty("xterm", 24, 80, nil)
		}
		output, err := session.CombinedOutput("true")
		if exitStatus(err) != 127 || !strings.Contains(string(output), "Config.Shell") {
			t.Errorf("pty %v: %q, %v", pty, output, err)
		}
	}
	// A command with a NUL byte cannot start, and must fail like any other command.
	if err := openSession(t, client).Run("echo \x00"); exitStatus(err) != 127 {
		t.Errorf("NUL in the command: %v", err)
	}
}

// TestStatusBeforeOutputEnds: as under sshd, a background process with the output open
// must delay the close of the channel, but not the exit status.
func TestStatusBeforeOutputEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	channel, requests, err := dial(t, shellServer(t, Config{})).OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	command := ssh.Marshal(struct{ Command string }{"sleep 999 & echo $! >" + file + "; exit 5"})
	if ok, err := channel.SendRequest("exec", true, command); !ok ||
		err != nil {
		t.Fatalf("exec: %v, %v", ok, err)
	}
	within(t, "exit-status", func() {
		if r := <-requests; r == nil || r.Type != "exit-status" || r.Payload[3] != 5 {
			t.Errorf("request %+v", r)
		}
	})
	pid := readPID(t, file)
	select {
	case r, ok := <-requests:
		t.Fatalf("channel closed or request %+v, %v", r, ok)
	case <-time.After(50 * time.Millisecond):
	}
	if gone(pid) {
		t.Error("the background process was killed with its channel open")
	}
	channel.Close()
	eventually(t, "the background process is gone", func() bool { return gone(pid) })
}

// TestSignal: a signal must reach the children of the command too, with and without a
// PTY.
func TestSignal(t *testing.T) {
	for _, pty := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "pid")
		session := openSession(t, dial(t, shellServer(t, Config{})))
		if pty {
			session.RequestPty("xterm", 24, 80, nil)
		}
		if err := session.Start("sleep 999 & echo $! >" + file + "; wait"); err != nil {
			t.Fatal(err)
		}
		pid := readPID(t, file)
		if ok, err := session.SendRequest("signal", true, ssh.Marshal(struct{ Name string }{"TERM"})); !ok || err != nil {
			t.Errorf("signal: %v, %v", ok, err)
		}
		within(t, "Wait", func() {
			var exit *ssh.ExitError
			if err := session.Wait(); !errors.As(err, &exit) || exit.Signal() != "TERM" {
				t.Errorf("pty %v: %v", pty, err)
			}
		})
		eventually(t, "sleep is gone", func() bool { return gone(pid) })
	}
}

// TestCloseChannel: with a PTY the command must be hung up; without one it must live
// until the server closes.
func TestCloseChannel(t *testing.T) {
	for _, pty := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "pid")
		s := shellServer(t, Config{MaxSessions: 1})
		client := dial(t, s)
		session := openSession(t, client)
		if pty {
			session.RequestPty("xterm", 24, 80, nil)
		}
		if err := session.Start("echo $$ >" + file + "; exec sleep 999"); err != nil {
			t.Fatal(err)
		}
		pid := readPID(t, file)
		session.Close()
		if pty {
			eventually(t, "the session is over", func() bool { return s.Stats().SessionsOpen == 0 })
		} else {
			if ok, err := keepalive(client); ok || err != nil {
				t.Errorf("keepalive: %v, %v", ok, err)
			}
			time.Sleep(50 * time.Millisecond) // enough for a hang-up to kill it
			if n := s.Stats(); gone(pid) || n.Processes != 1 || n.SessionsOpen != 1 {
				t.Errorf("without a PTY the command ended with its channel: %+v", n)
			}
			if _, err := client.NewSession(); err == nil {
				t.Error("a command that lives on left its place to another session")
			}
		}
		s.Close()
		if !gone(pid) || s.Stats().Processes != 0 {
			t.Errorf("pty %v: process %d outlived Close", pty, pid)
		}
	}
}

// openFiles returns the number of descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	dir := "/proc/self/fd"
	if runtime.GOOS != "linux" {
		dir = "/dev/fd"
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestCloseLeavesNothing closes a server in which everything is busy, and counts the
// rest.
func TestCloseLeavesNothing(t *testing.T) {
	// The first process and connection make the runtime open descriptors of its own.
	warm := shellServer(t, Config{})
	client := dial(t, warm)
	if err := openSession(t, client).Run("true"); err != nil {
		t.Fatal(err)
	}
	client.Close()
	warm.Close()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)

	dir := t.TempDir()
	s := shellServer(t, Config{AllowForward: true})
	var clients []*ssh.Client
	var pids []int
	for i, command := range []string{
		"exec sleep 999",
		"trap '' HUP TERM INT; while :; do sleep 1; done",
		"sleep 999 & wait",
		"exec cat /dev/zero",         // its reader stops, so that the window fills
		"exec dd of=/dev/null bs=1k", // waits for input
	} {
		for _, pty := range []bool{false, true} {
			client := dial(t, s)
			clients = append(clients, client)
			session, err := client.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			if pty {
				session.RequestPty("xterm", 24, 80, nil)
			}
			if _, err := session.StdoutPipe(); err != nil {
				t.Fatal(err)
			}
			if _, err := session.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, fmt.Sprintf("%d-%v", i, pty))
			if err := session.Start("echo $$ >" + file + "; " + command); err != nil {
				t.Fatal(err)
			}
			pids = append(pids, readPID(t, file))
		}
	}
	// A background job in its own process group, as interactive shells create them.
	file := filepath.Join(dir, "job")
	client = dial(t, s)
	clients = append(clients, client)
	term := openTerminal(t, client, nil)
	term.expect(t, "PROMPT> ")
	term.send(t, "trap '' HUP; sleep 999 & echo $! >"+file)
	job := readPID(t, file)
	// A forward to the server itself, and a client that never speaks.
	forward, err := client.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Stats(); n.Processes != 11 || n.SessionsOpen != 11 || n.Forwards != 1 {
		t.Errorf("before Close: %+v", n)
	}

	within(t, "Close", func() { s.Close() })
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if n := s.Stats(); n.Open != 0 || n.Processes != 0 || n.SessionsOpen != 0 || n.Forwards != 0 {
		t.Errorf("after Close: %+v", n)
	}
	if runtime.GOOS == "linux" {
		eventually(t, "the background job is gone", func() bool { return gone(job) })
	} else {
		syscall.Kill(job, syscall.SIGKILL)
	}
	forward.Close()
	silent.Close()
	for _, client := range clients {
		client.Close()
	}
	eventually(t, "the goroutines and descriptors are those of before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= files
	})
}

// TestDropIsReset: over TCP a drop must be a reset, and must hang up the shell.
func TestDropIsReset(t *testing.T) {
	s := shellServer(t, Config{Faults: Faults{SilentAfterAccept: true}})
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	eventually(t, "the connection is accepted", func() bool { return s.Stats().Open == 1 })
	s.DropConnections()
	conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: %v, want a reset", err)
	}

	s.SetFaults(Faults{})
	term := openTerminal(t, dial(t, s), nil)
	term.expect(t, "PROMPT> ")
	s.DropConnections()
	eventually(t, "the shell has ended", func() bool { return s.Stats().Processes == 0 })
}

// TestCopyOutputAfterDeadline: the shell's last output must not be lost, although the
// terminal is still open.
func TestCopyOutputAfterDeadline(t *testing.T) {
	master, tty, err := openPTY(&PTY{Window: Window{80, 24}})
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	master.SetReadDeadline(time.Unix(1, 0))
	if _, err := tty.WriteString("last words"); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	within(t, "copyOutput", func() { copyOutput(&got, master) })
	if got.String() != "last words" {
		t.Errorf("copied %q", &got)
	}
}

// TestPTYResizeKeepsCloseWorking: a resize must not put the descriptor into blocking
// mode, which would block the hang-up.
func TestPTYResizeKeepsCloseWorking(t *testing.T) {
	s := shellServer(t, Config{})
	client := dial(t, s)
	term := openTerminal(t, client, nil)
	term.expect(t, "PROMPT> ")
	term.WindowChange(40, 100)
	eventually(t, "the resize is done", func() bool {
		term.send(t, "stty size")
		return strings.Contains(term.expect(t, "PROMPT> "), "40 100")
	})
	client.Close()
	eventually(t, "the shell has ended", func() bool { return s.Stats().Processes == 0 })
}
