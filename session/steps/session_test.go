package steps_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// A reply is the output of the far side once a text was typed.
type reply struct {
	typed string
	after time.Duration
	shows string
}

// A peer is a far side that shows its replies in turn, and keeps all that is typed.
type peer struct {
	mu    sync.Mutex
	typed string
}

// answer reads the input until the terminal ends.
func (p *peer) answer(far net.Conn, replies []reply) {
	buf := make([]byte, 1024)
	line := ""
	for {
		n, err := far.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.typed += string(buf[:n])
		p.mu.Unlock()
		for line += string(buf[:n]); len(replies) > 0; replies = replies[1:] {
			_, rest, ok := strings.Cut(line, replies[0].typed)
			if !ok {
				break
			}
			line = rest
			time.Sleep(replies[0].after)
			far.Write([]byte(replies[0].shows))
		}
	}
}

// all returns the input so far.
func (p *peer) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.typed
}

// with runs a test in a bubble, on a session after its far side has shown its prompt. The far side gives the replies.
func with(t *testing.T, o session.Options, replies []reply, test func(t *testing.T, s *session.Session, p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, far := sessiontest.Start(t, 0, o)
		p := &peer{}
		sessiontest.Put(t, far, "$ ")
		time.Sleep(time.Second)
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.answer(far, replies)
		}()
		test(t, s, p)
		s.Close(context.Background(), session.CloseOptions{Force: true})
		far.Close()
		<-done
	})
}

// text is a step that types it.
func text(data string, w session.StepWait) session.Step {
	return session.Step{Inputs: []session.StepInput{{Data: []byte(data)}}, Wait: w}
}

// pressed is a step that presses keys.
func pressed(w session.StepWait, names ...string) session.Step {
	step := session.Step{Wait: w}
	for _, name := range names {
		step.Inputs = append(step.Inputs, session.StepInput{Key: name})
	}
	return step
}

var (
	none     session.StepWait
	password = session.StepWait{Until: sessiontest.Re("Password: $"), Timeout: 10 * time.Second}
	atPrompt = session.StepWait{Prompt: true, Timeout: 10 * time.Second}
)

// login is the dialogue of most tests.
var login = []reply{
	{"su\r", time.Second, "su\r\nPassword: "},
	{"hunter\r", time.Second, "\r\nroot# "},
	{"id\r", time.Second, "id\r\nuid=0\r\nroot# "},
}

func steps(t *testing.T, s *session.Session, list []session.Step, limit time.Duration) session.StepsResult {
	t.Helper()
	r, err := s.WriteSteps(t.Context(), list, limit)
	if err != nil {
		t.Fatalf("WriteSteps = %v, want no error", err)
	}
	return r
}

