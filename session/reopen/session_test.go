package reopen_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/screen"
	"ptyctl/session"
	"ptyctl/session/await"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// A site is a far side that can go away and come back.
type site struct {
	mu      sync.Mutex
	fails   error         // of the next connections; nil: they succeed
	slow    time.Duration // that each takes
	asks    bool          // each asks for a password, and takes any
	targets []term.Target // dialed
	agents  []string      // SSH_AUTH_SOCK of the environment of each dial
	far     []net.Conn    // of the connections made
	key     string        // of the host
}

// set changes the site.
func (f *site) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *site) dial(ctx context.Context, t term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
	f.mu.Lock()
	f.targets = append(f.targets, t)
	f.agents = append(f.agents, term.EnvironmentFrom(ctx).Get("SSH_AUTH_SOCK"))
	fails, slow, asks, key := f.fails, f.slow, f.asks, f.key
	f.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if asks && t.Auth.Password == "" {
		if _, err := p.Prompt(ctx, term.Prompt{Text: "Password: ", Kind: term.PromptPassword}); err != nil {
			return nil, err
		}
	}
	if fails != nil {
		return nil, fails
	}
	near, far := bufpipe.New(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.far = append(f.far, far)
	return &keyed{
		Shell: sessiontest.Shell{Plain: sessiontest.Plain{ReadWriteCloser: near}, OnExec: say}, key: key,
	}, nil
}

// say carries out a command: it repeats it, after a moment.
func say(_ context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
	time.Sleep(time.Millisecond)
	_, _ = io.WriteString(stdout, r.Command)
	return term.Exit{Known: true, Started: true}, nil
}

// A keyed is a terminal of a host with a key.
type keyed struct {
	sessiontest.Shell
	key string
}

func (k *keyed) Describe() term.Description { return term.Description{PTY: true, HostKey: k.key} }

// last returns the far side of the newest connection.
func (f *site) last() net.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.far[len(f.far)-1]
}

// dials returns how often the site was dialed.
func (f *site) dials() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.targets)
}

// A lab is a manager, with one session at a site.
type lab struct {
	*site
	m     *session.Manager
	s     *session.Session
	diary *sessiontest.Diary
}

// run runs a test in a bubble, with a session that is open.
func run(t *testing.T, c session.Config, r session.OpenRequest, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &lab{site: &site{key: "SHA256:one"}, diary: &sessiontest.Diary{}}
		c.Observers = []term.Observer{l.diary}
		l.m = sessiontest.Manage(t, l.dial, c)
		r.Target.Protocol, r.Target.Host = "test", "r1"
		res, err := l.m.Open(sessiontest.Task("t1"), r)
		if err != nil {
			t.Fatal(err)
		}
		l.s = res.Session
		test(t, l)
	})
}

// lose breaks the connection.
func (l *lab) lose(t *testing.T) {
	t.Helper()
	_ = l.last().Close()
	synctest.Wait()
	if i := l.s.Info(); i.State != session.Closed || i.End.Code != session.EndRemoteClosed {
		t.Fatalf("after the loss the session is %s, %+v; want closed by the far side", i.State, i.End)
	}
}

// reopen reopens the session as t1, and follows it.
func (l *lab) reopen(t *testing.T, r session.ReopenRequest) session.OpenResult {
	t.Helper()
	r.Session = l.s
	res, err := l.m.Reopen(sessiontest.Task("t1"), r)
	if err != nil {
		t.Fatalf("Reopen = %v", err)
	}
	l.follow(t)
	return res
}

// follow takes the session that has the id now.
func (l *lab) follow(t *testing.T) {
	t.Helper()
	s, err := l.m.Get(l.s.ID())
	if err != nil {
		t.Fatal(err)
	}
	l.s = s
}

// refused fails the test unless reopening the session is refused with an error of that kind, and a text.
func (l *lab) refused(t *testing.T, ctx context.Context, kind term.Kind, text string) {
	t.Helper()
	before := l.dials()
	_, err := l.m.Reopen(ctx, session.ReopenRequest{Session: l.s, Try: time.Minute})
	if e := sessiontest.WantKind(t, err, kind); !strings.Contains(e.Message(), text) {
		t.Errorf("Reopen = %q, want %q", e.Message(), text)
	}
	if n := l.dials(); n != before {
		t.Errorf("a refused Reopen has dialed %d times", n-before)
	}
}

