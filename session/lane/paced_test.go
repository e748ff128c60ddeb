package lane_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/paced"
	"ptyctl/term"
)

// A router reads lines as network devices do, and works at each for a while.
type router struct {
	work  time.Duration
	reply func(line string) string // nil: nothing

	mu    sync.Mutex // guards lines
	lines []string
}

func (r *router) serve(far net.Conn) {
	const prompt = "r1(config)#"
	_, _ = far.Write([]byte(prompt))
	buf := make([]byte, 256)
	line := ""
	for {
		n, err := far.Read(buf)
		if err != nil {
			return
		}
		for _, b := range buf[:n] {
			if b != '\r' {
				line += string(b)
				_, _ = far.Write([]byte{b})
				continue
			}
			_, _ = far.Write([]byte("\r\n"))
			time.Sleep(r.work)
			r.mu.Lock()
			r.lines = append(r.lines, line)
			r.mu.Unlock()
			if r.reply != nil {
				if text := r.reply(line); text != "" {
					_, _ = far.Write([]byte(text + "\r\n"))
				}
			}
			_, _ = far.Write([]byte(prompt))
			line = ""
		}
	}
}

func (r *router) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

var ciscoErrors = []*regexp.Regexp{regexp.MustCompile(`(?m)^% Invalid[^\r\n]*`)}

// atRouter runs f in a bubble with a session on a router.
func atRouter(t *testing.T, r *router, o session.Options, f func(t *testing.T, s *session.Session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		near, far := widePipe()
		s := session.New(&plain{ReadWriteCloser: near}, o)
		var served sync.WaitGroup
		served.Go(func() { r.serve(far) })
		defer served.Wait()
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		if err := s.SetExpect(t.Context(), session.Expect{
			Class: session.ClassDevice, Prompt: re(`^r1(?:\(config\))?[>#]$`), Errors: ciscoErrors,
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		f(t, s)
	})
}

func configLines(n int) (text string, lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("ip route 10.0.%d.0 255.255.255.0 192.0.2.1", i))
	}
	return strings.Join(lines, "\n"), lines
}

// Several lines for a device are typed one by one, and the output has their answers.
func TestExecLines(t *testing.T) {
	r := &router{work: 60 * time.Millisecond, reply: func(line string) string {
		switch line {
		case "show clock":
			return "12:00:00.000 UTC"
		case "bad":
			return "% Invalid input detected at '^' marker."
		}
		return ""
	}}
	atRouter(t, r, session.Options{}, func(t *testing.T, s *session.Session) {
		got, err := s.Exec(t.Context(), session.ExecRequest{Command: "hostname r1\nshow clock\r\nend\n"})
		if err != nil {
			t.Fatal(err)
		}
		if want := "r1(config)#show clock\r\n12:00:00.000 UTC\r\n"; string(got.Stdout.Bytes()) != want {
			t.Errorf("Exec of three lines put out %q, want %q", got.Stdout.Bytes(), want)
		}
		if l := got.Lines; got.Done != session.DonePrompt || l == nil || l.Lines != 3 || l.Taken != 3 || l.Stopped != "" || got.ID != "" {
			t.Errorf("Exec of three lines = %+v with %+v, want all taken", got, l)
		}
		got, err = s.Exec(t.Context(), session.ExecRequest{Command: "one\nbad\ntwo"})
		if err != nil {
			t.Fatal(err)
		}
		if l := got.Lines; got.Done != session.DoneStopped || l == nil || l.Taken != 2 || l.At != 2 || l.Line != "bad" ||
			l.Stopped != paced.Error || !strings.Contains(l.Answer, "% Invalid input") || len(got.ErrorHints) != 1 {
			t.Errorf("Exec of a line that is refused = %+v with %+v, want it stopped there", got, l)
		}
		if want := []string{"hostname r1", "show clock", "end", "one", "bad"}; !slices.Equal(r.got(), want) {
			t.Errorf("the router got %q, want %q", r.got(), want)
		}
	})
}

// Each line of a paste is judged and recorded as a write of its own; one that is denied stops it.
func TestPasteIsJudged(t *testing.T) {
	gate := func(_ context.Context, a term.Action) (term.Ruling, error) {
		if strings.Contains(string(a.Data), "10.0.5.") {
			return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no such route"}
		}
		return term.Ruling{}, nil
	}
	events := new(diary)
	r := &router{}
	atRouter(t, r, session.Options{Gate: gate, Observers: []term.Observer{events}}, func(t *testing.T, s *session.Session) {
		text, lines := configLines(10)
		got, err := s.Paste(t.Context(), session.ExecRequest{Command: text})
		if err != nil {
			t.Fatal(err)
		}
		if l := got.Lines; l.Stopped != paced.Refused || l.At != 6 || l.Taken != 5 || l.Typed != 5 || l.Line != lines[5] ||
			!errors.Is(l.Err, term.PolicyDenied) {
			t.Errorf("Paste = %+v, want it stopped at line 6", l)
		}
		if !slices.Equal(r.got(), lines[:5]) {
			t.Errorf("the router got %q, want %q", r.got(), lines[:5])
		}
		var data []string
		for _, e := range events.All() {
			switch {
			case e.Verb == term.VerbWrite && e.Refused == nil:
				data = append(data, strings.TrimSuffix(string(e.Data), "\r"))
			case e.Verb == term.VerbExec, e.Verb == term.VerbExecEnd:
				t.Errorf("there is an event %+v, want writes", e)
			}
		}
		if !slices.Equal(data, lines[:5]) {
			t.Errorf("the record has the writes %q, want %q", data, lines[:5])
		}
		// Where nothing was typed, it is an error.
		_, err = s.Paste(t.Context(), session.ExecRequest{Command: lines[5] + "\n" + lines[6]})
		wantKind(t, err, term.PolicyDenied)
	})
}

