//go:build linux

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// The uid of an unprivileged user. Root passes checks that stop every other user.
const nobody = 65534

// unprivileged makes h the home of a user who is not root, with a copy of the program that this user can start.
func unprivileged(tb testing.TB, h *lab.Home) {
	tb.Helper()
	if os.Getuid() == 0 {
		h.UID = nobody
	}
	h.Program = copyOf(tb, h, lab.Binary, "ptyctl")
	for _, path := range []string{filepath.Dir(h.Dir), h.Dir} {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // another user goes through it
			tb.Fatal(err)
		}
	}
	if h.UID == 0 {
		return
	}
	for _, path := range []string{h.Dir, h.Config, h.SSHConfig, h.KnownHosts, h.RuntimeDir} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			tb.Fatal(err)
		}
	}
}

// copyOf puts a copy of a program into the home.
func copyOf(tb testing.TB, h *lab.Home, program, name string) string {
	tb.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(h.Dir, name)
	h.Given[path] = true
	if err := os.WriteFile(path, text, 0o755); err != nil { //nolint:gosec // another user starts it
		tb.Fatal(err)
	}
	return path
}

// peeked holds the result of each attempt to look into the parent process: an error, or empty for a success.
type peeked struct{ Mem, Environ, Maps, Ptrace, VM string }

// peek tries to read the memory of the process that has started this one.
func peek() error {
	pid := os.Getppid()
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	open := func(name string) error {
		f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
		if err == nil {
			_, err = f.Read(make([]byte, 1))
			if name == "mem" { // nothing is mapped at its beginning
				err = nil
			}
			err = errors.Join(err, f.Close())
		}
		return err
	}
	var p peeked
	p.Mem, p.Environ, p.Maps = text(open("mem")), text(open("environ")), text(open("maps"))
	var stat unix.PtraceRegs
	err := unix.PtraceAttach(pid)
	if err == nil {
		_, _ = unix.Wait4(pid, nil, 0, nil)
		err = errors.Join(unix.PtraceGetRegs(pid, &stat), unix.PtraceDetach(pid))
	}
	p.Ptrace = text(err)
	b := make([]byte, 1)
	// An address of the program, which is not built to lie anywhere else, as this one is not either.
	_, err = unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
	if errors.Is(err, unix.EFAULT) { // it was allowed
		err = nil
	}
	p.VM = text(err)
	out, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(out))
	return err
}

// TestMemoryIsOnesOwn checks that a program which ptyctl starts, as the same user, reads nothing of ptyctl's memory.
func TestMemoryIsOnesOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := lab.NewHome(t)
	unprivileged(t, h)
	helper := copyOf(t, h, self, "helper")
	c := h.Connect(t)
	for name, limits := range map[string]string{"": `{}`, " with limits": `{"open_files":256}`} {
		r := c.Call(t, lab.ToolRun, `{"argv":[%s],"env":["`+lab.FixtureVariable+`=peek"],"limits":`+limits+`}`, helper)
		var got peeked
		if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
			t.Fatalf("the program%s says %s (%v)", name, r.Text, err)
		}
		for what, refused := range map[string]string{
			"/proc/PID/mem": got.Mem, "/proc/PID/environ": got.Environ, "/proc/PID/maps": got.Maps, "ptrace": got.Ptrace,
			"process_vm_readv": got.VM,
		} {
			if !strings.Contains(refused, "permi") { // EACCES or EPERM
				t.Errorf("a program%s got to ptyctl's memory by %s: %q, want a refusal", name, what, refused)
			}
		}
	}
}

// TestProgramsAreReadable checks that the protection covers ptyctl alone: the programs that it starts can be debugged
// as before, and have the limit for core files that ptyctl was started with.
func TestProgramsAreReadable(t *testing.T) {
	h := lab.NewHome(t)
	unprivileged(t, h)
	h.Wrap = []string{"/bin/sh", "-c", `ulimit -S -c 64; exec "$0" "$@"`}
	c := h.Connect(t)
	for name, limits := range map[string]string{"": `{}`, " with limits": `{"open_files":256}`} {
		r := c.Call(
			t,
			lab.ToolRun,
			`{"argv":["sh","-c","ulimit -S -c; cat /proc/$$/environ >/dev/null && echo readable"],"limits":`+limits+`}`,
		)
		if r.Stdout != "64\nreadable\n" {
			t.Errorf(
				"a program%s says %s, want its limit for core files, 64, and that its environment is readable",
				name,
				r.Text,
			)
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", c.PID))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max core file size"); ok && strings.Fields(rest)[0] != "0" {
			t.Errorf("ptyctl's own limit is %q, want 0", line)
		}
	}
}

// TestEnvironmentKeepsNoToken checks that a token which was given in the environment is not to be found where the
// system shows the environment of ptyctl, nor in that of a program that it starts. TestTokensFromTheEnvironment checks
// that it counts.
func TestEnvironmentKeepsNoToken(t *testing.T) {
	const token = "a-token-for-the-port-0123456789-1138"
	leaktest.Secret(t, token)
	h := lab.NewHome(t)
	h.Env = []string{"PTYCTL_SERVER_HTTP_AUTH_TOKEN=" + token, "AFTER=it"}
	h.Write(
		t,
		h.Config,
		"[local]\nhttp = true\ninherit_env = ['*']\n[ssh]\nknown_hosts_path = '"+h.KnownHosts+"'\nconfig_path = '"+h.SSHConfig+"'\n",
	)
	p := h.Start(t)
	c := p.ShakeHands(t, nil)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), token) {
		t.Error("the environment of ptyctl still has the token")
	}
	if strings.Contains(string(text), "AFTER=it") == lab.ThroughDaemon || // a daemon keeps no variable of a client
		!strings.Contains(string(text), "PTYCTL_SERVER_HTTP_AUTH_TOKEN=\x00") {
		t.Errorf("the environment is %q, want everything but the token", text)
	}
	if r := c.Call(t, lab.ToolRun, `{"argv":["env"]}`); strings.Contains(r.Stdout, token) ||
		!strings.Contains(r.Stdout, "AFTER=it") {
		t.Errorf("a program has the environment %q, want what ptyctl has without the token", r.Stdout)
	}
}