// A session that is lost while a person has its terminal begins again with its own size, and not with theirs.
func TestOwnSize(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		if err := l.s.Resize(sessiontest.Task("t1"), 100, 30); err != nil {
			t.Fatal(err)
		}
		person := term.WithActor(t.Context(), term.Actor{Operator: true, Attachment: term.NewAttachment("1", "person")})
		if _, _, err := l.s.TakeOver(person, time.Second); err != nil {
			t.Fatal(err)
		}
		if err := l.s.Resize(person, 80, 24); err != nil {
			t.Fatal(err)
		}
		l.lose(t)
		time.Sleep(time.Minute)
		l.reopen(t, session.ReopenRequest{})
		if got := l.targets[1].PTY; got.Cols != 100 || got.Rows != 30 {
			t.Errorf("reopened with %dx%d, want 100x30", got.Cols, got.Rows)
		}
		sessiontest.Put(t, l.last(), "\x1b[999;999H")
		now := l.s.Screen(t.Context(), 0)
		if text := now.Render(screen.Options{}); !strings.Contains(text, "100x30") {
			t.Errorf("the screen is %.80q, want 100x30", text)
		}
	})
}

// TestSameSession checks which parts go on in a session that is reopened (its id, cursors, output, commands, lock and
// patterns), and which do not.
func TestSameSession(t *testing.T) {
	run(t, session.Config{Input: session.InputOptions{RecordTxEvents: true}}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		ctx, id := sessiontest.Task("t1"), l.s.ID()
		sessiontest.Put(t, l.last(), "r1# ")
		if _, err := l.s.Lock(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := l.s.Write(ctx, []byte("reload\r"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := sessiontest.Take(t, l.last(), 7); got != "reload\r" {
			t.Fatalf("typed %q", got)
		}
		res, err := l.s.Exec(ctx, session.ExecRequest{Command: "echo", Lane: session.LaneChannel, Wait: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.s.SetExpect(ctx, session.Expect{Prompt: sessiontest.Re(`^r1# $`)}); err != nil {
			t.Fatal(err)
		}
		if err := l.s.Resize(ctx, 100, 30); err != nil {
			t.Fatal(err)
		}
		sessiontest.Put(t, l.last(), "\x1b[?1049hreloading\x1b[3")
		gap, created := l.s.End(), l.s.Info().Created
		time.Sleep(time.Minute)
		l.lose(t)
		old := l.s
		if open := l.reopen(t, session.ReopenRequest{}); open.State != session.Open || open.Session != l.s {
			t.Fatalf("Reopen = %+v, want the open session", open)
		}
		if got := l.targets[1].PTY; got.Cols != 100 || got.Rows != 30 {
			t.Errorf("the new terminal has %d by %d cells, want its last size, 100 by 30", got.Cols, got.Rows)
		}
		if w := l.s.Waiting(); w != nil || l.s.LastLine() != "" {
			t.Errorf("before the new terminal has shown anything, the last line = %q, and waits = %v", l.s.LastLine(), w)
		}
		i := l.s.Info()
		if l.s.ID() != id || l.s == old || !i.Created.Equal(created) || i.Opens != 2 || !slices.Equal(i.Gaps, []int64{gap}) ||
			i.Typed || i.Lease == nil || i.Lease.Holder.Task != "t1" || i.Execs != 1 || len(l.s.TxEvents()) != 1 ||
			i.BytesIn != gap || i.PTY.Cols != 100 {
			t.Errorf("the reopened session = %+v, with %d inputs", i, len(l.s.TxEvents()))
		}
		if l.s.Expect().Prompt == nil {
			t.Error("the patterns are gone")
		}
		// Its screen is another terminal's, without the modes of the one before.
		if d := l.s.Screen(ctx, 0); d.AltScreen || strings.Contains(d.Render(screen.Options{}), "reloading") {
			t.Errorf("the screen of the new connection = %q", d.Render(screen.Options{}))
		}
		sessiontest.Put(t, l.last(), "1mUsername: ") // this would complete the sequence that was cut
		if got := l.s.LastLine(); got != "1mUsername: " {
			t.Errorf("the last line = %q, want nothing of the old connection in it", got)
		}
		k := l.s.Read(ctx, session.ReadRequest{Cursor: gap - 4, NoWait: true, Until: sessiontest.Re(`^1mUser`), Clean: true})
		if clean, _ := k.Clean(); k.Reason != session.ReasonMatched || !slices.Equal(k.Gaps, []int64{gap}) ||
			!strings.HasSuffix(string(clean), "1mUser") {
			t.Errorf("a read across the gap = %q (%s), gaps %v; want the new line to begin there", clean, k.Reason, k.Gaps)
		}
		for cursor, want := range map[int64]int{0: 1, gap: 1, gap + 1: 0} {
			if k := l.s.Read(ctx, session.ReadRequest{Cursor: cursor, NoWait: true}); len(k.Gaps) != want {
				t.Errorf("a read from %d names the gaps %v, want %d", cursor, k.Gaps, want)
			}
		}
		if got, err := l.s.ContinueExec(ctx, res.ID, session.ContinueRequest{}); err != nil || string(got.Stdout.Head) != "echo" {
			t.Errorf("the result of the command before the gap = %+v, %v", got, err)
		}
		got, err := l.s.Exec(ctx, session.ExecRequest{Command: "after"})
		if err != nil || string(got.Stdout.Head) != "after" || got.Lane != session.LaneChannel {
			t.Errorf("a command after the gap = %+v, %v; want it beside the untouched terminal", got, err)
		}
		_ = l.last().SetReadDeadline(time.Now().Add(time.Second))
		if n, _ := l.last().Read(make([]byte, 8)); n != 0 {
			t.Errorf("%d bytes were typed into the new terminal, want none", n)
		}
		if _, err := old.Write(ctx, []byte("x"), session.WriteOptions{}); err == nil {
			t.Error("a write into the old connection succeeded")
		}
	})
}

// A far side that is away for three minutes is back in the same session; a read and a wait go on across the gap.
func TestBackAfterMinutes(t *testing.T) {
	run(t, session.Config{Retention: time.Minute}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		ctx := t.Context()
		sessiontest.Put(t, l.last(), "r1# reload\r\n")
		cursor := l.s.End()
		l.set(func() { l.fails = &term.Error{Kind: term.ConnectFailed, Msg: "connection refused"} })
		l.lose(t)
		began := time.Now()
		time.AfterFunc(3*time.Minute, func() { l.set(func() { l.fails = nil }) })
		res := l.reopen(t, session.ReopenRequest{Try: 10 * time.Minute})
		if res.State != session.Connecting || time.Since(began) > time.Second {
			t.Fatalf("Reopen = %+v after %v, want connecting at once", res, time.Since(began))
		}
		if p := l.s.Info().Reopening; p.Attempts != 1 || p.Err == nil || p.Until.Sub(began) != 10*time.Minute {
			t.Errorf("the status = %+v", p)
		}
		l.refused(t, sessiontest.Task("t1"), term.Busy, "being reopened already")
		read := make(chan session.Chunk, 1)
		go func() { read <- l.s.Read(ctx, session.ReadRequest{Cursor: 0, Until: sessiontest.Re(`Username: $`)}) }()
		fired, err := await.Any(ctx, []await.Entry{{Session: l.s, Opens: true, Read: session.ReadRequest{Cursor: session.Latest}}})
		if err != nil || !fired[0].Met || fired[0].Next != cursor {
			t.Errorf("the wait = %+v, %v; want it met, with the cursor of its begin", fired, err)
		}
		if away := time.Since(began); away < 3*time.Minute || away > 3*time.Minute+35*time.Second || l.s.State() != session.Open {
			t.Errorf("the session is %s after %v, want open a few seconds after 3 minutes", l.s.State(), away)
		}
		sessiontest.Put(t, l.last(), "Username: ")
		if k := <-read; k.Reason != session.ReasonMatched || string(k.Data) != "r1# reload\r\nUsername: " || len(k.Gaps) != 1 {
			t.Errorf("the read that waited across the gap = %q, %s, gaps %v", k.Data, k.Reason, k.Gaps)
		}
		if i := l.s.Info(); i.Opens != 2 || i.Reopening.Attempts != 0 {
			t.Errorf("the status = %+v", i.Connections)
		}
	})
}

// Attempts that all fail leave the session as it was, with the reason; it can be reopened again, and is forgotten only
// then.
func TestGivenUp(t *testing.T) {
	run(t, session.Config{Retention: time.Minute}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		sessiontest.Put(t, l.last(), "old output")
		l.set(func() { l.fails = &term.Error{Kind: term.ConnectTimeout, Msg: "nothing answers"} })
		l.lose(t)
		for range 2 {
			l.reopen(t, session.ReopenRequest{Try: time.Hour})
			began, s := time.Now(), l.s
			read := make(chan session.Chunk, 1)
			go func() { read <- s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest}) }()
			<-s.Ended()
			if d := time.Since(began); d != session.LongestReopening {
				t.Errorf("given up after %v, want half an hour", d)
			}
			end := l.s.Info().End
			if l.s.State() != session.Closed || end.Code != session.EndRemoteClosed ||
				end.Before != "the far side closed the terminal" || !strings.Contains(end.Reason, "nothing answers") {
				t.Errorf("the session is %s, %+v", l.s.State(), end)
			}
			if k := <-read; k.Reason != session.ReasonEOF {
				t.Errorf("the waiting read ends with %s", k.Reason)
			}
		}
		if k := l.s.Read(t.Context(), session.ReadRequest{Cursor: 0, NoWait: true}); string(k.Data) != "old output" {
			t.Errorf("the output is %q", k.Data)
		}
		_, err := l.m.Reopen(t.Context(), session.ReopenRequest{Session: l.s})
		sessiontest.WantKind(t, err, term.ConnectTimeout)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, err := l.m.Get(l.s.ID()); err == nil || l.m.Live() != 0 {
			t.Errorf("the session is still there, and %d live", l.m.Live())
		}
		l.refused(t, t.Context(), term.NotFound, "no session")
		if l.m.Buffered() != 0 {
			t.Errorf("%d bytes are still taken", l.m.Buffered())
		}
	})
}

