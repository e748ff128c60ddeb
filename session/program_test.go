package session

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// A fakeProgram is the result of a Dialer of this machine for a program without a terminal. It runs for a while, or
// until it gets a request to end.
type fakeProgram struct {
	runs time.Duration
	out  string
	exit term.Exit
	done chan struct{}
	once sync.Once
}

func newFakeProgram(out string, runs time.Duration) *fakeProgram {
	return &fakeProgram{
		runs: runs,
		out:  out,
		exit: term.Exit{Started: true, Known: true, Code: 3, Usage: term.Usage{CPU: time.Millisecond}},
		done: make(chan struct{}),
	}
}

func (p *fakeProgram) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	defer p.once.Do(func() { close(p.done) })
	_, _ = io.WriteString(stdout, p.out+string(r.Stdin))
	_, _ = io.WriteString(stderr, "errors")
	select {
	case <-time.After(p.runs):
	case <-ctx.Done():
		time.Sleep(r.Grace)
		return term.Exit{Started: true, Known: true, Code: 137, Signal: "KILL", Killed: "yes"}, nil
	}
	return p.exit, nil
}

func (p *fakeProgram) Read([]byte) (int, error) { <-p.done; return 0, io.EOF }
func (p *fakeProgram) Write(b []byte) (int, error) {
	return 0, errors.ErrUnsupported
}
func (p *fakeProgram) Resize(int, int) error    { return errors.ErrUnsupported }
func (p *fakeProgram) Wait() (term.Exit, error) { return p.exit, nil }
func (p *fakeProgram) Close() error             { p.once.Do(func() { close(p.done) }); return nil }
func (p *fakeProgram) Describe() term.Description {
	return term.Description{Process: &term.Process{PID: 4711, Dir: "/here", Argv: []string{"tool"}}}
}

func runManager(c Config, p *fakeProgram, err error) *Manager {
	c.Dialers = map[string]term.Dialer{
		"local": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
			if err != nil {
				return nil, err
			}
			return p, nil
		},
	}
	return NewManager(c)
}

func request(argv ...string) RunRequest {
	return RunRequest{
		Target: term.Target{
			Protocol: "local",
			Local:    term.LocalOptions{Argv: argv, Env: []term.EnvVar{{Name: "TOKEN", Value: "hunter2"}}},
		},
		Stdin: []byte("in"),
	}
}

// A program that ends in time leaves nothing behind that anybody could ask for.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen collector
		m := runManager(Config{Observers: []term.Observer{&seen}}, newFakeProgram("out", time.Second), nil)
		r, err := m.Run(t.Context(), request("tool", "a b"))
		if err != nil || r.Session != "" || r.ID != "" || string(r.Stdout.Bytes()) != "outin" ||
			string(r.Stderr.Bytes()) != "errors" ||
			r.Exit.Code != 3 ||
			r.Done != DoneExitStatus ||
			r.Process.PID != 4711 ||
			r.Duration != time.Second {
			t.Errorf("%+v, %v", r, err)
		}
		if l := m.List(); len(l) != 0 {
			t.Errorf("left: %+v", l)
		}
		synctest.Wait()
		var line []string
		for _, e := range seen.all() {
			line = append(line, string(e.Verb)+" "+e.Command+" "+e.Detail)
			if strings.Contains(e.Detail+e.Command, "hunter2") {
				t.Errorf("an event shows a value: %+v", e)
			}
		}
		if got := strings.Join(line, "\n"); !strings.Contains(got, "open  env TOKEN\n") ||
			!strings.Contains(got, "exec tool 'a b' channel\n") ||
			!strings.Contains(got, "exec_end  channel") ||
			!strings.HasSuffix(got, "gone  ") {
			t.Errorf("the events are\n%s", got)
		}
		m.Close(t.Context())
	})
}

// One that does not is a session, until it has ended and its output was kept for a while.
func TestRunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runManager(Config{Retention: time.Minute}, newFakeProgram("out", time.Hour), nil)
		req := request("/usr/bin/tool")
		req.Timeout, req.Wait = 2*time.Hour, time.Minute
		r, err := m.Run(t.Context(), req)
		if err != nil || r.Done != DoneRunning || r.ID == "" || !strings.HasPrefix(r.Session, "tool-") {
			t.Fatalf("%+v, %v", r, err)
		}
		s, err := m.Get(r.Session)
		if err != nil || s.Info().Host != "localhost" || len(s.Info().Running) != 1 {
			t.Fatalf("%+v, %v", s.Info(), err)
		}
		x, err := s.ContinueExec(t.Context(), r.ID, ContinueRequest{Wait: 2 * time.Hour})
		if err != nil || x.Exit.Code != 3 || x.Done != DoneExitStatus {
			t.Errorf("%+v, %v", x, err)
		}
		<-s.Ended()
		if end := s.Info().End; end.Reason != "the program exited with status 3" || end.Exit.Usage.CPU != time.Millisecond {
			t.Errorf("end = %+v, want exit status 3 and 1ms of CPU time", end)
		}
		time.Sleep(2 * time.Minute)
		if _, err := m.Get(r.Session); !errors.Is(err, term.NotFound) {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// The result of one that takes too long waits for the end of its grace.
func TestRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runManager(Config{}, newFakeProgram("out", time.Hour), nil)
		req := request("tool")
		req.Timeout, req.Grace = time.Second, 3*time.Second
		r, err := m.Run(t.Context(), req)
		if err != nil || !r.TimedOut || r.Exit.Signal != "KILL" || r.Exit.Killed != "yes" || r.Duration != 4*time.Second ||
			r.Session != "" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A program that cannot or may not be started leaves nothing behind.
func TestRunFails(t *testing.T) {
	wrong := &term.Error{Kind: term.InvalidArgument, Msg: "no such program"}
	for _, c := range []struct {
		config Config
		dial   error
		kind   term.Kind
	}{
		{Config{}, wrong, term.InvalidArgument},
		{Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Protocol == "local" && a.Target != nil && a.Target.Local.Argv[0] == "tool" {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no"}
			}
			return term.Ruling{}, nil
		}}, nil, term.PolicyDenied},
		{Config{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Verb == term.VerbExec && a.Command == "tool" {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no"}
			}
			return term.Ruling{}, nil
		}}, nil, term.PolicyDenied},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := runManager(c.config, newFakeProgram("", 0), c.dial)
			if r, err := m.Run(t.Context(), request("tool")); !errors.Is(err, c.kind) {
				t.Errorf("%+v, %v; want %s", r, err, c.kind)
			}
			if l := m.List(); len(l) != 0 {
				t.Errorf("left: %+v", l)
			}
		})
	}
}

