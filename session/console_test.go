package session_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// A machine knows who has which device, as Config.Devices.Reserve.
type machine struct {
	mu     sync.Mutex
	owners map[string]string // session ids, by device
	taken  int
}

func (m *machine) take(_ context.Context, device, id string) (session.Reservation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if owner := m.owners[device]; owner != "" {
		return session.Reservation{}, &term.Error{
			Op:    "open",
			Kind:  term.Locked,
			Msg:   "another process has it",
			Facts: term.Facts{term.DeviceOwner{PID: 7, SessionID: owner}},
		}
	}
	if m.owners == nil {
		m.owners = make(map[string]string)
	}
	m.owners[device] = id
	m.taken++
	return session.Reservation{Release: func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.owners, device)
	}}, nil
}

func (m *machine) owner(device string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[device]
}

// consoleOf asks for the console of a device.
func consoleOf(device string) session.OpenRequest {
	r := target("terminal-server")
	r.Device = device
	return r
}

// slowly dials after a second, and counts.
func slowly(dials *int, far chan<- net.Conn) term.Dialer {
	return func(ctx context.Context, t term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
		*dials++ // one after the other, or the race detector speaks
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return dialed(far)(ctx, t, p, nil)
	}
}

// However many open a device's console at once, it is dialed once, and all get that session.
func TestConsoleOpenedOnce(t *testing.T) {
	const callers = 50
	synctest.Test(t, func(t *testing.T) {
		var dials int
		var world machine
		var seen diary
		m := manage(
			t,
			slowly(&dials, nil),
			session.Config{Devices: session.DeviceOptions{Reserve: world.take}, MaxSessions: 1, Observers: []term.Observer{&seen}},
		)
		results := make([]session.OpenResult, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				r := consoleOf("switch-001")
				r.LockTTL = time.Minute
				var err error
				if results[i], err = m.Open(task("t"), r); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		made := 0
		for _, r := range results {
			if r.Session != results[0].Session || r.State != session.Open {
				t.Errorf("console = %+v, want it open, and the same session for every caller", r)
			}
			if !r.Existing {
				made++
			}
			if r.Existing != (r.Lease == nil) {
				t.Errorf("existing %v, with lease %+v", r.Existing, r.Lease)
			}
		}
		id := results[0].Session.ID()
		if dials != 1 || made != 1 || world.taken != 1 || world.owner("switch-001") != id {
			t.Errorf("%d dials, %d made, taken %d times by %q", dials, made, world.taken, world.owner("switch-001"))
		}
		if i := results[0].Session.Info(); i.Device != "switch-001" || i.Host != "terminal-server" ||
			!strings.HasPrefix(id, "switch-001-") {
			t.Errorf("info = %+v, want device switch-001 on host terminal-server, named after the device", i)
		}
		if e := seen.Of(term.VerbOpen); len(e) != callers { // each call is on record
			t.Errorf("%d open events", len(e))
		}
		other, err := m.Open(task("t"), consoleOf("switch-002"))
		wantKind(t, err, term.LimitExceeded)
		if other.Session != nil || world.owner("switch-002") != "" {
			t.Errorf("%+v; the device belongs to %q", other, world.owner("switch-002"))
		}
	})
}

// A console that has ended, or is being closed, is never handed out: the next open makes a new one.
func TestConsoleReopened(t *testing.T) {
	for name, end := range map[string]func(s *session.Session, far net.Conn){
		"closed":      func(s *session.Session, _ net.Conn) { s.Close(task("t"), session.CloseOptions{}) },
		"lost":        func(_ *session.Session, far net.Conn) { far.Close(); synctest.Wait() },
		"still there": func(s *session.Session, _ net.Conn) { go s.Close(task("t"), session.CloseOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := make(chan net.Conn, 2)
				var world machine
				m := manage(t, dialed(far), session.Config{Devices: session.DeviceOptions{Reserve: world.take}})
				first, err := m.Open(task("t"), consoleOf("d"))
				if err != nil || first.Existing {
					t.Fatalf("%+v, %v", first, err)
				}
				end(first.Session, <-far)
				synctest.Wait()
				second, err := m.Open(task("t"), consoleOf("d"))
				if err != nil || second.Existing || second.Session == first.Session || second.State != session.Open {
					t.Fatalf("%+v, %v", second, err)
				}
				if world.owner("d") != second.Session.ID() || world.taken != 2 {
					t.Errorf("the device belongs to %q, taken %d times", world.owner("d"), world.taken)
				}
				if _, err := m.Get(first.Session.ID()); err != nil { // it can still be read
					t.Error(err)
				}
				second.Session.Close(task("t"), session.CloseOptions{})
				if o := world.owner("d"); o != "" {
					t.Errorf("the device still belongs to %q", o)
				}
			})
		})
	}
}