// A failure that is not of the way ends the attempts.
func TestNoStorm(t *testing.T) {
	for _, kind := range []term.Kind{term.AuthFailed, term.HostKeyMismatch, term.PolicyDenied} {
		run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
			l.set(func() { l.fails = &term.Error{Kind: term.ConnectFailed, Msg: "refused"} })
			l.lose(t)
			l.reopen(t, session.ReopenRequest{Try: time.Hour, Auth: &term.Auth{Password: sessiontest.Typed}})
			l.set(func() { l.fails = &term.Error{Kind: kind, Msg: "no"} })
			<-l.s.Ended()
			if n := l.dials(); n != 3 {
				t.Errorf("%s: %d dials, want the open, one that failed on the way, and this one", kind, n)
			}
			if end := l.s.Info().End; !errors.Is(end.Err, kind) || end.Code != session.EndRemoteClosed {
				t.Errorf("%s: the end is %+v", kind, end)
			}
		})
	}
}

// A login that asks does so in the state authenticating, and an unanswered question ends the attempts: a person is not
// asked every half minute.
func TestQuestion(t *testing.T) {
	auth := term.Auth{Method: "password", Password: sessiontest.Typed}
	run(t, session.Config{}, session.OpenRequest{Target: term.Target{Auth: auth}}, func(t *testing.T, l *lab) {
		l.set(func() { l.asks = true })
		l.lose(t)
		if res := l.reopen(t, session.ReopenRequest{Try: time.Hour}); res.State != session.Authenticating || res.Prompt == nil {
			t.Fatalf("Reopen = %+v, want the question", res)
		}
		l.refused(t, t.Context(), term.Busy, "waits for an answer")
		<-l.s.Ended()
		if end := l.s.Info().End; l.dials() != 2 || !errors.Is(end.Err, term.AuthFailed) {
			t.Errorf("after an unanswered question there are %d dials, and the end %+v", l.dials(), end)
		}
		res := l.reopen(t, session.ReopenRequest{})
		if err := l.s.Question().Answer(t.Context(), []byte(sessiontest.Typed)); err != nil {
			t.Fatal(err)
		}
		if res, err := res.Again(t.Context(), time.Minute); err != nil || res.State != session.Open {
			t.Errorf("after the answer: %+v, %v", res, err)
		}
		l.lose(t)
		_, err := l.m.Reopen(t.Context(), session.ReopenRequest{Session: l.s, Auth: &term.Auth{NoInteractive: true}, Wait: time.Second})
		if to := l.targets[len(l.targets)-1]; err != nil || !to.Auth.NoInteractive {
			t.Errorf("Reopen without questions = %v, of %+v", err, to.Auth)
		}
		for i, to := range l.targets[1:] {
			if to.Auth.Password != "" || to.Auth.Method != "password" {
				t.Errorf("dial %d has the credentials of the open", i)
			}
		}
	})
}

