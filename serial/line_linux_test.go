package serial

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptyctl/internal/ptypair"
	"ptyctl/term"
)

// A line is a pseudo-terminal: far is the other end.
type line struct {
	*Terminal
	far    *os.File
	device string
}

// openLine opens a line, with a folder for lock files of its own.
func openLine(t *testing.T, o term.SerialOptions) line {
	t.Helper()
	far, device := newLine(t)
	o.Path = device
	tr, err := Dialer{Allow: Allow{"/dev/pts/*"}, LockDir: t.TempDir()}.Open(t.Context(), term.Target{Serial: o}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return line{tr.(*Terminal), far, device}
}

// newLine makes a pair of pseudo-terminals.
func newLine(t *testing.T) (far *os.File, device string) {
	t.Helper()
	far, near, err := ptypair.Open()
	if err != nil {
		t.Fatal(err)
	}
	device = near.Name()
	near.Close()
	t.Cleanup(func() { far.Close() })
	return far, device
}

// TestBytes moves a mebibyte of all bytes in both directions at a time.
func TestBytes(t *testing.T) {
	t.Parallel()
	l := openLine(t, term.SerialOptions{Baud: 4_000_000})
	data := make([]byte, 1<<20)
	_, _ = rand.Read(data)
	copy(data, "\x00\x03\x04\r\n\x11\x13\x1c\xff\x7f")
	errs := make(chan error, 3)
	receive := func(name string, r io.Reader) {
		got := make([]byte, len(data))
		_, err := io.ReadFull(r, got)
		if err == nil && !bytes.Equal(got, data) {
			err = errors.New(name + ": other bytes came than were sent")
		}
		errs <- err
	}
	go receive("from the line", l)
	go receive("to the line", l.far)
	go func() {
		_, err := l.far.Write(data)
		errs <- err
	}()
	if _, err := l.Write(data); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestClose wakes a Read that waits, and a Write that the far side does not read.
func TestClose(t *testing.T) {
	t.Parallel()
	l := openLine(t, term.SerialOptions{})
	ended := make(chan error, 2)
	go func() {
		_, err := l.Read(make([]byte, 10))
		ended <- err
	}()
	go func() {
		_, err := l.Write(make([]byte, 1<<20))
		ended <- err
	}()
	// The buffer of the line is full when the far side can read.
	if _, err := l.far.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a call of a closed line succeeded")
		}
	}
	if _, err := l.Wait(); err != nil {
		t.Errorf("Wait after Close = %v, want no loss", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// TestGone: the end of the far side is a loss with a reason.
func TestGone(t *testing.T) {
	t.Parallel()
	l := openLine(t, term.SerialOptions{})
	if _, err := l.far.WriteString("last words"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 10)
	if _, err := io.ReadFull(l, got); err != nil || string(got) != "last words" {
		t.Errorf("%q, %v", got, err)
	}
	l.far.Close()
	if n, err := l.Read(got); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("Read after the end = %d, %v", n, err)
	}
	_, err := l.Wait()
	if !errors.Is(err, term.RemoteClosed) || !strings.Contains(err.Error(), "unplugged; ") {
		t.Errorf("Wait = %v", err)
	}
}

// TestSettings looks at the line with stty(1), and at the line's own description.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    term.SerialOptions
		want []string
	}{
		{term.SerialOptions{}, []string{`speed 9600 baud`, `\s-cstopb\s`, `\s-ixon\s`, `\s-crtscts`, `\s-icanon\s`, `\s-echo\s`, `\s-opost\s`}},
		{term.SerialOptions{Baud: 115200, StopBits: 2, Flow: "xonxoff", DTR: "keep"}, []string{`speed 115200 baud`, `\scstopb\s`, `\sixon\s`}},
		{term.SerialOptions{Baud: 300, Flow: "rtscts"}, []string{`speed 300 baud`, `\scrtscts\s`}},
	} {
		l := openLine(t, c.o)
		out, err := exec.Command("stty", "-F", l.device, "-a").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, want := range c.want {
			if !regexp.MustCompile(want).Match(out) {
				t.Errorf("%+v: the line is not set to %s:\n%s", c.o, want, out)
			}
		}
		about := l.Describe()
		if s := about.Serial; s == nil || s.Path != l.device || s.Signals != nil || len(about.Warnings) != 0 || !about.PTY {
			t.Errorf("%+v: described as %+v", c.o, about)
		}
		if p := l.Peer(); p.Protocol != "serial" || p.Device != l.device {
			t.Errorf("the peer is %+v", p)
		}
	}
	// DTR stays as it is when the line is closed, or not, as it was.
	for dtr, want := range map[string]uint32{"keep": 0, "": unix.HUPCL, "on": unix.HUPCL} {
		s := unix.Termios{Cflag: unix.HUPCL}
		if apply(&s, term.SerialOptions{DataBits: 8, DTR: dtr}); s.Cflag&unix.HUPCL != want {
			t.Errorf("dtr %q: HUPCL is %#x, want %#x", dtr, s.Cflag&unix.HUPCL, want)
		}
	}
	// A speed without a constant of its own, and settings that a pseudo-terminal lacks.
	l := openLine(t, term.SerialOptions{Baud: 250_000, DataBits: 7, Parity: "even", DTR: "off", RTS: "on"})
	is := new(unix.Termios)
	if err := l.port.control(func(fd int) (err error) {
		is, err = unix.IoctlGetTermios(fd, unix.TCGETS2)
		return err
	}); err != nil || is.Ospeed != 250_000 || is.Ispeed != 250_000 {
		t.Errorf("the speed is %d, %v", is.Ospeed, err)
	}
	warnings := strings.Join(l.Describe().Warnings, "\n")
	for _, want := range []string{"data bits 7", "parity even", "DTR was not set", "RTS was not set"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("the warnings are %q, want %q", warnings, want)
		}
	}
	if err := Check(term.SerialOptions{Flow: "rtscts", RTS: "off"}); !errors.Is(err, term.InvalidArgument) {
		t.Errorf("RTS beside rtscts: %v", err)
	}
}

