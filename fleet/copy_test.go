package fleet_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/sftp"

	"ptyctl/fleet"
	"ptyctl/fleet/batch"
	"ptyctl/fsx"
	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/term"
)

// A store has the files of hosts, each in a folder of its own, and those of this machine.
type store struct {
	*network
	dir, here string
	stall     map[string]bool // the server of files of these hosts says nothing
	f         *fleet.Fleets
}

// newStore makes hosts 1 to n with files.
func newStore(t *testing.T, n int, c fleet.Config) *store {
	s := &store{network: newNetwork(t, 0), dir: t.TempDir(), here: t.TempDir(), stall: make(map[string]bool)}
	for i := 1; i <= n; i++ {
		host := address(i)
		if err := os.Mkdir(filepath.Join(s.dir, host), 0o700); err != nil {
			t.Fatal(err)
		}
		serve := func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
			if s.stall[host] {
				<-ctx.Done()
				return sshserver.Exit{}
			}
			srv, err := sftp.NewServer(channelOf{r.Stdin, r.Stdout}, sftp.WithServerWorkingDirectory(filepath.Join(s.dir, host)))
			if err != nil {
				t.Error(err)
				return sshserver.Exit{Status: 1}
			}
			_ = srv.Serve()
			return sshserver.Exit{}
		}
		s.add(i, sshserver.Config{NoAuth: true, Subsystems: map[string]string{"sftp": ""}, Handler: serve}, true)
	}
	here, err := fsx.NewLocal([]string{s.here}, fsx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() })
	c.Here = here
	c.FarFiles = func(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error) {
		return fsx.NewSFTP(ctx, channel, fsx.Limits{})
	}
	s.f = s.fleets(c)
	return s
}

// A channelOf is the channel of a file server.
type channelOf struct {
	io.Reader
	io.Writer
}

func (channelOf) Close() error { return nil }

// has gives a host a file, or this machine for host "".
func (s *store) has(host, name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, host, name)
	if host == "" {
		path = filepath.Join(s.here, name)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// toHosts is a copy of the file "app" of this machine.
func (s *store) toHosts() *fleet.Copy {
	return &fleet.Copy{From: session.CopyPlace{Path: filepath.Join(s.here, "app")}, To: "app"}
}

// A copy keeps to canaries as a command does: where the first host takes no file, no other gets one.
func TestCopyCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 5, fleet.Config{})
		s.has("", "app", "new")
		if err := os.Remove(filepath.Join(s.dir, address(1))); err != nil {
			t.Fatal(err)
		}
		run := finish(t, s.f, fleet.Request{Hosts: hosts(1, 5), Copy: s.toHosts(), Rules: batch.Rules{Canary: 1}})
		want(t, run, fleet.Counts{All: 5, Lost: 1, NotRun: 4})
		if got := run.Result(address(1)); got.Code != "not_found" {
			t.Errorf("the host without the folder: %+v, want not_found", got)
		}
		for i := 2; i <= 5; i++ {
			if n := dialsOf(s.network, i); n != 0 {
				t.Errorf("%s was connected to %d times, want never", address(i), n)
			}
		}
	})
}

// A server of files that says nothing costs its own time, and the others get the file.
func TestCopyTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 3, fleet.Config{})
		s.has("", "app", "new")
		s.has(address(2), "app", "old")
		s.stall[address(2)] = true
		run := finish(t, s.f, fleet.Request{Hosts: hosts(1, 3), Copy: s.toHosts(), Timeout: 10 * time.Second})
		want(t, run, fleet.Counts{All: 3, OK: 2, Lost: 1})
		if got := run.Result(address(2)); got.Code != "timeout" || !strings.Contains(got.Reason, "nothing was replaced") {
			t.Errorf("the host that says nothing: %+v, want timeout", got)
		}
		if took := run.Took(); took > 20*time.Second {
			t.Errorf("the copy took %v, want the 10 s of the slowest host and the time to give up", took)
		}
		run, err := s.f.Run(t.Context(), fleet.Request{Hosts: hosts(2, 2), Copy: s.toHosts()})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := run.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-run.Done()
		if got := run.Result(address(2)); got.Code != "canceled" || got.Reason != "nothing was replaced" {
			t.Errorf("a copy that was canceled: %+v", got)
		}
	})
}

// No file is larger than the limit, and all that are collected are not either.
func TestCopyLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 5, fleet.Config{CopyBytes: 1000})
		collect := &fleet.Copy{Collect: true, From: session.CopyPlace{Path: "log"}, To: filepath.Join(s.here, "logs")}
		for i := 1; i <= 4; i++ {
			s.has(address(i), "log", strings.Repeat("x", 400))
		}
		s.has(address(5), "log", strings.Repeat("x", 1001))
		rules := batch.Rules{MaxParallel: 1}
		run := finish(t, s.f, fleet.Request{Hosts: hosts(1, 5), Copy: collect, Rules: rules})
		want(t, run, fleet.Counts{All: 5, OK: 2, Lost: 3})
		for i, part := range map[int]string{3: "together", 4: "together", 5: "the file has more than 1000 bytes"} {
			if got := run.Result(address(i)); got.Code != "limit_exceeded" || !strings.Contains(got.Reason, part) {
				t.Errorf("%s: %+v, want limit_exceeded, %q", address(i), got, part)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(s.here, "logs", "*", ".ptyctl*")); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
		s.has("", "app", strings.Repeat("x", 1001))
		if _, err := s.f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 5), Copy: s.toHosts()}); term.KindOf(err) != term.LimitExceeded {
			t.Errorf("a source that is too large: %v, want LIMIT_EXCEEDED", err)
		}
	})
}