// Close ends the attempts for good, in a pause, in an attempt and at a question.
func TestCloseEndsAttempts(t *testing.T) {
	for name, where := range map[string]func(l *lab){
		"pause":    func(l *lab) { l.fails = &term.Error{Kind: term.ConnectFailed, Msg: "refused"} },
		"attempt":  func(l *lab) { l.slow = time.Hour },
		"question": func(l *lab) { l.asks = true },
	} {
		run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
			l.set(func() { where(l) })
			l.lose(t)
			if _, err := l.m.Reopen(t.Context(), session.ReopenRequest{Session: l.s, Try: time.Hour, Wait: time.Second}); err != nil {
				t.Fatal(err)
			}
			l.follow(t)
			began := time.Now()
			if l.s.Close(sessiontest.Task("t1"), session.CloseOptions{}) {
				t.Errorf("%s: it had ended already", name)
			}
			if i := l.s.Info(); time.Since(began) > 0 || i.State != session.Closed || i.End.Code != session.EndClosed ||
				i.End.Reason != "closed by task t1" {
				t.Errorf("%s: after %v the session is %s, %+v", name, time.Since(began), i.State, i.End)
			}
			n := l.dials()
			l.refused(t, t.Context(), term.AlreadyClosed, "ended for good (closed by task t1)")
			time.Sleep(time.Hour)
			if l.dials() != n || l.m.Live() != 0 {
				t.Errorf("%s: it was dialed after the close", name)
			}
		})
	}
}

