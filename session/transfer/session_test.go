package transfer_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

// A filed is a terminal with files at its far side. It records the life of its channels, in order.
type filed struct {
	plain
	read  func(ctx context.Context, n int) error // of the n-th channel; nil: it succeeds
	write func(ctx context.Context, n int) error

	mu    sync.Mutex // guards the following
	story []string
	all   []*fakeFiles
}

func (f *filed) tell(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.story = append(f.story, what)
}

func (f *filed) Subsystem(_ context.Context, name string) (io.ReadWriteCloser, error) {
	f.tell("open " + name)
	near, _ := bufpipe.New(0)
	return near, nil
}

func (f *filed) Close() error {
	f.tell("terminal closed")
	return f.plain.Close()
}

// make is the session.FarFiles of f.
func (f *filed) make(_ context.Context, channel io.ReadWriteCloser) (term.Files, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	files := &fakeFiles{Closer: channel, f: f, n: len(f.all), lost: make(chan struct{})}
	f.all = append(f.all, files)
	return files, nil
}

// A fakeFiles is the files as one channel shows them.
type fakeFiles struct {
	io.Closer
	f    *filed
	n    int
	lost chan struct{}
}

func (x *fakeFiles) Read(ctx context.Context, _ term.FileRead) (term.FileData, error) {
	if x.f.read == nil {
		return term.FileData{Data: []byte("text")}, nil
	}
	return term.FileData{}, x.f.read(ctx, x.n)
}

func (x *fakeFiles) Write(ctx context.Context, w term.FileWrite) (term.FileWritten, error) {
	if x.f.write == nil {
		return term.FileWritten{Bytes: int64(len(w.Data))}, nil
	}
	return term.FileWritten{}, x.f.write(ctx, x.n)
}

func (x *fakeFiles) List(context.Context, term.FileList) (term.FileListing, error) {
	return term.FileListing{}, nil
}

func (x *fakeFiles) Stat(context.Context, string) (term.FileEntry, error) {
	return term.FileEntry{}, nil
}
func (x *fakeFiles) Lost() <-chan struct{} { return x.lost }

func (x *fakeFiles) Close() error {
	x.f.tell("files closed")
	return x.Closer.Close()
}

// startFiled makes a session with files.
func startFiled(tb testing.TB, f *filed, o session.Options) *session.Session {
	tb.Helper()
	near, _ := bufpipe.New(0)
	f.ReadWriteCloser = near
	o.FarFiles = f.make
	watch(tb, &o)
	s := session.New(f, o)
	tellState(tb, s)
	tb.Cleanup(func() { s.Close(context.Background(), session.CloseOptions{Force: true}) })
	return s
}

func (f *filed) wantStory(tb testing.TB, want ...string) {
	tb.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.story, want) {
		tb.Errorf("what happened: %q, want %q", f.story, want)
	}
}

// TestFilesConnection: the connection is made at first use, kept, closed after a minute without use, and closed with
// the session.
func TestFilesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(filed)
		s := startFiled(t, f, session.Options{})
		read := func() {
			t.Helper()
			if d, err := s.Files().Read(t.Context(), term.FileRead{Path: "x"}); err != nil || string(d.Data) != "text" {
				t.Fatalf("%q, %v", d.Data, err)
			}
		}
		f.wantStory(t)
		for range 5 {
			read()
			time.Sleep(59 * time.Second)
		}
		f.wantStory(t, "open sftp")
		time.Sleep(2 * time.Second)
		f.wantStory(t, "open sftp", "files closed")
		read()
		s.Close(t.Context(), session.CloseOptions{})
		f.wantStory(t, "open sftp", "files closed", "open sftp", "files closed", "terminal closed")
		_, err := s.Files().Read(t.Context(), term.FileRead{Path: "x"})
		wantKind(t, err, term.AlreadyClosed)
	})
}

// TestFilesLost: when the far side has ended the connection, the next action makes another. A read is tried again at
// once; a write is not, because it may have been done.
func TestFilesLost(t *testing.T) {
	gone := &term.Error{Kind: term.RemoteClosed, Msg: "gone"}
	synctest.Test(t, func(t *testing.T) {
		f := new(filed)
		fails := func(_ context.Context, n int) error {
			if n != 1 {
				return nil
			}
			close(f.all[n].lost)
			return gone
		}
		f.read, f.write = fails, fails
		s := startFiled(t, f, session.Options{})
		use := func(write bool) (err error) {
			if write {
				_, err = s.Files().Write(t.Context(), term.FileWrite{Path: "x"})
			} else {
				_, err = s.Files().Read(t.Context(), term.FileRead{Path: "x"})
			}
			return err
		}
		if err := use(true); err != nil {
			t.Fatal(err)
		}
		close(f.all[0].lost) // while it is not in use
		f.wantStory(t, "open sftp", "files closed")
		wantKind(t, use(false), term.RemoteClosed) // a new one, which is tried once
		if err := use(true); err != nil {
			t.Fatal(err)
		}
		f.wantStory(t, "open sftp", "files closed", "open sftp", "files closed", "open sftp")
	})
	for _, write := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := new(filed)
			begun := 0
			fails := func(_ context.Context, n int) error {
				if begun++; begun != 2 {
					return nil
				}
				close(f.all[n].lost)
				return gone
			}
			f.read, f.write = fails, fails
			s := startFiled(t, f, session.Options{})
			if _, err := s.Files().Read(t.Context(), term.FileRead{Path: "x"}); err != nil {
				t.Fatal(err)
			}
			if write {
				_, err := s.Files().Write(t.Context(), term.FileWrite{Path: "x"})
				wantKind(t, err, term.RemoteClosed)
			} else if _, err := s.Files().Read(t.Context(), term.FileRead{Path: "x"}); err != nil {
				t.Errorf("a read was not tried again: %v", err)
			}
		})
	}
}