// A paste that outlasts its call goes on as an exec. No other caller types meanwhile; the caller can cancel it, and
// another holder of the lock stops it.
func TestPasteGoesOn(t *testing.T) {
	text, lines := configLines(100)
	request := session.ExecRequest{Command: text, Wait: 3 * time.Second, Timeout: time.Hour}
	for name, tt := range map[string]struct {
		end     func(t *testing.T, s *session.Session, id string) (session.ExecResult, error)
		stopped session.PasteStop
	}{
		"waited for": {func(t *testing.T, s *session.Session, id string) (session.ExecResult, error) {
			return s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Minute})
		}, ""},
		"canceled": {func(t *testing.T, s *session.Session, id string) (session.ExecResult, error) {
			return s.CancelExec(t.Context(), id, session.ContinueRequest{})
		}, paced.Canceled},
		"past its time": {func(t *testing.T, s *session.Session, id string) (session.ExecResult, error) {
			return s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Minute, Timeout: time.Second})
		}, paced.Timeout},
		"taken over": {func(t *testing.T, s *session.Session, id string) (session.ExecResult, error) {
			if _, _, err := s.TakeOver(task("other"), time.Minute); err != nil {
				t.Fatal(err)
			}
			return s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Minute})
		}, paced.Taken},
		"closed": {func(t *testing.T, s *session.Session, id string) (session.ExecResult, error) {
			_ = s.Close(context.Background(), session.CloseOptions{Force: true})
			return s.ContinueExec(t.Context(), id, session.ContinueRequest{Wait: time.Minute})
		}, paced.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			r := &router{work: 100 * time.Millisecond}
			atRouter(t, r, session.Options{WriteTimeout: time.Second, AllowTakeOver: true}, func(t *testing.T, s *session.Session) {
				got, err := s.Paste(t.Context(), request)
				if err != nil || got.Done != session.DoneRunning || got.ID == "" || got.Lines.Taken < 20 || got.Lines.Taken > 40 {
					t.Fatalf("Paste = %+v, %v; want some lines taken and the rest to come", got, err)
				}
				_, err = s.Write(t.Context(), []byte("x"), session.WriteOptions{})
				wantKind(t, err, term.Busy)
				_, err = s.Exec(t.Context(), session.ExecRequest{Command: "x"})
				wantKind(t, err, term.Busy)
				if got, err = tt.end(t, s, got.ID); err != nil {
					t.Fatal(err)
				}
				l := got.Lines
				if l.Stopped != tt.stopped || l.Typed > l.Taken+1 || tt.stopped != "" && (l.At < 20 || l.Line != lines[l.At-1]) ||
					tt.stopped == "" && l.Taken != 100 {
					t.Errorf("the paste ended as %+v of %+v, want %q", l, got, tt.stopped)
				}
				time.Sleep(time.Second)
				if n := len(r.got()); n != l.Taken && n != l.Typed || !slices.Equal(r.got(), lines[:n]) {
					t.Errorf("the router got %d lines, want those up to %d or %d", n, l.Taken, l.Typed)
				}
				if tt.stopped != paced.Closed && tt.stopped != paced.Taken {
					if got, err := s.Exec(t.Context(), session.ExecRequest{Command: "end"}); err != nil || got.Done != session.DonePrompt {
						t.Errorf("Exec after the paste = %+v, %v; want a prompt", got, err)
					}
				}
			})
		})
	}
}

// Text that can never be typed is refused before anything is typed.
func TestPasteRefused(t *testing.T) {
	r := &router{}
	atRouter(t, r, session.Options{}, func(t *testing.T, s *session.Session) {
		for _, text := range []string{"", "\n", "a\n\x03\n", "a\x1b[A", "a\nbanner motd #\nno end", strings.Repeat("a", 5000)} {
			if text == "\n" { // an empty line is one
				continue
			}
			_, err := s.Paste(t.Context(), session.ExecRequest{Command: text})
			wantKind(t, err, term.InvalidArgument)
		}
		if got := r.got(); len(got) > 0 {
			t.Errorf("the router got %q, want nothing", got)
		}
	})
}