// A session that was closed, by a caller or by its limits, is not reopened; nor one that a caller has closed after its
// end.
func TestRefusals(t *testing.T) {
	ctx := sessiontest.Task("t1")
	open := session.OpenRequest{}
	run(t, session.Config{}, open, func(t *testing.T, l *lab) {
		l.refused(t, ctx, term.InvalidArgument, "nothing to reopen")
		l.s.Close(ctx, session.CloseOptions{})
		l.refused(t, ctx, term.AlreadyClosed, "ended for good (closed by task t1)")
	})
	run(t, session.Config{}, open, func(t *testing.T, l *lab) {
		l.set(func() { l.slow = time.Minute })
		r := sessiontest.Target("slow")
		r.Wait = time.Second
		res, err := l.m.Open(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		l.s = res.Session
		l.refused(t, ctx, term.Busy, "still connecting")
	})
	run(t, session.Config{}, open, func(t *testing.T, l *lab) {
		l.lose(t)
		if !l.s.Close(ctx, session.CloseOptions{}) {
			t.Error("it had not ended")
		}
		l.refused(t, ctx, term.AlreadyClosed, "after its end")
	})
	run(t, session.Config{IdleTimeout: time.Second}, open, func(t *testing.T, l *lab) {
		<-l.s.Ended()
		l.refused(t, ctx, term.AlreadyClosed, "idle timeout")
	})
	run(t, session.Config{MaxAge: time.Minute}, open, func(t *testing.T, l *lab) {
		<-l.s.Ended()
		l.refused(t, ctx, term.AlreadyClosed, "longest age")
	})
	run(t, session.Config{MaxAge: time.Minute}, open, func(t *testing.T, l *lab) {
		l.lose(t)
		time.Sleep(time.Minute)
		l.refused(t, ctx, term.AlreadyClosed, "longest age")
	})
	key := session.OpenRequest{Target: term.Target{Auth: term.Auth{Method: "private_key", PrivateKeyPEM: sessiontest.Typed}}}
	run(t, session.Config{}, key, func(t *testing.T, l *lab) {
		l.lose(t)
		l.refused(t, ctx, term.InvalidArgument, "private key")
	})
	proxied := session.OpenRequest{Target: term.Target{SSH: term.SSHOptions{ProxyURL: "socks5://u:" + sessiontest.Typed + "@p"}}}
	run(t, session.Config{}, proxied, func(t *testing.T, l *lab) {
		l.lose(t)
		l.refused(t, ctx, term.Unsupported, "proxy")
	})
}

// The age of a session counts over all its connections, also while it is being reopened.
func TestAgeGoesOn(t *testing.T) {
	run(t, session.Config{MaxAge: 10 * time.Minute}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		began := time.Now()
		time.Sleep(8 * time.Minute)
		l.set(func() { l.fails = &term.Error{Kind: term.ConnectFailed, Msg: "refused"} })
		l.lose(t)
		l.reopen(t, session.ReopenRequest{Try: time.Hour})
		<-l.s.Ended()
		if end := l.s.Info().End; end.Code != session.EndMaxAge || time.Since(began) != 10*time.Minute {
			t.Errorf("the session ended after %v with %+v, want its age of ten minutes", time.Since(began), end)
		}
	})
}