// TestFilesTurns: actions wait for each other, and no longer than their calls. A session that is busy with files is
// not idle.
func TestFilesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(filed)
		f.read = func(ctx context.Context, _ int) error {
			select {
			case <-time.After(10 * time.Minute):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s := startFiled(t, f, session.Options{IdleTimeout: time.Minute})
		var first error
		var all sync.WaitGroup
		all.Go(func() { _, first = s.Files().Read(t.Context(), term.FileRead{Path: "x"}) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Files().Write(ctx, term.FileWrite{Path: "x"})
		wantKind(t, err, term.Canceled)
		all.Wait()
		if first != nil || s.State() != session.Open {
			t.Errorf("%v, the session is %s", first, s.State())
		}
		time.Sleep(2 * time.Minute)
		if !s.State().Ended() {
			t.Error("the session is idle, and stays")
		}
	})
}

// TestFilesAndClose: the end of the session ends the action under way, which tidies up before the terminal is closed.
func TestFilesAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(filed)
		f.write = func(ctx context.Context, _ int) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			f.tell("tidied up")
			return ctx.Err()
		}
		s := startFiled(t, f, session.Options{})
		var err error
		var all sync.WaitGroup
		all.Go(func() { _, err = s.Files().Write(context.Background(), term.FileWrite{Path: "x"}) })
		synctest.Wait()
		if took := since(func() { s.Close(t.Context(), session.CloseOptions{}) }); took != time.Second {
			t.Errorf("the close took %s", took)
		}
		all.Wait()
		wantKind(t, err, term.AlreadyClosed)
		f.wantStory(t, "open sftp", "tidied up", "files closed", "terminal closed")
	})
}

// TestFilesRefused is about sessions without files, and about the error of a refusal.
func TestFilesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := new(diary)
		s, _ := start(t, 0, session.Options{Observers: []term.Observer{seen}})
		_, err := s.Files().Stat(t.Context(), "x")
		if e := wantKind(t, err, term.PolicyDenied); term.FactOf[term.Denial](e).Setting != term.SettingRemoteFiles {
			t.Errorf("got %+v", e)
		}
		s, _ = start(t, 0, session.Options{Observers: []term.Observer{seen}, FarFiles: new(filed).make})
		_, err = s.Files().Write(t.Context(), term.FileWrite{Path: "x"})
		wantKind(t, err, term.Unsupported)
		if r, w := seen.Of(term.VerbFileRead), seen.Of(term.VerbFileWrite); len(r) != 1 || len(w) != 1 ||
			!errors.Is(r[0].Refused, term.PolicyDenied) ||
			!errors.Is(w[0].Refused, term.Unsupported) {
			t.Errorf("on record: %+v, %+v", r, w)
		}
		_, err = session.NewManager(session.Config{}).Files().Stat(t.Context(), "x")
		if e := wantKind(t, err, term.PolicyDenied); term.FactOf[term.Denial](e).Setting != term.SettingLocalFiles {
			t.Errorf("got %+v", e)
		}
	})
}

// TestFilesJournal: an action that cannot be put on record first is not done.
func TestFilesJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(filed)
		s := startFiled(t, f, session.Options{Journal: func(e term.Event) error {
			if e.Verb == term.VerbFileWrite && e.Path == "x" {
				return errors.New("the disk is full")
			}
			return nil
		}})
		_, err := s.Files().Write(t.Context(), term.FileWrite{Path: "x"})
		wantKind(t, err, term.IOError)
		f.wantStory(t)
		if _, err := s.Files().Read(t.Context(), term.FileRead{Path: "x"}); err != nil {
			t.Error(err)
		}
	})
}

// TestFilesWrittenInPart: a write that the session's end cuts off says how far it came.
func TestFilesWrittenInPart(t *testing.T) {
	for _, facts := range []term.Facts{{term.PartialWrite{Written: 255}}, {term.PartialWrite{}}, nil} {
		synctest.Test(t, func(t *testing.T) {
			f := new(filed)
			f.write = func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return &term.Error{Kind: term.IOError, Msg: "lost", Facts: facts}
			}
			s := startFiled(t, f, session.Options{})
			var err error
			var all sync.WaitGroup
			all.Go(func() { _, err = s.Files().Write(context.Background(), term.FileWrite{Path: "x", Append: true}) })
			synctest.Wait()
			s.Close(t.Context(), session.CloseOptions{})
			all.Wait()
			wantKind(t, err, term.AlreadyClosed)
			e, _ := errors.AsType[*term.Error](err)
			if facts != nil && term.FactOf[term.PartialWrite](e) != facts[0] {
				t.Errorf("the facts are %+v, want %+v among them", e.Facts, facts)
			}
		})
	}
}
