//go:build unix

package lending

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ptyctl/fsx"
	"ptyctl/session"
	"ptyctl/session/filecopy"
	"ptyctl/term"
)

// A lender has a session's files, in a folder of this machine. It notes the outcome for each.
type lender struct {
	t     *testing.T
	dir   string
	here  term.CopyFiles
	life  context.Context
	end   context.CancelFunc
	table Table

	mu     sync.Mutex // guards the following
	deny   string     // a path that may not be read
	asked  []string
	ended  map[string]error // by path
	closed int
}

func newLender(t *testing.T) *lender {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := fsx.NewLocal([]string{dir}, fsx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() })
	l := &lender{t: t, dir: dir, here: here, ended: make(map[string]error)}
	l.life, l.end = context.WithCancel(t.Context())
	t.Cleanup(l.end)
	return l
}

func (l *lender) Machine() string { return "m" }

func (l *lender) Permit(
	_ context.Context, path, what string, of session.CopyPart,
) (func(int64, string, error), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, what+" of "+of.Copy+" "+of.Exec)
	if path == l.deny {
		return nil, &term.Error{
			Op: "file_read", Kind: term.PolicyDenied, Msg: "not this one", Advice: "take another",
			Facts: term.Facts{term.Denial{Rule: "policy.deny"}},
		}
	}
	return func(_ int64, _ string, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended[path] = err
	}, nil
}

func (l *lender) Open(context.Context) (term.CopyFiles, error) { return l.here, nil }
func (l *lender) Context() context.Context                     { return l.life }
func (l *lender) Named(err error) error                        { return err }

func (l *lender) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed++
}

// limits are the limits in the tests.
var limits = session.CopyLimits{Bytes: 64 << 20, Files: 100}

// lend lends a path to node b, and returns both sides of the loan.
func (l *lender) lend(path string, tree bool) (*Lent, *Borrowed) {
	lent := l.table.Lend(l.t.Context(), l, Terms{To: "b", Path: path, Tree: tree, Limits: limits})
	return lent, Borrow(Options{ID: lent.ID(), Node: "a", Session: "web@a", Machine: "m", Call: l.call})
}

func (l *lender) call(ctx context.Context, request []byte) ([]byte, error) {
	return l.table.Serve(ctx, "b", request)
}

func (l *lender) write(name string, data []byte) (path string) {
	l.t.Helper()
	path = filepath.Join(l.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// over checks that no loan is left, and that the connection was closed once.
func (l *lender) over(when string) {
	l.t.Helper()
	l.table.mu.Lock()
	defer l.table.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.table.lent) != 0 || l.closed != 1 {
		l.t.Errorf("%s: %d files are lent, and %d connections were closed; want none, and one", when, len(l.table.lent), l.closed)
	}
}

// run copies from b into a folder.
func run(t *testing.T, b *Borrowed, from string, tree bool) (to string, r filecopy.Result, err error) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := fsx.NewLocal([]string{dir}, fsx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = here.Close() }()
	to = filepath.Join(dir, "copy")
	c := filecopy.Copy{
		From:      filecopy.End{Path: from, Open: b.Open},
		To:        filecopy.End{Path: to, Open: func(context.Context) (term.CopyFiles, error) { return here, nil }},
		Recursive: tree,
		Permit: func(ctx context.Context, verb term.Verb, path, what string) (filecopy.Done, error) {
			if verb == term.VerbFileWrite {
				return func(int64, string, error) {}, nil
			}
			return b.Permit(ctx, path, what, session.CopyPart{Copy: "copy-1", Exec: "x-1"})
		},
	}
	r, err = c.Run(t.Context())
	return to, r, err
}

