package devlock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/rundir"
)

// TestMain also runs helper processes: an owner that prints the result of Acquire and
// then waits until it is killed or its input ends.
func TestMain(m *testing.M) {
	dir := os.Getenv("DEVLOCK_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := Acquire(dir, device, Owner{PID: os.Getpid(), Session: "other", Started: time.Now()}); err != nil {
		fmt.Println(err)
	} else {
		fmt.Println("acquired")
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

const device = "switch-001"

// startOwner starts a process that tries to own the device, and returns its output.
func startOwner(tb testing.TB, dir string) (cmd *exec.Cmd, said string) {
	tb.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DEVLOCK_TEST_DIR="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // killed in most tests
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

// folder returns a path for locks that does not exist yet.
func folder(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "devices")
}

func acquire(tb testing.TB, dir, session string) *Lock {
	tb.Helper()
	l, err := Acquire(dir, device, Owner{PID: os.Getpid(), Session: session, Started: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(l.Release)
	return l
}

// heldBy fails the test unless the device has an owner, and returns it.
func heldBy(tb testing.TB, dir string) Owner {
	tb.Helper()
	l, err := Acquire(dir, device, Owner{PID: -1})
	if err == nil {
		l.Release()
	}
	held, ok := errors.AsType[*HeldError](err)
	if !ok {
		tb.Fatalf("Acquire: %v, want a *HeldError", err)
	}
	if held.Device != device || !strings.Contains(err.Error(), device) {
		tb.Errorf("the error is about another device: %v", err)
	}
	return held.Owner
}

// files returns the names in a folder.
func files(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by", "Acquire")
	l := acquire(t, dir, "s1")
	if o := heldBy(t, dir); o.PID != os.Getpid() || o.Session != "s1" || o.Socket != "" ||
		time.Since(o.Started) > time.Minute {
		t.Errorf("owner %+v", o)
	}
	other, err := Acquire(dir, "switch-002", Owner{PID: 1})
	if err != nil {
		t.Fatalf("another device: %v", err)
	}
	other.Release()

	if err := l.Update(Owner{PID: 7, Socket: "/run/a.sock", Session: "a session with a longer name"}); err != nil {
		t.Fatal(err)
	}
	if o := heldBy(t, dir); o.PID != 7 || o.Socket != "/run/a.sock" || o.Session != "a session with a longer name" {
		t.Errorf("owner %+v", o)
	}
	if err := l.Update(Owner{PID: 8}); err != nil { // a shorter text must leave nothing of the longer one
		t.Fatal(err)
	}
	if o := heldBy(t, dir); o != (Owner{PID: 8}) {
		t.Errorf("owner %+v", o)
	}

	l.Release()
	l.Release()
	if err := l.Update(Owner{PID: 9}); err == nil || !strings.Contains(err.Error(), "acquire it again") {
		t.Errorf("Update after Release: %v", err)
	}
	if names := files(t, dir); len(names) != 1 || names[0] != "gate" {
		t.Errorf("left behind: %q", names)
	}
	second := acquire(t, dir, "s2")
	l.Release() // must not affect the new owner
	if o := heldBy(t, dir); o.Session != "s2" {
		t.Errorf("owner %+v", o)
	}
	second.Release()
}

// A device may have any name.
func TestDeviceNames(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{
		"", "..", "../../etc/passwd", "a/b", "COM1", "con", "\x00", "é",
		strings.Repeat("x", 10_000),
	} {
		l, err := Acquire(dir, name, Owner{PID: 1})
		if err != nil {
			t.Errorf("%.20q: %v", name, err)
			continue
		}
		defer l.Release()
		if _, err := Acquire(dir, name, Owner{}); !errors.As(err, new(*HeldError)) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	if names := files(t, dir); len(names) != 10 {
		t.Errorf("files %q, want one for each device, and the gate", names)
	}
}

// The lock of a killed process is free at once, although its file still names it.
func TestOtherProcess(t *testing.T) {
	dir := folder(t)
	owner, said := startOwner(t, dir)
	if said != "acquired" {
		t.Fatal(said)
	}
	if o := heldBy(t, dir); o.PID != owner.Process.Pid || o.Session != "other" {
		t.Errorf("owner %+v, want process %d", o, owner.Process.Pid)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if names := files(t, dir); len(names) != 2 {
		t.Fatalf("files %q, want the one of the process that was killed", names)
	}
	l := acquire(t, dir, "mine")
	if _, said := startOwner(t, dir); !strings.Contains(said, fmt.Sprintf("process %d (session \"mine\"", os.Getpid())) {
		t.Errorf("the other process is refused %q", said)
	}
	l.Release()
	if _, said := startOwner(t, dir); said != "acquired" {
		t.Error(said)
	}
}

// If many processes want a device at the same time, exactly one gets it, and all others
// get that owner in the error, not a dead one before it.
func TestRace(t *testing.T) {
	const rounds, racers = 50, 20
	dir := folder(t)
	for round := range rounds {
		dead := acquire(t, dir, "dead")
		dead.mu.Lock()
		_ = dead.file.Close() // as the kernel does for a killed process
		dead.file = nil
		dead.mu.Unlock()

		var mu sync.Mutex
		var owners []*Lock
		refused := make(map[string]int)
		winner := ""
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				session := fmt.Sprintf("%d-%d", round, i)
				l, err := Acquire(dir, device, Owner{PID: os.Getpid(), Session: session})
				held, ok := errors.AsType[*HeldError](err)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					owners, winner = append(owners, l), session
				case ok:
					refused[held.Owner.Session]++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(owners) != 1 || refused[winner] != racers-1 {
			t.Fatalf("round %d: %d owners, the last is %q; the others were refused of %v", round, len(owners), winner, refused)
		}
		owners[0].Release()
	}
}

// Owners come and go, and there is never more than one.
func TestReleaseRace(t *testing.T) {
	dir := folder(t)
	var in sync.Mutex // held by the owner
	var owned, refused int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				l, err := Acquire(dir, device, Owner{PID: os.Getpid(), Session: "s"})
				mu.Lock()
				if err != nil {
					refused++
					held, ok := errors.AsType[*HeldError](err)
					if !ok || held.Owner.Session != "s" {
						t.Error(err)
					}
				} else {
					owned++
				}
				mu.Unlock()
				if err != nil {
					continue
				}
				if !in.TryLock() {
					t.Error("a second owner")
				} else {
					runtime.Gosched()
					in.Unlock()
				}
				l.Release()
			}
		})
	}
	wg.Wait()
	t.Logf("owned %d times, refused %d times", owned, refused)
	if owned == 0 {
		t.Error("nobody ever owned the device")
	}
}

// Release works even if another process never leaves the gate.
func TestGateHeld(t *testing.T) {
	dir := folder(t)
	l := acquire(t, dir, "s")
	leave, err := rundir.Enter(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	leave()
	if names := files(t, dir); len(names) != 2 {
		t.Errorf("files %q, want the device's too", names)
	}
	acquire(t, dir, "next")
}