// While a console is being closed, an open waits for the end: the device takes one connection.
func TestConsoleOpenedWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials int
		var world machine
		var seen diary
		hang := make(chan struct{})
		m := manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			if dials++; dials == 1 {
				<-hang // a dialer that does not hear
			}
			return dialed(nil)(ctx, tg, p, nil)
		}, session.Config{Devices: session.DeviceOptions{Reserve: world.take}, Observers: []term.Observer{&seen}})
		r := consoleOf("d")
		r.Wait = time.Second
		first, err := m.Open(task("t"), r)
		if err != nil || first.State != session.Connecting {
			t.Fatalf("%+v, %v", first, err)
		}
		go first.Session.Close(task("t"), session.CloseOptions{}) // takes five seconds
		synctest.Wait()
		took := since(func() { _, err = m.Open(task("t"), r) })
		wantKind(t, err, term.Busy)
		if took != time.Second {
			t.Errorf("BUSY after %v", took)
		}
		ctx, cancel := context.WithTimeout(task("t"), time.Second)
		defer cancel()
		_, err = m.Open(ctx, consoleOf("d"))
		wantKind(t, err, term.Canceled)
		second, err := m.Open(task("t"), consoleOf("d"))
		if err != nil || second.Existing || second.Session == first.Session || dials != 2 {
			t.Errorf("%+v, %v, %d dials", second, err, dials)
		}
		if e := seen.Of(term.VerbOpen); len(e) != 4 || !errors.Is(e[1].Refused, term.Busy) ||
			!errors.Is(e[2].Refused, term.Canceled) ||
			e[1].Host != "terminal-server" {
			t.Errorf("events %+v", e)
		}
		close(hang)
	})
}

// A caller that waits for another's open shares its outcome, unless the other gave up.
func TestConsoleJoin(t *testing.T) {
	refused := &term.Error{Op: "dial", Kind: term.ConnectFailed, Msg: "refused"}
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		m := manage(t, func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			dials++
			time.Sleep(time.Second)
			return nil, refused
		}, session.Config{})
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if r, err := m.Open(task("t"), consoleOf("d")); !errors.Is(err, term.ConnectFailed) || r.Session != nil ||
					r.Existing {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		wg.Wait()
		if dials != 1 {
			t.Errorf("%d dials", dials)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var dials int
		m := manage(t, slowly(&dials, nil), session.Config{})
		ctx, giveUp := context.WithCancel(task("t"))
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := m.Open(ctx, consoleOf("d"))
			wantKind(t, err, term.Canceled)
		})
		synctest.Wait()
		made := make(chan bool, 5)
		for range cap(made) {
			wg.Go(func() {
				r, err := m.Open(task("t"), consoleOf("d"))
				if err != nil || r.State != session.Open {
					t.Errorf("%+v, %v", r, err)
				}
				made <- !r.Existing
			})
		}
		impatient, cancel := context.WithTimeout(task("t"), time.Millisecond)
		defer cancel()
		_, err := m.Open(impatient, consoleOf("d")) // ends this call alone
		wantKind(t, err, term.Canceled)
		giveUp()
		wg.Wait()
		close(made)
		n := 0
		for m := range made {
			if m {
				n++
			}
		}
		if dials != 2 || n != 1 {
			t.Errorf("%d dials, %d sessions made by those who waited", dials, n)
		}
	})
}

// A question of the login is shown to all who open the console.
func TestConsolePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			if _, err := p.Prompt(ctx, term.Prompt{Kind: "password", Text: "Password: "}); err != nil {
				return nil, err
			}
			return dialed(nil)(ctx, tg, p, nil)
		}, session.Config{})
		first, err := m.Open(task("t1"), consoleOf("d"))
		if err != nil || first.Prompt == nil {
			t.Fatalf("%+v, %v", first, err)
		}
		second, err := m.Open(task("t2"), consoleOf("d"))
		if err != nil || !second.Existing || second.Prompt == nil || second.Session != first.Session {
			t.Fatalf("%+v, %v", second, err)
		}
		s := first.Session
		_, err = s.Write(task("t2"), []byte(typed+"\r"), session.WriteOptions{})
		wantKind(t, err, term.LockRequired)
		if _, err := s.Lock(task("t2"), time.Minute); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Write(task("t2"), []byte(typed+"\r"), session.WriteOptions{}); err != nil || !r.Answered {
			t.Fatalf("%+v, %v", r, err)
		}
		synctest.Wait()
		if s.State() != session.Open {
			t.Errorf("state %s", s.State())
		}
	})
}

