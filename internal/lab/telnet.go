package lab

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab/system"
)

// A TelnetServer is a server that a test has started on the loopback address, and the data for a login. It ends with
// the test. A field that does not apply to a server is empty.
type TelnetServer struct {
	Name     string // of the program, or of the setup that uses it
	Port     int
	Login    string // pattern of the first question; empty: it asks nothing
	User     string
	Password string
	Enable   string // the password that `enable` asks for
	Prompt   string // pattern of the command line's prompt, once logged in
	Folder   string // of the server's sockets
	Trust    *TelnetTrust
	Process  *TelnetProcess
}

// host is the address that the server listens on.
func (s *TelnetServer) host() string { return "127.0.0.1" }

// Address is the host and the port, as net.Dial takes them.
func (s *TelnetServer) Address() string { return net.JoinHostPort(s.host(), strconv.Itoa(s.Port)) }

// A TelnetProcess is a server's program.
type TelnetProcess struct {
	PID   int
	log   *Capture
	Ended chan struct{}

	command []string
}

// Restart starts the server's program again on the same port, after Process.Stop.
func (s *TelnetServer) Restart(tb testing.TB) {
	tb.Helper()
	p := startTelnetProcess(tb, s.Process.command)
	if !p.listens(tb, s.Port) {
		tb.Fatalf("%s could not listen on its old port %d:\n%s", s.Name, s.Port, p.log)
	}
	s.Process = p
}

// startTelnet starts a server on a free port, and waits until it listens. It calls command again for each attempt,
// because a port that is free now may be taken a moment later.
func startTelnet(tb testing.TB, command func(port int) []string) (*TelnetProcess, int) {
	tb.Helper()
	for range 5 {
		port := FreePort(tb)
		p := startTelnetProcess(tb, command(port))
		if p.listens(tb, port) {
			return p, port
		}
		p.Stop(tb)
		tb.Logf("no listener on port %d:\n%s", port, p.log)
	}
	tb.Fatalf("the server could not listen: %v", command(0))
	return nil, 0
}

// startTelnetProcess starts a program that ends with the test.
func startTelnetProcess(tb testing.TB, command []string) *TelnetProcess {
	tb.Helper()
	if _, err := os.Stat(command[0]); err != nil {
		tb.Fatalf("%v: run scripts/install-test-deps", err)
	}
	cmd := telnetCommand(command)
	p := &TelnetProcess{log: NewCapture(), Ended: make(chan struct{}), command: command}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.WaitDelay = Patience
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p.PID = cmd.Process.Pid
	go func() {
		defer close(p.Ended)
		_ = cmd.Wait() // it is ended by a signal
	}()
	tb.Cleanup(func() {
		p.Stop(tb)
		if tb.Failed() && p.log.String() != "" {
			tb.Logf("log of %s:\n%s", strings.Join(command, " "), p.log)
		}
	})
	return p
}

// telnetCommand prepares to start a server's program.
func telnetCommand(command []string) *exec.Cmd {
	// It ends with this process, even if that ends without a cleanup.
	wrapped := []string{"/usr/bin/setpriv", "--pdeathsig", "KILL"}
	// A shell's background jobs and their children ignore these two signals: without the reset, Ctrl-C would reach no
	// command in any of the servers.
	wrapped = append(wrapped, "/usr/bin/env", "--default-signal=INT,QUIT")
	wrapped = append(wrapped, command...)
	return exec.Command(wrapped[0], wrapped[1:]...)
}

// Stop ends the program and all that was started through it. It asks first, because bgpd leaves files behind otherwise.
func (p *TelnetProcess) Stop(tb testing.TB) {
	tb.Helper()
	select {
	case <-p.Ended:
		return
	default:
	}
	left := Descendants(tb, p.PID)
	_ = system.Kill(p.PID, syscall.SIGTERM)
	select {
	case <-p.Ended:
	case <-time.After(2 * time.Second):
		left = append(left, Process{PID: p.PID})
	}
	Kill(tb, left)
	<-p.Ended
}

// listens waits until the program listens on the port, and returns false if it ends instead. It looks at the sockets
// that the program has open, because a connection would already be a login, or take a serial line's only place.
func (p *TelnetProcess) listens(tb testing.TB, port int) bool {
	tb.Helper()
	for end := time.Now().Add(Patience / 2); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.Ended:
			return false
		default:
		}
		inode := listenerInode(tb, port)
		if inode == "" {
			continue
		}
		if slices.ContainsFunc(
			OpenFiles(tb, p.PID),
			func(f string) bool { return strings.HasSuffix(f, "socket:["+inode+"]") },
		) {
			return true
		}
	}
	return false
}

// listenerInode returns the inode of the socket that listens on a port of 127.0.0.1, or "": proc_net(5).
func listenerInode(tb testing.TB, port int) string {
	tb.Helper()
	const listening = "0A"
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		tb.Fatal(err)
	}
	want := fmt.Sprintf("0100007F:%04X", port)
	for line := range bytes.Lines(table) {
		if f := strings.Fields(string(line)); len(f) > 9 && f[1] == want && f[3] == listening {
			return f[9]
		}
	}
	return ""
}

// Unpacked returns the path of a program that scripts/install-test-deps has taken out of a package.
func Unpacked(tb testing.TB, pkg, program string) string {
	tb.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(cache, "ptyctl-tests", pkg, program)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("%v: run scripts/install-test-deps", err)
	}
	return path
}

// writeScript writes a shell script that a server can start.
func writeScript(tb testing.TB, dir, name, text string) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	// Written by a process of its own: while this one holds the file open for writing, a server that another test
	// forks at this moment would inherit the descriptor, and the script could not be executed ("text file busy").
	cmd := exec.Command("/usr/bin/install", "-m", "755", "/dev/stdin", path)
	cmd.Stdin = strings.NewReader("#!/bin/sh\n" + text)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return path
}