// The lock outlives a connection that was lost, and another task cannot reopen or close the session meanwhile. Once it
// has expired, anyone may.
func TestLockStays(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{LockTTL: time.Minute}, func(t *testing.T, l *lab) {
		other := sessiontest.Task("t2")
		l.lose(t)
		l.refused(t, other, term.Locked, "t1")
		sessiontest.WantKind(t, l.s.ServerView().MayClose(other, false), term.Locked)
		if _, err := l.s.Heartbeat(sessiontest.Task("t1"), 2*time.Minute); err != nil {
			t.Errorf("heartbeat = %v, want the holder to keep the lock of a lost session", err)
		}
		time.Sleep(2 * time.Minute)
		if err := l.s.ServerView().MayClose(other, false); err != nil {
			t.Errorf("MayClose after the lock's end = %v", err)
		}
		if _, err := l.m.Reopen(other, session.ReopenRequest{Session: l.s}); err != nil {
			t.Errorf("Reopen after the lock's end = %v", err)
		}
		l.follow(t)
		if _, err := l.s.Lock(other, time.Hour); err != nil {
			t.Fatal(err)
		}
		l.s.Close(other, session.CloseOptions{})
		if _, held := l.s.Lease(); held {
			t.Error("the lock outlives a session that was closed")
		}
	})
	// A console needs its lock for all but reading, so it can be taken once the session has ended.
	run(t, session.Config{}, session.OpenRequest{Device: "r1-con"}, func(t *testing.T, l *lab) {
		l.lose(t)
		l.refused(t, sessiontest.Task("t1"), term.LockRequired, "console")
		if _, err := l.s.Lock(sessiontest.Task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		l.reopen(t, session.ReopenRequest{})
		joined, err := l.m.Open(t.Context(), session.OpenRequest{
			Target: term.Target{Protocol: "test", Host: "r1"}, Device: "r1-con",
		})
		if err != nil || joined.Session != l.s {
			t.Errorf("an open of the device = %+v, %v; want to join the reopened session", joined, err)
		}
		l.lose(t)
		if _, err := l.m.Open(t.Context(), session.OpenRequest{
			Target: term.Target{Protocol: "test", Host: "r1"}, Device: "r1-con",
		}); err != nil {
			t.Fatal(err)
		}
		l.refused(t, sessiontest.Task("t1"), term.Busy, "another session has the console")
	})
}

// The gate is asked again, and a session that is kept counts.
func TestJudgedAnew(t *testing.T) {
	denied := &term.Error{Kind: term.PolicyDenied, Msg: "r1 is closed"}
	var deny error
	gate := func(_ context.Context, a term.Action) (term.Ruling, error) {
		if a.Verb == term.VerbOpen {
			return term.Ruling{}, deny
		}
		return term.Ruling{}, nil
	}
	run(t, session.Config{Gate: gate, MaxSessions: 1}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		l.lose(t)
		deny = denied
		l.refused(t, t.Context(), term.PolicyDenied, "r1 is closed")
		deny = nil
		res, err := l.m.Open(t.Context(), sessiontest.Target("other"))
		if err != nil {
			t.Fatal(err)
		}
		l.refused(t, t.Context(), term.LimitExceeded, "1 sessions are open")
		res.Session.Close(t.Context(), session.CloseOptions{})
		l.set(func() { l.slow = time.Minute })
		if _, err := l.m.Reopen(t.Context(), session.ReopenRequest{Session: l.s, Wait: time.Second}); err != nil {
			t.Fatal(err)
		}
		_, err = l.m.Open(t.Context(), sessiontest.Target("other"))
		sessiontest.WantKind(t, err, term.LimitExceeded)
		opens := l.diary.Of(term.VerbOpen)
		if e := opens[len(opens)-2]; e.Detail != "reopen r1" || e.Refused != nil || e.Session != l.s.ID() {
			t.Errorf("the record of the reopen = %+v", e)
		}
		time.Sleep(time.Minute)
	})
}