// Of files that are collected side by side, those that have room together are kept.
func TestCollectBeyondLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 4, fleet.Config{CopyBytes: 10 << 20})
		collect := &fleet.Copy{Collect: true, From: session.CopyPlace{Path: "log"}, To: filepath.Join(s.here, "logs")}
		for i := 1; i <= 4; i++ {
			s.has(address(i), "log", strings.Repeat("x", 4<<20))
		}
		run := finish(t, s.f, fleet.Request{Hosts: hosts(1, 4), Copy: collect})
		want(t, run, fleet.Counts{All: 4, OK: 2, Lost: 2})
		if left, _ := filepath.Glob(filepath.Join(s.here, "logs", "*", "log")); len(left) != 2 {
			t.Errorf("the files of %v are kept, want those of two hosts", left)
		}
	})
}

// Each host's name is the name of a folder, and of no other place.
func TestFolderName(t *testing.T) {
	for label, want := range map[string]string{
		"web1.example.net": "web1.example.net", "admin@web1:2222": "admin@web1_2222", "[::1]:22": "__1_22", "..": "__", ".": "_",
		"": "_", "../../etc": "_._.._etc", "a/b\\c": "a_b_c", "a\x00b\n": "a_b_", "web.": "web_", "é": "__",
	} {
		got := fleet.FolderName(label)
		if got != want || !filepath.IsLocal(got) || filepath.Base(got) != got {
			t.Errorf("FolderName(%q) = %q, want %q", label, got, want)
		}
	}
}

// A collected file comes to its very path: not into a folder of its name, and not to where a symbolic link leads.
func TestCollectInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 4, fleet.Config{})
		for i := 1; i <= 4; i++ {
			s.has(address(i), "log", "new")
		}
		to := filepath.Join(s.here, "logs")
		elsewhere := filepath.Join(s.here, "elsewhere")
		for _, dir := range []string{elsewhere, filepath.Join(to, address(1), "log"), filepath.Join(to, address(2))} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for at, link := range map[string]string{
			filepath.Join(to, address(2), "log"): filepath.Join(elsewhere, "missing"),
			filepath.Join(to, address(3)):        elsewhere,
		} {
			if err := os.Symlink(link, at); err != nil {
				t.Fatal(err)
			}
		}
		for _, overwrite := range []bool{false, true} {
			collect := &fleet.Copy{Collect: true, From: session.CopyPlace{Path: "log"}, To: to, Overwrite: overwrite}
			run := finish(t, s.f, fleet.Request{Hosts: hosts(1, 4), Copy: collect})
			want(t, run, fleet.Counts{All: 4, OK: 1, Lost: 3})
			for i, part := range []string{"a folder here has the name", "symbolic link", "symbolic link"} {
				if got := run.Result(address(i + 1)); got.Code != "unsupported" || !strings.Contains(got.Reason, part) {
					t.Errorf("%s, overwrite %v: %+v; want unsupported, %q", address(i+1), overwrite, got, part)
				}
			}
		}
		for _, dir := range []string{elsewhere, filepath.Join(to, address(1), "log")} {
			if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
				t.Errorf("%s has %v, %v; want nothing", dir, list, err)
			}
		}
	})
}

// A reason keeps its cause, however long the path is, and equal causes are one.
func TestCopyReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 1, fleet.Config{})
		long := strings.Repeat("folder/", 300) + "log"
		collect := &fleet.Copy{Collect: true, From: session.CopyPlace{Path: long}, To: filepath.Join(s.here, "logs")}
		run := finish(t, s.f, fleet.Request{Hosts: hosts(1, 1), Copy: collect})
		if got := run.Result(address(1)).Reason; !strings.Contains(got, `folder/log": no such file`) || len(got) > 160 {
			t.Errorf("the reason is %q, want the end of the path and its cause", got)
		}
		collect = &fleet.Copy{Collect: true, From: session.CopyPlace{Path: "log"}, To: filepath.Join(s.here, "no", "logs")}
		if _, err := s.f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 1), Copy: collect}); err == nil ||
			!strings.Contains(err.Error(), "make it first") {
			t.Errorf("a folder in none: %v, want an error that says to make that first", err)
		}
		collect.From.Path = ".."
		_, err := s.f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 1), Copy: collect})
		if got := term.FactOf[term.ArgumentFault](err).Field; got != term.FieldPath {
			t.Errorf("a path without a name is the fault of %q, %v; want that of the path", got, err)
		}
	})
}