func TestWriteSteps(t *testing.T) {
	dialogue := []session.Step{
		text("su\r", password),
		{Inputs: []session.StepInput{{Data: []byte("hunter\r"), Sensitive: true}}, Wait: atPrompt},
		text("id\r", session.StepWait{Prompt: true}),
	}
	echoed := []reply{{"echo DONE\r", time.Second, "echo DONE\r\n"}, {"", time.Second, "DONE\r\n$ "}}
	for _, c := range []struct {
		name    string
		replies []reply
		list    []session.Step
		limit   time.Duration
		stopped session.Stop
		done    int
		typed   string
		took    time.Duration
	}{
		{"a dialogue", login, dialogue, time.Minute, "", 3, "su\rhunter\rid\r", 3*time.Second + 2*150*time.Millisecond},
		{"no condition", nil, []session.Step{text("a", none), pressed(none, "arrow_down", "arrow_up", "enter")}, time.Minute, "", 2, "a\x1b[B\x1b[A\r", 0},
		{"a condition that is not met", login, []session.Step{text("su\r", session.StepWait{Until: sessiontest.Re("never"), Timeout: 3 * time.Second}), text("rm\r", none)}, time.Minute, session.StopUnmatched, 0, "su\r", 3 * time.Second},
		{"a question in place of the prompt", login, []session.Step{text("su\r", atPrompt), text("rm\r", none)}, time.Minute, session.StopUnmatched, 0, "su\r", time.Second + 150*time.Millisecond},
		{"the time of the list", login, []session.Step{text("su\r", password), text("x\r", session.StepWait{Prompt: true}), text("rm\r", none)}, 5 * time.Second, session.StopTime, 1, "su\rx\r", 5 * time.Second},
		{"silence", login, []session.Step{text("su\r", session.StepWait{Idle: 2 * time.Second}), text("x", none)}, time.Minute, "", 2, "su\rx", 3 * time.Second},
		{"not by its own echo", echoed, []session.Step{text("echo DO", none), text("NE\r", session.StepWait{Until: sessiontest.Re("DONE"), Timeout: time.Minute})}, time.Minute, "", 2, "echo DONE\r", 2 * time.Second},
		{"not by the output before", login, []session.Step{text("su\r", password), text("x\r", session.StepWait{Until: sessiontest.Re("Password"), Timeout: time.Second})}, time.Minute, session.StopUnmatched, 1, "su\rx\r", 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			with(t, session.Options{}, c.replies, func(t *testing.T, s *session.Session, p *peer) {
				var r session.StepsResult
				took := sessiontest.Since(func() { r = steps(t, s, c.list, c.limit) })
				synctest.Wait()
				if r.Stopped != c.stopped || r.Done != c.done || took != c.took || r.Err != nil {
					t.Errorf("WriteSteps stopped for %q at step %d after %v (%v), want %q at %d after %v",
						r.Stopped, r.Done, took, r.Err, c.stopped, c.done, c.took)
				}
				if late := c.stopped == session.StopUnmatched && !strings.Contains(c.name, "question"); r.Late != late {
					t.Errorf("the condition that was not met has had its time: %v, want %v", r.Late, late)
				}
				time.Sleep(time.Minute)
				if got := p.all(); got != c.typed || r.Written != len(c.typed) || r.Cursor != 2 {
					t.Errorf("typed %q (%d bytes, from cursor %d), want %q from 2", got, r.Written, r.Cursor, c.typed)
				}
				if typed := c.stopped == session.StopUnmatched || c.stopped == session.StopTime; typed != r.Typed && c.stopped != "" {
					t.Errorf("the step that was not done counts as typed: %v, want %v", r.Typed, typed)
				}
			})
		})
	}
}

// Every input is judged and recorded by itself, and a secret is not.
func TestStepsAreRecorded(t *testing.T) {
	var seen sessiontest.Diary
	gate := func(_ context.Context, a term.Action) (term.Ruling, error) {
		if strings.Contains(string(a.Data), "rm") {
			return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "rm is denied"}
		}
		return term.Ruling{}, nil
	}
	o := session.Options{Gate: gate, Observers: []term.Observer{&seen}, RecordTxEvents: true}
	with(t, o, login, func(t *testing.T, s *session.Session, p *peer) {
		r := steps(t, s, []session.Step{
			text("su\r", password),
			{Inputs: []session.StepInput{{Data: []byte("hunter\r"), Sensitive: true}}, Wait: atPrompt},
			pressed(none, "arrow_up", "arrow_down"),
			text("rm\r", none),
			text("id\r", none),
		}, time.Minute)
		if r.Stopped != session.StopRefused || r.Done != 3 || term.KindOf(r.Err) != term.PolicyDenied || r.Typed {
			t.Errorf("a denied step: stopped for %q at %d with %v, want %q at 3 with %s",
				r.Stopped, r.Done, r.Err, session.StopRefused, term.PolicyDenied)
		}
		synctest.Wait()
		if got, want := p.all(), "su\rhunter\r\x1b[A\x1b[B"; got != want {
			t.Errorf("typed %q, want %q", got, want)
		}
		var got []string
		for _, e := range seen.Of(term.VerbWrite) {
			if e.Step == nil {
				t.Fatalf("event %+v has no step", e)
			}
			refused := ""
			if e.Refused != nil {
				refused = " refused"
			}
			got = append(got, string('0'+rune(*e.Step))+" "+string(e.Data)+e.Detail+refused)
		}
		want := []string{"0 su\r", "1 ", "2 \x1b[Aarrow_up", "2 \x1b[Barrow_down", "3 rm\r refused"}
		if !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
		var keys []int
		for _, e := range s.TxEvents() {
			keys = append(keys, *e.Step)
		}
		if !slices.Equal(keys, []int{0, 1, 2, 2}) {
			t.Errorf("steps of the recorded input = %v, want [0 1 2 2]", keys)
		}
	})
}

