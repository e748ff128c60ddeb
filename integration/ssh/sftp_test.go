package ssh

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

const labSFTP = "Subsystem sftp /usr/lib/openssh/sftp-server"

// labFiles moves files to and from OpenSSH's server and dropbear; both start OpenSSH's SFTP program.
func labFiles(t *testing.T, l *lab.Namespace) {
	l.Run(t, `mkdir -p /run/lab/small
mount -t tmpfs -o size=1m,mode=1777 small /run/lab/small`)
	alice := l.Users["alice"]
	for _, tt := range []struct {
		name string
		open func(t *testing.T) *session.Session
	}{
		{"openssh", func(t *testing.T) *session.Session {
			server := l.SSHD(t, lab.ServerConfig{Config: labSFTP})
			return l.Operator(t, server).MustOpen(server.WithKey(alice))
		}},
		{"dropbear", func(t *testing.T) *session.Session {
			server, known := l.Dropbear(t)
			o := l.Operator(t)
			o.Knows(known)
			return o.MustOpen(server.WithKey(alice))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.open(t)
			dir := "files-" + tt.name
			lab.WantExec(t, s, "mkdir "+dir+" && mkfifo "+dir+"/fifo && echo old > "+dir+"/file", "", 0)
			f := labFolder{s: s, l: l, dir: dir}
			t.Run("large", f.large)
			t.Run("refusals", f.refusals)
			t.Run("full disk", f.fullDisk)
			t.Run("killed", func(t *testing.T) { f.interrupted(t, "KILL") })
			t.Run("stopped", func(t *testing.T) { f.interrupted(t, "STOP") })
			t.Run("connection lost", func(t *testing.T) { f.lost(t, tt.open(t)) })
		})
	}
	t.Run("no subsystem", func(t *testing.T) {
		server := l.SSHD(t, lab.ServerConfig{})
		_, err := l.Operator(t, server).MustOpen(server.WithKey(alice)).Files().Stat(t.Context(), ".")
		lab.WantError(t, err, term.Unsupported)
	})
	t.Run("one session per connection", func(t *testing.T) {
		server := l.SSHD(t, lab.ServerConfig{Config: labSFTP + "\nMaxSessions 1"})
		s := l.Operator(t, server).MustOpen(server.WithKey(alice))
		lab.WantExec(t, s, "echo text > one", "", 0)
		if d, err := s.Files().Read(t.Context(), term.FileRead{Path: "one"}); err != nil || string(d.Data) != "text\n" {
			t.Errorf("got %q, %v", d.Data, err)
		}
	})
}

// A labFolder is a folder below the home of a session's user, in which file holds "old" and a line end.
type labFolder struct {
	s   *session.Session
	l   *lab.Namespace
	dir string
}

func (f labFolder) path(name string) string { return f.dir + "/" + name }

// wantOld fails the test unless the file is as it was.
func (f labFolder) wantOld(t *testing.T) {
	t.Helper()
	if d, err := f.s.Files().Read(t.Context(), term.FileRead{Path: f.path("file")}); err != nil ||
		string(d.Data) != "old\n" {
		t.Errorf("the file holds %.20q, %v", d.Data, err)
	}
}

// large moves 128 MiB each way. Its sum is taken on the far side, too.
func (f labFolder) large(t *testing.T) {
	const size = 128 << 20
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(len(f.dir))})
	_, _ = source.Read(data)
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	began := time.Now()
	w, err := f.s.Files().Write(t.Context(), term.FileWrite{Path: f.path("big"), Data: data})
	if err != nil {
		lab.Fatal(t, err)
	}
	if w.Size != size || !w.Atomic || !w.Created {
		t.Errorf("got %+v", w)
	}
	there := time.Since(began)
	lab.WantExec(t, f.s, "sha256sum < "+f.path("big"), sum+"  -\n", 0)
	began = time.Now()
	d, err := f.s.Files().Read(t.Context(), term.FileRead{Path: f.path("big")})
	if err != nil {
		lab.Fatal(t, err)
	}
	t.Logf("128 MiB took %s there and %s back", there.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if got := fmt.Sprintf("%x", sha256.Sum256(d.Data)); got != sum || d.Truncated {
		t.Errorf("the downloaded file has the sum %s, want %s; truncated %v", got, sum, d.Truncated)
	}
	lab.WantExec(t, f.s, "rm "+f.path("big"), "", 0)
}