// TestBorrow: a tree can be copied from a loan. One file of it may not be read, and the copy says so.
func TestBorrow(t *testing.T) {
	l := newLender(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	l.write("tree/sub/big", big)
	odd := l.write("tree/o\xffdd", []byte("odd"))
	l.write("tree/secret", []byte("secret"))
	l.deny = filepath.Join(l.dir, "tree/secret")
	_, b := l.lend(filepath.Join(l.dir, "tree"), true)
	to, r, err := run(t, b, filepath.Join(l.dir, "tree"), true)
	b.Close()
	if err != nil || r.Files != 2 || r.Failed != 1 || len(r.Skipped) != 1 {
		t.Fatalf("Run = %+v, %v; want two files, and one that failed", r, err)
	}
	e, ok := errors.AsType[*term.Error](r.Skipped[0].Err)
	if !ok || e.Kind != term.PolicyDenied || e.Session != "web@a" || e.Msg != "not this one" || e.Advice != "take another" ||
		term.FactOf[term.Denial](e).Rule != "policy.deny" {
		t.Errorf("the file that may not be read has the error %#v, want that of its node", r.Skipped[0].Err)
	}
	for name, want := range map[string][]byte{"sub/big": big, "o\xffdd": []byte("odd")} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q has %d bytes, %v; want %d", name, len(got), err, len(want))
		}
	}
	if err, done := l.ended[odd]; !done || err != nil {
		t.Errorf("the record of a file has ended: %t, with %v", done, err)
	}
	for _, what := range l.asked {
		if !strings.HasSuffix(what, " of copy-1 x-1") {
			t.Errorf("the node of the session was asked for %q, want the copy's id in it", what)
		}
	}
	l.over("after the copy")
}

// TestOnlyWhatWasLent: a node gets only the files that were lent to it, and those only as a copy reads them.
func TestOnlyWhatWasLent(t *testing.T) {
	l := newLender(t)
	path, other := l.write("tree/file", []byte("text")), l.write("other", []byte("other"))
	l.write("huge", nil)
	if err := os.Truncate(filepath.Join(l.dir, "huge"), limits.Bytes+1); err != nil {
		t.Fatal(err)
	}
	lent, b := l.lend(l.dir, true)
	one, alone := l.lend(path, false)
	ask := func(node string, r request) error {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := l.table.Serve(t.Context(), node, text)
		if err == nil && r.Do != doRead {
			_, err = decode("a", "web@a", answer)
		}
		return err
	}
	permit := func(b *Borrowed, path string) func(int64, string, error) {
		t.Helper()
		done, err := b.Permit(t.Context(), path, "copy", session.CopyPart{})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	refused := func(what string, err error, kind term.Kind) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %s", what, err, kind)
		}
	}
	refused("another node", ask("c", request{ID: lent.ID(), Do: doAlive}), term.RemoteClosed)
	refused("another id", ask("b", request{ID: "x", Do: doAlive}), term.RemoteClosed)
	refused("no request", func() error { _, err := l.table.Serve(t.Context(), "b", []byte("{")); return err }(), term.InvalidArgument)
	refused("a giant", func() error { _, err := l.table.Serve(t.Context(), "b", make([]byte, maxRequest+1)); return err }(), term.InvalidArgument)
	for _, path := range []string{other, path + "/x", l.dir, ""} {
		refused("beside a file: "+path, ask("b", request{ID: one.ID(), Do: doPermit, Path: []byte(path)}), term.PolicyDenied)
	}
	for _, path := range []string{filepath.Dir(l.dir), l.dir + "x", l.dir + "/../x", l.dir + "/tree/../../x", l.dir + `/..\x`} {
		refused("beside a tree: "+path, ask("b", request{ID: lent.ID(), Do: doPermit, Path: []byte(path)}), term.PolicyDenied)
	}
	root := permit(b, l.dir)
	refused("before the connection", ask("b", request{ID: lent.ID(), Do: doLook, Path: []byte(l.dir)}), term.PolicyDenied)
	root(0, "", nil)
	files, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{l.dir, filepath.Join(l.dir, "tree")} {
		done := permit(b, dir)
		if _, err := files.Entries(t.Context(), dir, 1000); err != nil {
			t.Fatal(err)
		}
		done(0, "", nil)
	}
	done := permit(b, path)
	refused("a second connection", ask("b", request{ID: lent.ID(), Do: doOpen}), term.RemoteClosed)
	for _, do := range []string{doLook, doEntries, doSource} {
		refused(do+" without asking", ask("b", request{ID: lent.ID(), Do: do, Path: []byte(other), Most: 1}), term.PolicyDenied)
	}
	refused("a write", ask("b", request{ID: lent.ID(), Do: "write", Path: []byte(path)}), term.Unsupported)
	src, err := files.Source(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	number := src.(*source).number
	for name, r := range map[string]request{
		"too much":         {Do: doRead, Number: number, Most: maxRead + 1},
		"nothing":          {Do: doRead, Number: number},
		"before the start": {Do: doRead, Number: number, At: -1, Most: 1},
		"another file":     {Do: doRead, Number: number + 9, Most: 1},
		"close another":    {Do: doClose, Number: number + 9},
		"end another":      {Do: doDone, Number: number + 9},
	} {
		r.ID = lent.ID()
		refused(name, ask("b", r), term.InvalidArgument)
	}
	done(4, "", nil)
	refused("after its end", ask("b", request{ID: lent.ID(), Do: doSource, Path: []byte(path)}), term.PolicyDenied)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := src.ReadAt(make([]byte, 4), 0); n != 0 || !errors.Is(err, term.InvalidArgument) {
		t.Errorf("a read of a file that is closed = %d, %v", n, err)
	}

	huge := filepath.Join(l.dir, "huge")
	defer permit(b, huge)(0, "", nil)
	_, err = files.Source(t.Context(), huge, true)
	refused("more than one copy may have", err, term.LimitExceeded)
	if term.FactOf[term.LimitReached](err).Limit != term.LimitCopyBytes {
		t.Errorf("%v does not name its limit", err)
	}
	defer permit(b, l.dir)(0, "", nil)
	for range (limits.Files - 4) / 3 { // 4 were listed above
		if _, err := files.Entries(t.Context(), l.dir, 1000); err != nil {
			t.Fatal(err)
		}
	}
	_, err = files.Entries(t.Context(), l.dir, 1000)
	refused("more entries than one copy may have", err, term.LimitExceeded)
	var all []func(int64, string, error)
	for {
		done, err := b.Permit(t.Context(), path, "copy", session.CopyPart{})
		if err != nil {
			refused("too many files at a time", err, term.LimitExceeded)
			break
		}
		all = append(all, done)
	}
	if len(all) > maxOpen {
		t.Errorf("%d files may be read at a time", len(all))
	}
	alone.Close()
	b.Close()
	refused("after the end", ask("b", request{ID: lent.ID(), Do: doAlive}), term.RemoteClosed)
	if !errors.Is(l.ended[path], term.RemoteClosed) {
		t.Errorf("the record of a file that was being read has ended with %v", l.ended[path])
	}
}