// No other caller types between two steps, with or without a lock, and writes that waited go out afterwards.
func TestStepsKeepOthersOut(t *testing.T) {
	slow := []reply{{"a", 3 * time.Second, "A"}, {"b", 3 * time.Second, "B"}}
	list := []session.Step{
		text("a", session.StepWait{Until: sessiontest.Re("A")}), text("b", session.StepWait{Until: sessiontest.Re("B")}),
	}
	with(t, session.Options{}, slow, func(t *testing.T, s *session.Session, p *peer) {
		var wg sync.WaitGroup
		wg.Go(func() { steps(t, s, list, time.Minute) })
		synctest.Wait()
		wg.Go(func() {
			if _, err := s.Write(sessiontest.Task("other"), []byte("x"), session.WriteOptions{}); err != nil {
				t.Errorf("a write that waits for the steps: %v", err)
			}
		})
		wg.Go(func() {
			r, err := s.WriteSteps(sessiontest.Task("third"), []session.Step{text("y", none), text("z", none)}, time.Minute)
			if err != nil || r.Stopped != "" {
				t.Errorf("steps that wait for other steps: %+v, %v", r, err)
			}
		})
		_, err := s.Write(sessiontest.Task("hurried"), []byte("w"), session.WriteOptions{Timeout: time.Second})
		if e := sessiontest.WantKind(t, err, term.Busy); e.Reason != term.ReasonSteps {
			t.Errorf("a write that cannot wait: %+v, want the reason %q", e, term.ReasonSteps)
		}
		_, err = s.Exec(sessiontest.Task("other"), session.ExecRequest{Command: "id", Class: session.ClassPosix})
		if e := sessiontest.WantKind(t, err, term.Busy); e.Reason != term.ReasonSteps {
			t.Errorf("a command between steps: %+v, want the reason %q", e, term.ReasonSteps)
		}
		wg.Wait()
		synctest.Wait()
		if got := p.all(); got != "abxyz" && got != "abyzx" {
			t.Errorf("typed %q, want the steps first, and no other input within them", got)
		}
	})
}

// A caller who takes the lock stops the list, at once and for good.
func TestStepsAreTaken(t *testing.T) {
	for _, c := range []struct {
		name   string
		locked bool // the caller of the steps holds the lock
		take   func(s *session.Session) error
	}{
		{"a takeover", true, func(s *session.Session) error {
			_, _, err := s.TakeOver(sessiontest.Task("other"), time.Minute)
			return err
		}},
		{"a person", true, func(s *session.Session) error {
			person := term.Actor{Operator: true, Attachment: term.NewAttachment("a1", "alice")}
			_, _, err := s.TakeOver(term.WithActor(context.Background(), person), time.Minute)
			return err
		}},
		{"a lock that was free, and is again", false, func(s *session.Session) error {
			if _, err := s.Lock(sessiontest.Task("other"), time.Minute); err != nil {
				return err
			}
			return s.Unlock(sessiontest.Task("other"))
		}},
		{"a lock that was free", false, func(s *session.Session) error {
			_, err := s.Lock(sessiontest.Task("other"), time.Minute)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			with(t, session.Options{AllowTakeOver: true}, nil, func(t *testing.T, s *session.Session, p *peer) {
				if c.locked {
					if _, err := s.Lock(sessiontest.Task("mine"), time.Hour); err != nil {
						t.Fatal(err)
					}
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					list := []session.Step{text("a", session.StepWait{Until: sessiontest.Re("never")}), text("b", none)}
					r, err := s.WriteSteps(sessiontest.Task("mine"), list, time.Minute)
					if err != nil || r.Stopped != session.StopTaken || r.Done != 0 || !r.Typed || term.KindOf(r.Err) != term.Locked {
						t.Errorf("steps after %s: %+v, %v, want %q at step 0, which was typed", c.name, r, err, session.StopTaken)
					}
				})
				time.Sleep(time.Second)
				if took := sessiontest.Since(func() {
					if err := c.take(s); err != nil {
						t.Error(err)
					}
				}); took != 0 {
					t.Errorf("%s took %v, want no wait for the list", c.name, took)
				}
				wg.Wait()
				time.Sleep(time.Minute)
				if got := p.all(); got != "a" {
					t.Errorf("typed %q, want the first step alone", got)
				}
			})
		})
	}
}