// Each attempt has the environment of the client that reopens the session, as the first dial has that of its opener.
func TestEnvironmentOfCaller(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		l.lose(t)
		l.set(func() { l.agents, l.fails = nil, &term.Error{Kind: term.ConnectFailed, Msg: "refused"} })
		ctx := term.WithEnvironment(sessiontest.Task("t1"), term.NewEnvironment("", []string{"SSH_AUTH_SOCK=/caller"}))
		if _, err := l.m.Reopen(ctx, session.ReopenRequest{Session: l.s, Try: time.Minute}); err != nil {
			t.Fatal(err)
		}
		l.set(func() { l.fails = nil })
		time.Sleep(time.Minute)
		if l.follow(t); l.s.State() != session.Open || !slices.Equal(l.agents, []string{"/caller", "/caller"}) {
			t.Errorf("the session is %s, and the attempts had the agents %q, want open and twice the caller's", l.s.State(), l.agents)
		}
	})
}

// Of two calls at the same moment, one reopens the session.
func TestOneOfTwo(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		l.lose(t)
		errs := make(chan error, 8)
		for range 8 {
			go func() {
				_, err := l.m.Reopen(t.Context(), session.ReopenRequest{Session: l.s})
				errs <- err
			}()
		}
		done := 0
		for range 8 {
			if err := <-errs; err == nil {
				done++
			}
		}
		if l.follow(t); done != 1 || l.dials() != 2 || l.m.Live() != 1 || l.s.State() != session.Open {
			t.Errorf("%d calls reopened the session with %d dials; %d live", done, l.dials(), l.m.Live())
		}
	})
}

// A canceled call leaves the attempts, which the caller knows how to end.
func TestCanceledCall(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		l.set(func() { l.slow = time.Minute })
		l.lose(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.m.Reopen(ctx, session.ReopenRequest{Session: l.s})
		if e := sessiontest.WantKind(t, err, term.Canceled); !strings.Contains(e.Msg, "goes on") {
			t.Errorf("the error is %v", e)
		}
		l.follow(t)
		time.Sleep(time.Minute)
		if synctest.Wait(); l.s.State() != session.Open {
			t.Errorf("the session is %s, want open", l.s.State())
		}
	})
}

// A warning names another host key that the policy accepts.
func TestOtherHostKey(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		first := l.s
		l.lose(t)
		l.reopen(t, session.ReopenRequest{})
		if w := l.s.Info().About.Warnings; len(w) != 0 {
			t.Errorf("warnings about the same key: %q", w)
		}
		l.set(func() { l.key = "SHA256:two" })
		l.lose(t)
		if _, err := l.m.Reopen(t.Context(), session.ReopenRequest{Session: first}); err != nil {
			t.Errorf("Reopen of the first Session with the id = %v", err)
		}
		l.follow(t)
		if w := l.s.Info().About.Warnings; len(w) != 1 || !strings.Contains(w[0], "SHA256:two, and was SHA256:one") {
			t.Errorf("warnings = %q", w)
		}
		if i := l.s.Info(); i.Opens != 3 || len(i.Gaps) != 1 { // nothing came between the two
			t.Errorf("the connections are %+v", i.Connections)
		}
	})
}

// A command in the terminal ends with its connection, and its result stays. The new terminal is not taken for the old
// one's prompt.
func TestCommandAtTheGap(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		sessiontest.Put(t, l.last(), "r1# ")
		go func() { _, _ = io.Copy(io.Discard, l.far[0]) }()
		request := session.ExecRequest{
			Command: "show all", Lane: session.LaneTerminal, Class: session.ClassDevice, NoMarker: true, Wait: time.Second,
			Expect: session.Expect{Prompt: sessiontest.Re(`r1# $`)},
		}
		res := sessiontest.Run(t, l.s, request)
		if res.Done != session.DoneRunning {
			t.Fatalf("the command = %+v, want it running", res)
		}
		sessiontest.Put(t, l.last(), "show all\r\npart of it\r\nr1# ")
		l.lose(t)
		l.reopen(t, session.ReopenRequest{})
		sessiontest.Put(t, l.last(), "new output")
		again, err := l.s.ContinueExec(t.Context(), res.ID, session.ContinueRequest{Wait: time.Minute})
		if text, _, _ := again.Clean(again.Stdout); err != nil || again.Done == session.DoneRunning ||
			!strings.Contains(string(text), "part of it") || strings.Contains(string(text), "new output") {
			t.Errorf("the result after the gap = %q, %s, %v", text, again.Done, err)
		}
		if running := l.s.Info().Running; len(running) != 0 {
			t.Errorf("running commands: %v", running)
		}
		request.Timeout = 10 * time.Second
		_, err = l.s.Exec(t.Context(), request)
		sessiontest.WantKind(t, err, term.Busy) // no prompt is there, whatever the old terminal has shown
	})
}