// TestBreak: a pseudo-terminal passes no break on, and takes the request.
func TestBreak(t *testing.T) {
	t.Parallel()
	l := openLine(t, term.SerialOptions{})
	began := time.Now()
	if err := l.SendKey(t.Context(), term.KeyBreak); err != nil || time.Since(began) < breakTime {
		t.Errorf("the break: %v after %v", err, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.SendKey(ctx, term.KeyBreak); err == nil {
		t.Error("a canceled break succeeded")
	}
	if err := l.SendKey(t.Context(), term.KeyAreYouThere); !errors.Is(err, term.Unsupported) {
		t.Errorf("AYT: %v", err)
	}
	if err := l.Resize(80, 24); !errors.Is(err, term.Unsupported) {
		t.Errorf("Resize: %v", err)
	}
	l.Close()
	if err := l.SendKey(t.Context(), term.KeyBreak); !errors.Is(err, term.IOError) {
		t.Errorf("a break of a closed line: %v", err)
	}
}

// TestLockFile: one program has a line at a time. A file of a process that has ended counts for nothing.
func TestLockFile(t *testing.T) {
	t.Parallel()
	_, device := newLine(t)
	dir := t.TempDir()
	name := LockFile(dir, device)
	open := func() (term.Transport, error) {
		return Dialer{Allow: Allow{"/dev/pts/*"}, LockDir: dir}.Open(t.Context(), term.Target{Serial: term.SerialOptions{Path: device}}, nil, nil)
	}
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	live := other.Process.Pid
	written := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := string([]byte{byte(live), byte(live >> 8), byte(live >> 16), 0})
	for _, text := range []string{pad(live), pad(live) + " minicom root\n", binary} {
		written(text)
		_, err := open()
		if !errors.Is(err, term.Locked) || term.FactOf[term.DeviceOwner](err).PID != live || !strings.Contains(err.Error(), `"sleep"`) {
			t.Errorf("with the lock file %q: %v", text, err)
		}
		if kept, err := os.ReadFile(name); err != nil || string(kept) != text {
			t.Errorf("the lock file has become %q, %v", kept, err)
		}
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	written("") // its program has still to write the number
	if _, err := open(); !errors.Is(err, term.Locked) {
		t.Errorf("with a lock file that was just made: %v", err)
	}
	for _, text := range []string{pad(live), "", "nonsense", pad(os.Getpid()), "-1\n", "0\n"} {
		written(text)
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		tr, err := open()
		if err != nil {
			t.Errorf("with the lock file %q: %v", text, err)
			continue
		}
		if mine, err := os.ReadFile(name); string(mine) != pad(os.Getpid()) {
			t.Errorf("the lock file is %q, %v", mine, err)
		}
		tr.Close()
		if names, _ := filepath.Glob(dir + "/*"); len(names) != 0 {
			t.Errorf("Close leaves %q", names)
		}
	}
	// The line stays usable where there can be no lock file.
	tr, err := Dialer{Allow: Allow{"/dev/pts/*"}, LockDir: dir + "/missing"}.Open(
		t.Context(), term.Target{Serial: term.SerialOptions{Path: device}}, nil, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if w := tr.(*Terminal).Describe().Warnings; len(w) != 1 || !strings.Contains(w[0], "no lock file in") {
		t.Errorf("the warnings are %q", w)
	}
}

// pad is the text of a lock file.
func pad(pid int) string { return fmt.Sprintf("%10d\n", pid) }

// TestReserve: a line that Reserve refuses is not opened, and a line that is not opened is released.
func TestReserve(t *testing.T) {
	t.Parallel()
	_, device := newLine(t)
	held := 0
	refuse := errors.New("another session has it")
	d := Dialer{Allow: Allow{"/dev/pts/*"}, LockDir: t.TempDir(), Reserve: func(name string) (func(), error) {
		if name != device {
			t.Errorf("reserved %s", name)
		}
		if held > 0 {
			return nil, refuse
		}
		held++
		return func() { held-- }, nil
	}}
	target := term.Target{Serial: term.SerialOptions{Path: device}}
	tr, err := d.Open(t.Context(), target, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), target, nil, nil); !errors.Is(err, refuse) {
		t.Errorf("a second Open = %v", err)
	}
	tr.Close()
	if held != 0 {
		t.Errorf("held %d times after Close", held)
	}
	deny := errors.New("the rules")
	if _, err := d.Open(t.Context(), target, nil, func(_ context.Context, p term.Plan) (term.Grant, error) {
		if h := p.Hops[0]; h.Host != device || h.Alias != device {
			t.Errorf("the plan is %+v", p)
		}
		return term.Grant{}, deny
	}); !errors.Is(err, deny) || held != 0 {
		t.Errorf("a refused plan: %v, held %d times", err, held)
	}
}