// Another process has the device: its owner is named, nothing is dialed, and the refusal is on record.
func TestConsoleOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var world machine
		var seen diary
		release, err := world.take(t.Context(), "d", "theirs")
		if err != nil {
			t.Fatal(err)
		}
		m := manage(t, dialed(nil), session.Config{Devices: session.DeviceOptions{Reserve: world.take}, Observers: []term.Observer{&seen}})
		for range 3 {
			r, err := m.Open(task("t"), consoleOf("d"))
			e := wantKind(t, err, term.Locked)
			if o := term.FactOf[term.DeviceOwner](e); r.Session != nil || o.PID != 7 || o.SessionID != "theirs" {
				t.Errorf("%+v, %+v", r, e.Facts)
			}
		}
		if e := seen.Of(term.VerbOpen); len(e) != 3 || !errors.Is(e[0].Refused, term.Locked) {
			t.Errorf("events %+v", e)
		}
		if l := m.List(); len(l) != 0 || world.owner("d") != "theirs" {
			t.Errorf("sessions %+v, owner %q", l, world.owner("d"))
		}
		release.Release()
		if r, err := m.Open(task("t"), consoleOf("d")); err != nil || r.Existing {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// The Gate judges each call that opens a console, those that get the session of another too.
func TestConsoleGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, dialed(nil), session.Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Actor.Task == "bad" {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "rule 7 forbids it"}
			}
			return term.Ruling{}, nil
		}})
		for range 2 {
			_, err := m.Open(task("bad"), consoleOf("d"))
			wantKind(t, err, term.PolicyDenied)
			if _, err := m.Open(task("good"), consoleOf("d")); err != nil {
				t.Fatal(err)
			}
		}
		if l := m.List(); len(l) != 1 {
			t.Errorf("sessions = %+v, want one", l)
		}
	})
}

// A console takes a lock for all but reading, even while its lock is free.
func TestConsoleNeedsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		far := make(chan net.Conn, 1)
		signals := 0
		m := manage(t, func(ctx context.Context, tg term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			tr, err := dialed(far)(ctx, tg, p, nil)
			return &shell{Plain: *tr.(*plain), OnSignal: func(string) error { signals++; return nil }}, err
		}, session.Config{Observers: []term.Observer{&seen}})
		r, err := m.Open(task("t1"), consoleOf("d"))
		if err != nil {
			t.Fatal(err)
		}
		s := r.Session
		refused := func(ctx context.Context) {
			t.Helper()
			for _, call := range calls {
				if e := wantKind(t, call.Do(ctx, s), term.LockRequired); !strings.Contains(e.Message(), "Session.Lock") {
					t.Errorf("%s: %v", call.Verb, e)
				}
			}
			wantKind(t, s.ServerView().MayClose(ctx, false), term.LockRequired)
		}
		refused(task("t1"))
		refused(context.Background()) // without a task
		if n := len(seen.Of(term.VerbWrite)); n != 2 {
			t.Errorf("%d refused writes are on record", n)
		}
		put(t, <-far, "login: ")
		if c := s.Read(t.Context(), session.ReadRequest{NoWait: true}); string(c.Data) != "login: " {
			t.Errorf("read %q", c.Data)
		}
		if _, err := s.Lock(task("t1"), time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := s.Resize(task("t1"), 80, 24); err != nil {
			t.Error(err)
		}
		if err := s.Signal(task("t1"), "INT"); err != nil || signals != 1 {
			t.Errorf("%v, %d signals", err, signals)
		}
		if w, err := s.Write(task("t1"), []byte("admin\r"), session.WriteOptions{}); err != nil || w.Written != 6 {
			t.Errorf("%+v, %v", w, err)
		}
		wantKind(t, s.Resize(task("t2"), 80, 24), term.Locked)
		time.Sleep(time.Minute) // the lock expires: any task may lock, none may write
		refused(task("t1"))
		if err := s.ServerView().MayClose(task("t2"), true); err != nil { // the operator's choice
			t.Error(err)
		}
	})
}

// Without Devices a console is one among the sessions of its Manager, and the end of the Manager is that of all.
func TestConsoleWithoutMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage(t, dialed(nil), session.Config{})
		first, err := m.Open(task("t"), consoleOf("d"))
		if err != nil {
			t.Fatal(err)
		}
		second, err := m.Open(task("t"), consoleOf("d"))
		if err != nil || second.Session != first.Session || !second.Existing {
			t.Errorf("%+v, %v", second, err)
		}
		m.Close(t.Context())
		_, err = m.Open(task("t"), consoleOf("d"))
		wantKind(t, err, term.Canceled)
	})
}