// The echo of a secret that the gap has cut stays out of the output, before it and behind it.
func TestSecretAtTheGap(t *testing.T) {
	run(t, session.Config{}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		ctx := t.Context()
		go func() { _, _ = io.Copy(io.Discard, l.far[0]) }()
		if _, err := l.s.Write(ctx, []byte("open-sesame-77\r"), session.WriteOptions{Sensitive: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(l.last(), "open-ses"); err != nil {
			t.Fatal(err)
		}
		l.lose(t)
		l.reopen(t, session.ReopenRequest{})
		sessiontest.Put(t, l.last(), "login: ")
		k := l.s.Read(ctx, session.ReadRequest{Cursor: 0, NoWait: true})
		if want := "********login: "; string(k.Data) != want {
			t.Errorf("the output = %q, want %q", k.Data, want)
		}
	})
}

// Calls of all kinds may meet a session while it is lost and reopened, again and again: none hangs, nothing that one
// connection was given reaches another, and nothing is left behind.
func TestStorm(t *testing.T) {
	run(t, session.Config{Retention: time.Minute}, session.OpenRequest{}, func(t *testing.T, l *lab) {
		id, ctx := l.s.ID(), t.Context()
		stop := time.Now().Add(20 * time.Second)
		var all sync.WaitGroup
		repeat := func(pause time.Duration, do func(s *session.Session)) {
			all.Go(func() {
				for time.Now().Before(stop) {
					if s, err := l.m.Get(id); err == nil {
						do(s)
					}
					time.Sleep(pause)
				}
			})
		}
		repeat(70*time.Millisecond, func(*session.Session) {
			l.set(func() { l.fails = nil })
			far := l.last()
			_, _ = io.WriteString(far, "r1# \x1b[")
			_ = far.Close()
		})
		repeat(90*time.Millisecond, func(*session.Session) {
			l.set(func() { l.fails = &term.Error{Kind: term.ConnectFailed, Msg: "refused"} })
		})
		for range 2 {
			repeat(11*time.Millisecond, func(s *session.Session) {
				_, _ = l.m.Reopen(ctx, session.ReopenRequest{Session: s, Try: 3 * time.Second})
			})
		}
		repeat(3*time.Millisecond, func(s *session.Session) {
			k := s.Read(ctx, session.ReadRequest{Cursor: 0, Until: sessiontest.Re(`never`), Timeout: 50 * time.Millisecond, Clean: true})
			_, _ = k.Clean()
		})
		repeat(5*time.Millisecond, func(s *session.Session) {
			_, _ = s.Write(ctx, []byte("x"), session.WriteOptions{Timeout: 20 * time.Millisecond})
		})
		repeat(7*time.Millisecond, func(s *session.Session) {
			_, _ = s.Exec(ctx, session.ExecRequest{Command: "c", Timeout: 30 * time.Millisecond})
		})
		repeat(13*time.Millisecond, func(s *session.Session) {
			_, _ = s.Lock(sessiontest.Task("t1"), time.Millisecond)
			s.Screen(ctx, 0)
			_, _ = s.Info(), s.Waiting()
			s.Search(ctx, session.SearchRequest{Pattern: sessiontest.Re(`r1`), Clean: true})
		})
		repeat(17*time.Millisecond, func(s *session.Session) {
			waiting, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			_, _ = await.Any(waiting, []await.Entry{{Session: s, Opens: true, Read: session.ReadRequest{Cursor: session.Latest}}})
		})
		all.Wait()
		time.Sleep(10 * time.Second) // for the commands that were stopped last
		l.follow(t)
		if i := l.s.Info(); i.Opens < 20 || len(i.Gaps) < 20 || !slices.IsSorted(i.Gaps) || i.Readers != 0 || len(i.Running) != 0 {
			t.Errorf("after the storm: %d opens, %d gaps, %d readers, running %v", i.Opens, len(i.Gaps), i.Readers, i.Running)
		}
		l.s.Close(ctx, session.CloseOptions{})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if l.m.Live() != 0 || l.m.Ended() != 0 || l.m.Buffered() != 0 {
			t.Errorf("%d sessions live, %d ended, %d bytes are taken; want none", l.m.Live(), l.m.Ended(), l.m.Buffered())
		}
	})
}