// A terminal on this machine stays, once its program has ended, until it is closed, or too many do.
func TestExitedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewManager(
			Config{
				MaxSessions: 2,
				Retention:   time.Minute,
				Dialers: map[string]term.Dialer{
					"local": func(context.Context, term.Target, term.Prompter, term.Approve) (term.Transport, error) {
						p := newFakeProgram("", 0)
						_ = p.Close()
						return p, nil
					},
				},
			},
		)
		var ids []string
		for range 4 {
			r, err := m.Open(
				t.Context(),
				OpenRequest{Target: term.Target{Protocol: "local", Local: term.LocalOptions{Argv: []string{"sh"}}}},
			)
			if err != nil {
				t.Fatal(err)
			}
			<-r.Session.Ended()
			ids = append(ids, r.Session.ID())
		}
		time.Sleep(time.Hour)
		for i, id := range ids {
			if _, err := m.Get(id); (err == nil) != (i >= 2) {
				t.Errorf("session %d of 4 after an hour: %v", i, err)
			}
		}
		s, err := m.Get(ids[3])
		if err != nil {
			t.Fatal(err)
		}
		if !s.Close(t.Context(), CloseOptions{}) {
			t.Error("it had not ended")
		}
		time.Sleep(30 * time.Second)
		if _, err := m.Get(ids[3]); err != nil {
			t.Errorf("half a minute after close: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := m.Get(ids[3]); err == nil {
			t.Error("it was closed, and is still there")
		}
		if _, err := m.Get(ids[2]); err != nil {
			t.Errorf("the other one: %v", err)
		}
	})
}

// A collector keeps all events.
type collector struct {
	mu     sync.Mutex // guards events
	events []term.Event
}

func (c *collector) Observe(e term.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

func (c *collector) all() []term.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}

// A program run with Once leaves nothing behind, even if the call was canceled.
func TestRunOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		runs    time.Duration
		out     string
		cancel  bool
		takes   time.Duration
		kind    term.Kind
		code    int
		timeout bool
	}{
		{"ends", time.Second, "out", false, time.Second, "", 3, false},
		{"has more than fits", time.Second, strings.Repeat("x", 100<<10), false, time.Second, "", 3, false},
		{"takes too long", time.Hour, "out", false, 62 * time.Second, "", 137, true},
		{"is canceled", time.Hour, "out", true, 12 * time.Second, term.Canceled, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeProgram(c.out, c.runs)
				m := runManager(Config{}, p, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel {
					time.AfterFunc(10*time.Second, cancel)
				}
				began, req := time.Now(), request("tool")
				req.Once = true
				r, err := m.Run(ctx, req)
				if took := time.Since(began); took != c.takes || term.KindOf(err) != c.kind || r.Exit.Code != c.code ||
					r.TimedOut != c.timeout ||
					r.Session != "" ||
					r.ID != "" {
					t.Errorf("after %s: %+v, %v", took, r, err)
				}
				select {
				case <-p.done:
				default:
					t.Error("the program still runs")
				}
				if l := m.List(); len(l) != 0 || m.Buffered() != 0 {
					t.Errorf("left: %d bytes of %+v", m.Buffered(), l)
				}
				m.Close(t.Context())
			})
		})
	}
}

// TestProgramOfTheRuling checks that the dialer gets the file that the Gate has judged.
func TestProgramOfTheRuling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got term.LocalOptions
		program := newFakeProgram("out", time.Second)
		m := NewManager(Config{
			Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
				return term.Ruling{Program: "/judged/" + string(a.Verb)}, nil
			},
			Dialers: map[string]term.Dialer{
				"local": func(_ context.Context, t term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
					got = t.Local
					return program, nil
				},
			},
		})
		if _, err := m.Run(t.Context(), request("tool", "a b")); err != nil {
			t.Fatal(err)
		}
		if got.Program != "/judged/open" || len(got.Argv) != 2 || got.Argv[0] != "tool" {
			t.Errorf("the dialer got %q for %q, want /judged/open for tool", got.Program, got.Argv)
		}
		m.Close(t.Context())
	})
}