// A lock that would expire during the list is held to its end.
func TestStepsHoldTheLock(t *testing.T) {
	list := []session.Step{text("a", session.StepWait{Until: sessiontest.Re("A")}), text("b", none)}
	with(t, session.Options{}, []reply{{"a", 20 * time.Second, "A"}}, func(t *testing.T, s *session.Session, p *peer) {
		if _, err := s.Lock(sessiontest.Task("mine"), time.Second); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if r, err := s.WriteSteps(sessiontest.Task("mine"), list, 30*time.Second); err != nil || r.Stopped != "" {
				t.Errorf("steps beyond the lock's time: %+v, %v, want all done", r, err)
			}
		})
		time.Sleep(10 * time.Second)
		_, err := s.Lock(sessiontest.Task("other"), time.Minute)
		sessiontest.WantKind(t, err, term.Locked)
		wg.Wait()
		synctest.Wait()
		if got := p.all(); got != "ab" {
			t.Errorf("typed %q, want both steps", got)
		}
	})
}

// A fault in any step is refused before the first one is typed.
func TestStepsAreChecked(t *testing.T) {
	with(t, session.Options{}, nil, func(t *testing.T, s *session.Session, p *peer) {
		for name, bad := range map[string]session.StepInput{
			"an unknown key":         {Key: "hyper"},
			"a paste that would end": {Data: []byte("x\x1b[201~y"), Paste: true},
		} {
			_, err := s.WriteSteps(t.Context(), []session.Step{text("a", none), {Inputs: []session.StepInput{bad}}}, time.Minute)
			if term.KindOf(err) != term.InvalidArgument || p.all() != "" {
				t.Errorf("%s: %v with %q typed, want %s and nothing", name, err, p.all(), term.InvalidArgument)
			}
		}
	})
}

// A call that is canceled types nothing more.
func TestStepsAreCanceled(t *testing.T) {
	with(t, session.Options{}, nil, func(t *testing.T, s *session.Session, p *peer) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		list := []session.Step{text("a", session.StepWait{Idle: 3 * time.Second}), text("b", none)}
		r, err := s.WriteSteps(ctx, list, time.Minute)
		time.Sleep(time.Minute)
		if err != nil || r.Stopped != session.StopCanceled || r.Done != 0 || p.all() != "a" {
			t.Errorf("canceled steps: %+v, %v, with %q typed; want %q at step 0", r, err, p.all(), session.StopCanceled)
		}
	})
}

// A far side that takes no input stops the list.
func TestStepsThatAreNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := sessiontest.Start(t, 8, session.Options{})
		r := steps(t, s, []session.Step{text("0123456789abcdef", none), text("b", none)}, time.Minute)
		if r.Stopped != session.StopTime || r.Done != 0 || r.Typed || !r.TimedOut || r.Written+r.Pending != 16 {
			t.Errorf("a step that is not taken: %+v, want %q at step 0, with 16 bytes written and pending", r, session.StopTime)
		}
	})
}

// The steps of a login answer one question each, and go on in the open terminal.
func TestStepsOfALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := make(chan net.Conn, 1)
		var answers []string
		dial := func(ctx context.Context, tg term.Target, p term.Prompter, a term.Approve) (term.Transport, error) {
			for _, q := range []string{"Password: ", "Code: "} {
				time.Sleep(time.Second)
				answer, err := p.Prompt(ctx, term.Prompt{Kind: term.PromptChallenge, Text: q})
				if err != nil {
					return nil, err
				}
				answers = append(answers, answer)
			}
			return sessiontest.Dialed(far)(ctx, tg, p, a)
		}
		var seen sessiontest.Diary
		m := sessiontest.Manage(t, dial, session.Config{Observers: []term.Observer{&seen}})
		opened, err := m.Open(t.Context(), sessiontest.Target("web1"))
		if err != nil || opened.State != session.Authenticating {
			t.Fatalf("Open = %+v, %v, want a question", opened, err)
		}
		r := steps(t, opened.Session, []session.Step{
			text(sessiontest.Typed+"\r", none), text("123456\r", none), text("ls\r", none),
		}, time.Minute)
		if r.Stopped != "" || !r.Answered || !slices.Equal(answers, []string{sessiontest.Typed, "123456"}) {
			t.Errorf("steps of a login: %+v with %d answers, want all done and 2 answers", r, len(answers))
		}
		if got := sessiontest.Take(t, <-far, 3); got != "ls\r" {
			t.Errorf("typed %q in the open terminal, want %q", got, "ls\r")
		}
		for i, e := range seen.Of(term.VerbAnswer) {
			if e.Data != nil || !e.Sensitive || e.Step == nil || *e.Step != i {
				t.Errorf("the event of answer %d: %+v, want a step and no data", i, e)
			}
		}
	})
}