// TestLinks: a link in a tree does not let a node read files outside the tree, however it asks.
func TestLinks(t *testing.T) {
	l := newLender(t)
	secret := l.write("beside/secret", []byte("secret"))
	file := l.write("tree/file", []byte("text"))
	tree := filepath.Join(l.dir, "tree")
	if err := errors.Join(os.Symlink(secret, tree+"/link"), os.Symlink(filepath.Dir(secret), tree+"/dir")); err != nil {
		t.Fatal(err)
	}
	_, b := l.lend(tree, true)
	defer b.Close()
	may := func(path string) (err error) {
		_, err = b.Permit(t.Context(), path, "copy", session.CopyPart{})
		return err
	}
	files, err := b.Open(t.Context())
	if err := errors.Join(err, may(tree)); err != nil {
		t.Fatal(err)
	}
	if err := may(file); !errors.Is(err, term.PolicyDenied) {
		t.Errorf("a file before its folder was listed: %v, want POLICY_DENIED", err)
	}
	if _, err := files.Entries(t.Context(), tree, 10); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{tree + "/link", tree + "/dir", tree + "/dir/secret", tree + `/dir\secret`, tree + "//dir/secret", file + "/"} {
		if err := may(path); !errors.Is(err, term.PolicyDenied) {
			t.Errorf("may %q be read: %v, want POLICY_DENIED", path, err)
		}
	}
	if err := may(file); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(file), os.Symlink(secret, file)); err != nil {
		t.Fatal(err)
	}
	if src, err := files.Source(t.Context(), file, true); err == nil {
		t.Errorf("a file that has become a link was followed: %+v", src.Entry())
	}
}
