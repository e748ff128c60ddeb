package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/fsx"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/session/tap"
	"ptyctl/session/xmodem"
	"ptyctl/term"
)

// A farModem is the far side of a terminal, as package xmodem sees it.
type farModem struct {
	net.Conn
	in *tap.Tap
}

func newFarModem(conn net.Conn) *farModem {
	f := &farModem{conn, tap.New(func([]byte) {})}
	_ = f.in.Open()
	go func() {
		p := make([]byte, 4096)
		for {
			n, err := conn.Read(p)
			if err != nil {
				f.in.End()
				return
			}
			f.in.Write(p[:n])
		}
	}()
	return f
}

func (f *farModem) Read(ctx context.Context, p []byte, wait time.Duration) (int, error) {
	return f.in.Read(ctx, p, wait)
}

func (f *farModem) Write(_ context.Context, p []byte) error {
	_, err := f.Conn.Write(p)
	return err
}

func (f *farModem) Cancel(ctx context.Context, p []byte) { _ = f.Write(ctx, p) }
func (f *farModem) Text([]byte)                          {}

// A modemLab is a session with a far side that speaks XMODEM, and a folder here.
type modemLab struct {
	m    *session.Manager
	s    *session.Session
	far  *farModem
	dir  string
	seen *sessiontest.Diary
}

func newModemLab(t *testing.T, c session.Config) *modemLab {
	l := &modemLab{dir: t.TempDir(), seen: new(sessiontest.Diary)}
	files, err := fsx.NewLocal([]string{l.dir}, fsx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	far := make(chan net.Conn, 1)
	c.Files, c.Observers = files, []term.Observer{l.seen}
	l.m = sessiontest.Manage(t, sessiontest.Dialed(far), c)
	r, err := l.m.Open(sessiontest.Task("t1"), sessiontest.Target("router"))
	if err != nil {
		t.Fatal(err)
	}
	l.s, l.far = r.Session, newFarModem(<-far)
	return l
}

// sends copies a file to the far side as t1.
func (l *modemLab) sends(via session.Via) (session.CopyResult, error) {
	return l.m.Copy(sessiontest.Task("t1"), session.CopyRequest{
		Via: via, From: session.CopyPlace{Path: filepath.Join(l.dir, "fw.bin")}, To: session.CopyPlace{Session: l.s},
	})
}

func (l *modemLab) output() string {
	return string(l.s.Read(context.Background(), session.ReadRequest{MaxBytes: 1 << 16}).Data)
}

func TestModemSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newModemLab(t, session.Config{})
		data := bytes.Repeat([]byte("\x00\r\n\xff\x1a"), 1000)
		if err := os.WriteFile(filepath.Join(l.dir, "fw.bin"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		done := make(chan error, 1)
		go func() {
			time.Sleep(time.Second) // the terminal is the transfer's by then
			io.WriteString(l.far.Conn, "ready\r\n")
			_, err := xmodem.Receive(t.Context(), l.far, xmodem.Options{
				Protocol: xmodem.YMODEM, Open: func(xmodem.File) (io.Writer, error) { return &got, nil },
			})
			io.WriteString(l.far.Conn, "done\r\n> ")
			done <- err
		}()
		r, err := l.sends(xmodem.YMODEM)
		if err != nil || r.Bytes != 5000 || r.SHA256 == "" || r.Modem == nil {
			t.Fatalf("Copy = %+v, %v", r, err)
		}
		if err := <-done; err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Fatalf("%d bytes arrived, %v", got.Len(), err)
		}
		synctest.Wait()
		if got := l.output(); got != "ready\r\ndone\r\n> " {
			t.Errorf("the output is %q, want the texts around the transfer", got)
		}
		read, write := l.seen.Of(term.VerbFileRead), l.seen.Of(term.VerbWrite)
		if len(read) != 1 || len(write) != 1 || read[0].Copy == "" || read[0].Copy != write[0].Copy || read[0].Size != 5000 ||
			write[0].Size < 5000 || write[0].Data != nil || !strings.Contains(write[0].Detail, "ymodem send") {
			t.Errorf("events %+v and %+v, want one each with the id of the copy", read, write)
		}
		if _, err := l.s.Write(sessiontest.Task("t1"), []byte("x\r"), session.WriteOptions{}); err != nil {
			t.Errorf("a write afterwards: %v", err)
		}
	})
}

func TestModemReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newModemLab(t, session.Config{Copies: session.CopyLimits{Bytes: 10_000}})
		data := bytes.Repeat([]byte("0123456789"), 500)
		// In this order: the far modem would take the cancel of the larger file for an answer to the next one.
		for _, tt := range []struct {
			size int
			want error
		}{{5000, nil}, {20_000, term.LimitExceeded}} {
			size, want := tt.size, tt.want
			far := make(chan error, 1)
			go func() {
				f := xmodem.File{Name: "../../../etc/passwd\x1b[2J", Size: int64(size)}
				_, err := xmodem.Send(t.Context(), l.far, xmodem.YMODEM, f, bytes.NewReader(append(data, make([]byte, 15_000)...)), nil)
				far <- err
			}()
			r, err := l.m.Copy(sessiontest.Task("t1"), session.CopyRequest{
				Via: xmodem.YMODEM, From: session.CopyPlace{Session: l.s}, To: session.CopyPlace{Path: filepath.Join(l.dir, "got")},
			})
			if !errors.Is(err, want) {
				t.Fatalf("%d bytes: Copy = %+v, %v; want %v", size, r, err, want)
			}
			if <-far; want == nil && r.Bytes != 5000 {
				t.Errorf("Copy = %+v", r)
			}
		}
		entries, err := os.ReadDir(l.dir)
		if got, _ := os.ReadFile(filepath.Join(l.dir, "got")); err != nil || !bytes.Equal(got, data) || len(entries) != 1 {
			t.Errorf("the folder has %v, and the file %d bytes; want the first copy alone", entries, len(got))
		}
	})
}

// TestModemRefused: a transfer is refused if it may not be typed, or is not between one file of this machine and one
// session.
func TestModemRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newModemLab(t, session.Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Verb == term.VerbWrite && a.Sensitive {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "input cannot be judged"}
			}
			return term.Ruling{}, nil
		}})
		if err := os.WriteFile(filepath.Join(l.dir, "fw.bin"), []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := l.sends(xmodem.XMODEM)
		sessiontest.WantKind(t, err, term.PolicyDenied)
		here, lent := session.CopyPlace{Path: filepath.Join(l.dir, "fw.bin")}, &lentFiles{}
		for _, r := range []session.CopyRequest{
			{From: here, To: here},
			{From: session.CopyPlace{Session: l.s}, To: session.CopyPlace{Session: l.s}},
			{From: here, To: session.CopyPlace{Session: l.s}, Recursive: true},
			{From: session.CopyPlace{Lent: lent}, To: session.CopyPlace{Session: l.s}},
		} {
			r.Via = xmodem.XMODEM
			_, err := l.m.Copy(sessiontest.Task("t1"), r)
			sessiontest.WantKind(t, err, term.InvalidArgument)
		}
		if !lent.closed {
			t.Error("what was lent to a copy that was refused is not closed")
		}
		if n := l.s.Info().BytesOut; n != 0 {
			t.Errorf("%d bytes went out", n)
		}
	})
}

// lentFiles are files of another process that no copy reads.
type lentFiles struct {
	session.CopySource
	closed bool
}

// Close implements session.CopySource.
func (l *lentFiles) Close() { l.closed = true }

// TestModemTaken takes the lock over amid a transfer: the far side gets a cancel, and the new holder types.
func TestModemTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newModemLab(t, session.Config{Input: session.InputOptions{AllowTakeOver: true}})
		if err := os.WriteFile(filepath.Join(l.dir, "fw.bin"), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.s.Lock(sessiontest.Task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		far := make(chan error, 1)
		go func() {
			_, err := xmodem.Receive(t.Context(), l.far, xmodem.Options{
				Protocol: xmodem.XMODEM, Open: func(xmodem.File) (io.Writer, error) { return io.Discard, nil },
			})
			far <- err
		}()
		copied := make(chan error, 1)
		go func() {
			_, err := l.sends(xmodem.XMODEM)
			copied <- err
		}()
		time.Sleep(5 * time.Second)
		_, err := l.s.Write(sessiontest.Task("t1"), []byte("x"), session.WriteOptions{})
		if e := sessiontest.WantKind(t, err, term.Busy); e.Reason != term.ReasonTransfer {
			t.Errorf("a write meanwhile: %+v", e)
		}
		if _, _, err := l.s.TakeOver(sessiontest.Task("t2"), time.Minute); err != nil {
			t.Fatal(err)
		}
		sessiontest.WantKind(t, <-copied, term.Locked)
		if err := <-far; err == nil || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("the far side ends with %v, want that it was told", err)
		}
		if _, err := l.s.Write(sessiontest.Task("t2"), []byte("x\r"), session.WriteOptions{}); err != nil {
			t.Errorf("a write of the new holder: %v", err)
		}
	})
}