func (f labFolder) refusals(t *testing.T) {
	files := f.s.Files()
	read := func(path string) error {
		_, err := files.Read(t.Context(), term.FileRead{Path: path})
		return err
	}
	write := func(path string) error {
		_, err := files.Write(t.Context(), term.FileWrite{Path: path, Data: []byte("x")})
		return err
	}
	for _, tt := range []struct {
		err  error
		kind term.Kind
		says string
	}{
		{read("/etc/shadow"), term.AccessDenied, "permission denied"},
		{write("/etc/made-by-alice"), term.AccessDenied, "permission denied"},
		{write("/etc/passwd"), term.AccessDenied, "permission denied"},
		{read(f.path("none")), term.NotFound, "no such file"},
		{read(f.dir), term.InvalidArgument, "use list"},
		{read(f.path("fifo")), term.Unsupported, "a FIFO"},
		{write(f.path("fifo")), term.Unsupported, "a FIFO"},
		{read("/dev/zero"), term.Unsupported, "a device"},
		{write("/dev/null"), term.Unsupported, "a device"},
	} {
		if !errors.Is(tt.err, tt.kind) || !strings.Contains(tt.err.Error(), tt.says) {
			t.Errorf("got %v, want %s: %s", tt.err, tt.kind, tt.says)
		}
	}
	f.wantOld(t)
}

func (f labFolder) fullDisk(t *testing.T) {
	dir := "/run/lab/small/" + f.dir
	lab.WantExec(t, f.s, "mkdir "+dir+" && echo old > "+dir+"/file", "", 0)
	for _, w := range []term.FileWrite{
		{Path: dir + "/file"}, {Path: dir + "/new"}, {Path: dir + "/appended", Append: true},
		{Path: dir + "/appended", Append: true, Data: make([]byte, 8*255<<10+1)}, // its last request is of one byte
	} {
		if w.Data == nil {
			w.Data = make([]byte, 2<<20)
		}
		_, err := f.s.Files().Write(t.Context(), w)
		if e := lab.WantError(t, err, term.IOError); !strings.Contains(e.Message(), "no space left") {
			t.Errorf("the message is %q", e.Message())
		}
		lab.WantExec(t, f.s, "rm -f "+dir+"/appended; cat "+dir+"/file; ls -A "+dir+"; echo old > "+dir+"/appended", "old\nfile\n", 0)
	}
}

// interrupted does something to the server's program in the middle of a write. The next action has another one.
func (f labFolder) interrupted(t *testing.T, signal string) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	f.wantOld(t)
	pid := f.l.Run(t, "pidof sftp-server") // and not the shell that some servers start it by
	if strings.Contains(pid, " ") {
		t.Fatalf("more than one program for files runs: %s", pid)
	}
	done := false
	_, err := f.s.Files().
		Write(ctx, term.FileWrite{Path: f.path("file"), Data: make([]byte, 128<<20), Progress: func(n int64) {
			if n < 8<<20 || done {
				return
			}
			done = true
			f.l.Run(t, "kill -"+signal+" "+pid)
			if signal == "STOP" {
				cancel()
			}
		}})
	if signal == "STOP" {
		lab.WantError(t, err, term.Canceled)
		f.l.Run(t, "kill -KILL "+pid)
	} else {
		lab.WantError(t, err, term.RemoteClosed)
	}
	f.wantOld(t)
	lab.WantExec(t, f.s, "rm -f "+f.dir+"/.ptyctl-*.tmp; cat "+f.path("file"), "old\n", 0)
}

// lost kills the server process of the whole connection in the middle of a write.
func (f labFolder) lost(t *testing.T, s *session.Session) {
	done := false
	pids := labSessionProcesses(t, f.l, s)
	_, err := s.Files().
		Write(t.Context(), term.FileWrite{Path: f.path("file"), Data: make([]byte, 128<<20), Progress: func(n int64) {
			if n >= 8<<20 && !done {
				done = true
				f.l.Run(t, "kill -KILL "+pids+" || true") // one may end with the other
			}
		}})
	lab.WantError(t, err, term.RemoteClosed)
	lab.WantEnd(t, s)
	f.wantOld(t)
	lab.WantExec(t, f.s, "rm -f "+f.dir+"/.ptyctl-*.tmp", "", 0)
}
