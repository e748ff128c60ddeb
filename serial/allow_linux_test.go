package serial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/term"
)

// TestJudge: a link cannot lead to a device that is not allowed, and only serial lines are accepted.
func TestJudge(t *testing.T) {
	t.Parallel()
	_, device := newLine(t)
	dir := t.TempDir()
	link := func(name, to string) string {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	to := link("to", device)
	byDir := link("dir", filepath.Dir(device)) + "/" + filepath.Base(device)
	all := Allow{dir + "/*", dir + "/dir/*", "/dev/*", "/dev/pts/*"}
	for _, c := range []struct {
		name  string
		allow Allow
		path  string
		kind  term.Kind // empty: it is allowed
	}{
		{"nothing allowed", nil, device, term.PolicyDenied},
		{"the device", Allow{"/dev/pts/*"}, device, ""},
		{"another entry", Allow{"/dev/ttyUSB*"}, device, term.PolicyDenied},
		{"an entry for a folder above", Allow{"/dev/*"}, device, term.PolicyDenied},
		{"a class for a slash", Allow{"/dev[^x]pts/*"}, device, term.PolicyDenied},
		{"a link without its target", Allow{dir + "/*"}, to, term.PolicyDenied},
		{"a target without its link", Allow{"/dev/pts/*"}, to, term.PolicyDenied},
		{"a link and its target", Allow{dir + "/*", "/dev/pts/*"}, to, ""},
		{"a link of a link", all, link("again", "to"), ""},
		{"a folder that is a link", Allow{dir + "/dir/*"}, byDir, term.PolicyDenied},
		{"a folder that is a link, and its target", all, byDir, ""},
		{"dots", all, dir + "/../" + filepath.Base(dir) + "/to", term.InvalidArgument},
		{"a dot", all, dir + "/./to", term.InvalidArgument},
		{"a double slash", all, "/dev//pts/0", term.InvalidArgument},
		{"no path", all, "", term.InvalidArgument},
		{"dots alone", all, "..", term.InvalidArgument},
		{"a control character", all, device + "\n", term.InvalidArgument},
		{"a NUL", all, device + "\x00", term.InvalidArgument},
		{"a relative path", all, "pts/0", term.InvalidArgument},
		{"a name of by-id", all, "usb-0", term.PolicyDenied},
		{"a pattern", all, "/dev/pts/*", term.ConnectFailed},
		{"a file", all, file, term.PolicyDenied},
		{"a folder", all, "/dev/pts", term.PolicyDenied},
		{"no terminal", all, "/dev/null", term.PolicyDenied},
		{"a link to no terminal", all, link("null", "/dev/null"), term.PolicyDenied},
		{"the process's own terminal", all, "/dev/tty", term.PolicyDenied},
		{"a multiplexer", all, "/dev/ptmx", term.PolicyDenied},
		{"a link that leads nowhere", all, link("gone", "/dev/gone"), term.ConnectFailed},
		{"a link to itself", all, link("loop", "loop"), term.ConnectFailed},
		{"nothing", all, "/dev/gone", term.ConnectFailed},
		{"a long name", all, "/dev/pts/" + strings.Repeat("9", 5000), term.ConnectFailed},
	} {
		got, err := c.allow.Judge(c.path)
		if term.KindOf(err) != c.kind || c.kind == "" && got != device {
			t.Errorf("%s: Judge(%q) = %q, %v; want %q", c.name, c.path, got, err, c.kind)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: the error has %d bytes", c.name, len(err.Error()))
		}
	}
	if onlyRoots(to) {
		t.Errorf("%s counts as root's alone, below a folder of all", to)
	}
	for _, wrong := range []string{"", "ttyUSB*", "/", "/dev/[", "COM*", "/dev/x\n"} {
		if err := (Allow{"/dev/pts/*", wrong}).Validate(); err == nil {
			t.Errorf("the entry %q is right", wrong)
		}
	}
	if err := all.Validate(); err != nil {
		t.Error(err)
	}
	if p := Path("usb-Lab-if00"); p != "/dev/serial/by-id/usb-Lab-if00" {
		t.Errorf("a name is the path %s", p)
	}
}

// TestTrustedLink: a link that root alone can change may lead to a device that no entry has. Without root, none is made, and
// a link of this user's is not trusted.
func TestTrustedLink(t *testing.T) {
	t.Parallel()
	_, device := newLine(t)
	parent := t.TempDir()
	if os.Getuid() == 0 {
		parent = "/run" // all folders above a temporary one are not root's alone
	}
	dir, err := os.MkdirTemp(parent, "ptyctl-serial-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	link, again, null := filepath.Join(dir, "usb-0"), filepath.Join(dir, "again"), filepath.Join(dir, "null")
	if err := errors.Join(os.Symlink(device, link), os.Symlink(link, again), os.Symlink("/dev/null", null)); err != nil {
		t.Fatal(err)
	}
	allow := Allow{dir + "/*"}
	want := term.PolicyDenied
	if os.Getuid() == 0 {
		want = ""
	}
	if got, err := allow.Judge(link); term.KindOf(err) != want || want == "" && got != device {
		t.Errorf("a link as of udev = %q, %v; want %q", got, err, want)
	}
	for _, path := range []string{again, null} {
		if got, err := allow.Judge(path); !errors.Is(err, term.PolicyDenied) {
			t.Errorf("%s = %q, %v", path, got, err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is the test
		t.Fatal(err)
	}
	if got, err := allow.Judge(link); !errors.Is(err, term.PolicyDenied) {
		t.Errorf("a link in a folder of all = %q, %v", got, err)
	}
}

// TestKinds: the kernel's list gives the kind of a device by its numbers.
func TestKinds(t *testing.T) {
	t.Parallel()
	for text, inside := range map[string][2]uint32{"64": {64, 65}, "1-63": {63, 64}, "0-511": {0, 512}} {
		if !inRange(text, inside[0]) || inRange(text, inside[1]) {
			t.Errorf("the range %s is read as another", text)
		}
	}
	if inRange("x", 0) || inRange("", 0) {
		t.Error("nonsense is a range")
	}
	// A virtual console, /dev/console and a disk, whether this machine has them or not.
	for name, number := range map[string]uint64{"tty1": 4<<8 | 1, "console": 5<<8 | 1, "sda": 8 << 8} {
		if otherKind(number) == "" {
			t.Errorf("%s counts as a serial line", name)
		}
	}
}

// TestReturns waits for a device while its folder, link and target appear one after the other, at any moment of the
// wait.
func TestReturns(t *testing.T) {
	t.Parallel()
	for range 150 {
		returnOnce(t)
	}
}

func returnOnce(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "serial", "by-id", "usb-0")
	_, err := Allow{dir + "/serial/by-id/*"}.Judge(name)
	absent := term.FactOf[term.Absent](err)
	if !errors.Is(err, term.ConnectFailed) || absent.Await == nil {
		t.Fatalf("Judge = %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := absent.Await(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Await without the device = %v", err)
	}
	back := make(chan error, 1)
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { back <- absent.Await(long) }()
	target := filepath.Join(dir, "dev", "ttyUSB0")
	for _, step := range []func() error{
		func() error { return os.MkdirAll(filepath.Dir(name), 0o700) },
		func() error { return os.Symlink(target, name) },
		func() error { return os.Mkdir(filepath.Dir(target), 0o700) },
		func() error { return os.WriteFile(target, nil, 0o600) },
	} {
		select {
		case err := <-back:
			t.Fatalf("Await = %v before the device was there", err)
		default:
		}
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-back; err != nil {
		t.Error(err)
	}
}

// TestChangedPath: a file that replaced a device after the check is not opened, not even for a moment.
func TestChangedPath(t *testing.T) {
	t.Parallel()
	_, device := newLine(t)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Dir(device), filepath.Join(dir, "folder")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(device, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// A non-blocking reader notices when a writer opens the FIFO (poll(2), POLLHUP once the writer has left).
	reader, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(reader)
	o, err := Settings(term.SerialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "folder", filepath.Base(device)), filepath.Join(dir, "link"), fifo} {
		if p, _, err := openPort(path, o); err == nil {
			t.Errorf("openPort(%q) opens %s", path, p.file.Name())
			p.Close()
		}
	}
	polled := []unix.PollFd{{Fd: int32(reader), Events: unix.POLLIN}}
	if n, err := unix.Poll(polled, 0); n != 0 || err != nil {
		t.Errorf("the FIFO was opened: poll = %d, %v, %#x", n, err, polled[0].Revents)
	}
}