// A line of this machine has one session, however it is named, and whatever else the calls ask for. It is no console: it
// needs no lock, and no name of a device is reserved.
func TestOneSessionOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials int
		var world machine
		m := manage(t, slowly(&dials, nil), session.Config{Devices: session.DeviceOptions{
			Reserve: world.take,
			Line:    func(t term.Target) string { return strings.TrimPrefix(t.Serial.Path, "/link/") },
		}})
		of := func(path, device string) session.OpenRequest {
			r := target("")
			r.Target.Serial.Path, r.Device = path, device
			return r
		}
		first, err := m.Open(task("t"), of("tty0", ""))
		if err != nil {
			t.Fatal(err)
		}
		s := first.Session
		if i := s.Info(); i.Device != "" || i.Host != "tty0" || !strings.HasPrefix(s.ID(), "tty0-") || world.taken != 0 {
			t.Errorf("the session of a line = %+v, with %d devices taken", i, world.taken)
		}
		if _, err := s.Write(t.Context(), []byte("x"), session.WriteOptions{Timeout: time.Millisecond}); errors.Is(err, term.LockRequired) {
			t.Errorf("a write without a lock: %v", err)
		}
		for _, r := range []session.OpenRequest{of("/link/tty0", ""), of("tty0", "sw1")} {
			if again, err := m.Open(task("t2"), r); err != nil || again.Session != s || !again.Existing {
				t.Errorf("an open of %s = %+v, %v; want to share the session", r.Target.Serial.Path, again, err)
			}
		}
		if other, err := m.Open(task("t"), of("tty1", "")); err != nil || other.Session == s {
			t.Errorf("another line = %+v, %v", other, err)
		}
		s.Close(t.Context(), session.CloseOptions{})
		console, err := m.Open(task("t"), of("/link/tty0", "sw1"))
		if err != nil || console.Session == s || console.Existing || world.owner("sw1") != console.Session.ID() {
			t.Fatalf("the console of a line that is free again = %+v, %v", console, err)
		}
		if dials != 3 {
			t.Errorf("%d dials, want 3", dials)
		}
	})
}

// TestLineUnderAnotherName: a line that is reopened may be another device than before. A new device with the old name
// is not taken for it.
func TestLineUnderAnotherName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 9)
		var lines sync.Map
		leads := func(t term.Target) string {
			device, _ := lines.Load(t.Serial.Path)
			name, _ := device.(string)
			return name
		}
		lines.Store("by-id", "tty0")
		m := manage(t, func(ctx context.Context, to term.Target, p term.Prompter, a term.Approve) (term.Transport, error) {
			if to.Host == "" && leads(to) == "" {
				return nil, &term.Error{Op: "open", Kind: term.ConnectFailed, Msg: "it is not there"}
			}
			return dialed(far)(ctx, to, p, a)
		}, session.Config{Devices: session.DeviceOptions{Line: leads}})
		open := func(path string) *session.Session {
			t.Helper()
			r := target("")
			r.Target.Serial.Path = path
			res, err := m.Open(task("t"), r)
			if err != nil {
				t.Fatal(err)
			}
			return res.Session
		}
		first := open("by-id")
		(<-far).Close()
		synctest.Wait()
		lines.Delete("by-id")
		lines.Store("other", "tty0")
		reopening, err := m.Reopen(task("t"), session.ReopenRequest{Session: first, Try: time.Minute})
		if err != nil || reopening.State != session.Connecting {
			t.Fatalf("reopen without the line = %+v, %v", reopening, err)
		}
		other := open("other")
		if other.ID() == first.ID() {
			t.Fatal("the line that has the name now = the session that waits for the one before")
		}
		lines.Store("by-id", "tty1")
		lines.Store("direct", "tty1")
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := reopening.Session.State(); st != session.Open {
			t.Fatalf("the reopened session is %s, want open", st)
		}
		for path, want := range map[string]string{"other": other.ID(), "by-id": first.ID(), "direct": first.ID()} {
			if got := open(path); got.ID() != want {
				t.Errorf("an open of %s = %s, want %s", path, got.ID(), want)
			}
		}
		r := target("elsewhere")
		r.Device = "tty1"
		if res, err := m.Open(task("t"), r); err != nil || res.Existing {
			t.Errorf("the console of a device with the name of a line = %+v, %v; want a session of its own", res, err)
		}
		reopening.Session.Close(task("t"), session.CloseOptions{})
		if again := open("direct"); again.ID() == first.ID() {
			t.Error("the line has its session still after that was closed")
		}
	})
}
