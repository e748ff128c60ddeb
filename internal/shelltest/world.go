//go:build unix

package shelltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Canary is the name of the program that no rule allows.
const Canary = "canary"

// The recorders besides Canary. The names in Always are builtins of no shell, so that
// each use is recorded; some of the others in Programs are builtins of some shells.
var (
	Always   = []string{"show", "list", "fail"}
	Programs = []string{"show", "list", "fail", "echo", "printf", "test", "[", "cat", "ls", "true", "false"}
)

// failing has the recorders that exit with status 1.
var failing = []string{"fail", "false"}

// Names are the files in the working folder of a line.
var Names = []string{"a1", "a2", "b c", "in"}

const (
	// content is the text of each file in Names, by which a change is detected.
	content = "content of a file\n"
	// The user id under which lines run if the tests run as root.
	nobody = 65534
	// mostRun is the time limit of a line.
	mostRun = 20 * time.Second // far more than any line takes on a busy machine
)

// A World is a folder with the recorders, and the working folder of the lines, which run
// one at a time.
type World struct {
	bin, log, home, work string
	sentinel             *os.File // written by the program of the same name
	id                   *syscall.Credential
}

// A Record is the effect of a line.
type Record struct {
	Ran   [][]string // the recorders that ran, with their arguments, in any order
	Files []string   // new, changed or missing files, sorted
	Hung  bool       // the shell or one of its children did not end
	Out   string     // the beginning of the output
}

// NewWorld creates a World. links has additional programs: names on PATH, and the
// programs that they link to. The folder is removed at the end of the test.
func NewWorld(tb testing.TB, links map[string]string) *World {
	tb.Helper()
	base, err := os.MkdirTemp("", "shelltest") //nolint:usetesting // the user nobody cannot enter TempDir
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(base) })
	w := &World{bin: base + "/bin", log: base + "/log", home: base + "/home", work: base + "/work"}
	must(tb, os.Chmod(base, 0o711)) //nolint:gosec // the user nobody enters it
	if os.Getuid() == 0 {
		w.id = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	for _, dir := range []string{w.bin, w.log, w.home, w.work} {
		must(tb, os.Mkdir(dir, 0o755)) //nolint:gosec // the user nobody enters it
		if w.id != nil && dir != w.bin {
			must(tb, os.Chown(dir, nobody, nobody))
		}
	}
	for _, name := range append([]string{Canary}, Programs...) {
		status := 0
		if slices.Contains(failing, name) {
			status = 1
		}
		// The process id is the name of the log, so that two recorders never share one.
		must(tb, w.program(name, fmt.Sprintf("printf '%%s\\0' %s \"$@\" >'%s'/$$; exit %d", quote(name), w.log, status)))
	}
	// Typing at a prompt has no exit status; a FIFO reports that the shell ran the next
	// line.
	fifo := base + "/sentinel"
	must(tb, syscall.Mkfifo(fifo, 0o600))
	if w.id != nil {
		must(tb, os.Chown(fifo, nobody, nobody))
	}
	w.sentinel, err = os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	must(tb, err)
	tb.Cleanup(func() { _ = w.sentinel.Close() })
	must(tb, w.program("sentinel", "echo >'"+fifo+"'"))
	for name, target := range links {
		path, err := exec.LookPath(target)
		must(tb, err)
		must(tb, os.Symlink(path, filepath.Join(w.bin, name)))
	}
	must(tb, w.clean())
	return w
}

// must fails the test on an error.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// quote quotes a word for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// program writes a recorder, which is a script.
func (w *World) program(name, script string) error {
	return os.WriteFile(
		filepath.Join(w.bin, name),
		[]byte("#!/bin/dash\n"+script+"\n"),
		0o755,
	) //nolint:gosec // it is a program
}

// Home returns the home folder of the shells.
func (w *World) Home() string { return w.home }

// env returns the environment of a shell: nothing of the test's own, and a PATH with the recorders only.
func (w *World) env() []string {
	return []string{"PATH=" + w.bin, "HOME=" + w.home, "LC_ALL=C.UTF-8", "TERM=vt100"}
}

// Run lets a shell run a line, in the way an SSH server does, and returns the effect.
func (w *World) Run(ctx context.Context, s Shell, line string) (Record, error) {
	if strings.Contains(line, "\x00") {
		return Record{}, nil // an argument cannot contain a NUL
	}
	ctx, stop := context.WithTimeout(ctx, mostRun)
	defer stop()
	cmd := exec.CommandContext(ctx, s.once[0], append(s.once[1:len(s.once):len(s.once)], line)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = w.env(), w.work, time.Second
	// A process group of its own, so that its children can be killed with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: w.id}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out := &beginning{}
	cmd.Stdout, cmd.Stderr = out, out // a pipe, so that Wait also waits for the shell's children
	// A process that keeps running also keeps its copy of this pipe.
	alive, held, err := os.Pipe()
	if err != nil {
		return Record{}, err
	}
	defer alive.Close()
	cmd.ExtraFiles = []*os.File{held}
	err = cmd.Start()
	_ = held.Close()
	if err == nil {
		err = cmd.Wait()
	}
	hung := ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay)
	if cmd.Process == nil {
		return Record{}, fmt.Errorf("start %s: %w", s.Name, err)
	}
	// ksh ends before the first part of a pipeline, which may have its output elsewhere.
	// The read ends when no process has the other end of the pipe.
	_ = alive.SetReadDeadline(time.Now().Add(time.Second))
	if _, late := alive.Read(make([]byte, 1)); errors.Is(late, os.ErrDeadlineExceeded) {
		hung = true
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	r, err := w.record()
	r.Hung, r.Out = hung, out.String()
	return r, err
}

// record reads the effect of a line, and prepares the folders for the next one.
func (w *World) record() (Record, error) {
	var r Record
	logs, err := os.ReadDir(w.log)
	if err != nil {
		return r, err
	}
	for _, e := range logs {
		path := filepath.Join(w.log, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return r, err
		}
		if err := os.Remove(path); err != nil {
			return r, err
		}
		if len(text) == 0 { // timeout(1) ended the recorder before it wrote its name
			continue
		}
		r.Ran = append(r.Ran, strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"))
	}
	// Most lines change no file, so the folder is restored only after a change.
	r.Files, err = w.changed()
	if err == nil && len(r.Files) > 0 {
		err = w.clean()
	}
	return r, err
}

// changed returns the files that differ from those of clean.
func (w *World) changed() (names []string, err error) {
	entries, err := os.ReadDir(w.work)
	if err != nil {
		return nil, err
	}
	for _, name := range Names {
		if text, err := os.ReadFile(filepath.Join(w.work, name)); err != nil || string(text) != content {
			names = append(names, name)
		}
	}
	for _, e := range entries {
		if !slices.Contains(Names, e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// clean restores the working folder.
func (w *World) clean() error {
	entries, err := os.ReadDir(w.work)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(w.work, e.Name())); err != nil {
			return err
		}
	}
	for _, name := range Names {
		path := filepath.Join(w.work, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
		if w.id != nil {
			if err := os.Chown(path, nobody, nobody); err != nil {
				return err
			}
		}
	}
	return nil
}

// A beginning keeps the first bytes written to it.
type beginning struct{ bytes.Buffer }

// Write implements io.Writer. It drops the rest without an error.
func (b *beginning) Write(p []byte) (int, error) {
	const most = 2048
	if left := most - b.Len(); left > 0 {
		b.Buffer.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}
