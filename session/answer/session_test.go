package answer_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/term"
)

// A remote is a terminal that opens after its login, like that of SSH.
type remote struct{ sessiontest.Plain }

func (remote) Describe() term.Description { return term.Description{AuthMethod: "none", PTY: true} }

// start makes a session in which a command was typed at the prompt "$ ", and which records its events in the diary.
func start(tb testing.TB, o session.Options) (*session.Session, *farSide, *sessiontest.Diary) {
	tb.Helper()
	near, conn := sessiontest.WidePipe()
	diary := new(sessiontest.Diary)
	o.Observers = append(o.Observers, diary)
	s := session.New(&remote{sessiontest.Plain{ReadWriteCloser: near}}, o)
	tb.Cleanup(func() { s.Close(context.Background(), session.CloseOptions{Force: true}) })
	return s, follow(conn), diary
}

// A farSide keeps its input.
type farSide struct {
	net.Conn
	typed atomic.Pointer[string]
}

func follow(conn net.Conn) *farSide {
	f := &farSide{Conn: conn}
	f.typed.Store(new(string))
	go func() {
		p := make([]byte, 4096)
		for {
			n, err := f.Read(p)
			all := *f.typed.Load() + string(p[:n])
			f.typed.Store(&all)
			if err != nil {
				return
			}
		}
	}()
	return f
}

// shows writes output, and waits until its queries are answered.
func (f *farSide) shows(tb testing.TB, text string) {
	tb.Helper()
	if _, err := io.WriteString(f, text); err != nil {
		tb.Fatal(err)
	}
	synctest.Wait()
	time.Sleep(50 * time.Millisecond)
	synctest.Wait()
}

// got returns the input since the last call.
func (f *farSide) got() string { return *f.typed.Swap(new(string)) }

func write(tb testing.TB, s *session.Session, text string) {
	tb.Helper()
	if _, err := s.Write(tb.Context(), []byte(text), session.WriteOptions{}); err != nil {
		tb.Fatal(err)
	}
	synctest.Wait()
}

// A program that was started at a prompt gets one answer to each query.
func TestEachQuery(t *testing.T) {
	for query, want := range map[string]string{
		"\x1b[c": "\x1b[?62;22c", "\x1bZ": "\x1b[?62;22c", "\x1b[>c": "\x1b[>1;10;0c",
		"\x1b[5n": "\x1b[0n", "ab\x1b[6n": "\x1b[2;3R", "\x1b[?6n": "\x1b[?2;1R",
		"\x1b[?2026$p": "\x1b[?2026;2$y", "\x1b[?9999$p": "\x1b[?9999;0$y", "\x1b[4$p": "\x1b[4;2$y",
		"\x1bP$qm\x1b\\": "\x1bP1$r0m\x1b\\", "\x1bP$qr\x1b\\": "\x1bP1$r1;40r\x1b\\", "\x1bP$q q\x1b\\": "\x1bP1$r0 q\x1b\\",
		"\x1b[>q": "\x1bP>|ptyctl\x1b\\", "\x1b]10;?\x1b\\": "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\",
		"\x1b]11;?\a": "\x1b]11;rgb:0000/0000/0000\a", "\x1b[?u": "\x1b[?0u", "\x1b[18t": "\x1b[8;40;120t",
		// Never:
		"\x1b]0;rm -rf\a\x1b[21t": "", "\x1b]52;c;?\a": "", "\x05": "", "\x1b[1;1;1;1;1;1*y": "", "\x1b[=c": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			s, far, _ := start(t, session.Options{})
			far.shows(t, "$ ")
			write(t, s, "x\r")
			far.got()
			for i := range len(query) { // cut anywhere
				if _, err := io.WriteString(far, func() string {
					if i == 0 {
						return "x\r\n" + query[:1]
					}
					return query[i : i+1]
				}()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			far.shows(t, "")
			if got := far.got(); got != want {
				t.Errorf("the query %q was answered with %q, want %q", query, got, want)
			}
		})
	}
}

// The queries that are not answered: at a prompt, before a login is over, where a person is attached, at a device
// with a screen that no caller reads, or where the operator or the caller forbids it.
func TestWhoIsNotAnswered(t *testing.T) {
	const query = "\x1b[c"
	const answer = "\x1b[?62;22c"
	person := term.WithActor(context.Background(), term.Actor{Operator: true, Attachment: term.NewAttachment("1", "root")})
	for _, tt := range []struct {
		name string
		o    session.Options
		do   func(t *testing.T, s *session.Session, far *farSide)
		want string
	}{
		{"a program", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "vim\r")
			far.shows(t, "vim\r\n"+query)
		}, answer},
		{"a program that is gone", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "cat x\r")
			far.shows(t, "cat x\r\n"+query+"\r\n$ ")
		}, ""},
		{"a program that is gone soon", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "cat x\r")
			_, _ = io.WriteString(far, "cat x\r\n"+query)
			time.Sleep(5 * time.Millisecond)
			far.shows(t, "\r\n$ ")
		}, ""},
		{"a line that is entered after the query", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "ash\r")
			_, _ = io.WriteString(far, "ash\r\nenter> "+query)
			synctest.Wait()
			write(t, s, "exit 9\r")
			far.shows(t, "exit 9\r\n")
		}, ""},
		{"a line that was entered before the query came", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "ash\r")
			far.shows(t, "ash\r\n")
			write(t, s, "exit 9\r")
			far.shows(t, "enter> "+query)
			far.shows(t, "exit 9\r\n")
			time.Sleep(time.Second)
		}, ""},
		{"a program in a terminal without echo", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "stty -echo\r")
			far.shows(t, "stty -echo\r\nenter> ")
			write(t, s, "ask\r")
			far.shows(t, query)
			time.Sleep(time.Second)
		}, answer},
		{"a key that ends no line after the query", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "pick\r")
			_, _ = io.WriteString(far, "pick\r\nenter> "+query)
			synctest.Wait()
			write(t, s, "j")
			far.got()
			far.shows(t, "")
		}, answer},
		{"a line that is entered in a full-screen program", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "edit\r")
			_, _ = io.WriteString(far, "edit\r\n\x1b[?1049h"+query)
			synctest.Wait()
			write(t, s, "a\r")
			far.shows(t, "")
		}, answer},
		{"a half-typed line", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "ls\r")
			far.shows(t, "ls\r\n$ ")
			write(t, s, "echo a")
			far.shows(t, "echo a")
			far.got()
			far.shows(t, query)
		}, ""},
		{"a recalled line", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "\x1b[A")
			far.shows(t, "make all")
			far.got()
			far.shows(t, query)
		}, ""},
		{"a program that a key of the shell has started", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "ls \x12")
			far.got()
			far.shows(t, "\r\n> "+query)
		}, answer},
		{"a shell that has asked before its first prompt", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			far.shows(t, "\r\n\x1b[?u\x1b[>0q\x1b]11;?\x1b\\"+query)
			far.shows(t, "\ra@b ~> ")
			write(t, s, "ls\r")
			far.got()
			far.shows(t, "ls\r\n"+query+"a@b ~> ")
		}, answer},
		{"an attached person", session.Options{AllowTakeOver: true}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "vim\r")
			if _, _, err := s.TakeOver(person, time.Minute); err != nil {
				t.Fatal(err)
			}
			far.shows(t, "vim\r\n"+query)
		}, ""},
		{"a person who comes after the query", session.Options{AllowTakeOver: true}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "vim\r")
			_, _ = io.WriteString(far, "vim\r\n"+query)
			synctest.Wait()
			if _, _, err := s.TakeOver(person, time.Minute); err != nil {
				t.Fatal(err)
			}
			far.shows(t, "")
		}, answer},
		{"a person who has left", session.Options{AllowTakeOver: true}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "vim\r")
			if _, _, err := s.TakeOver(person, time.Minute); err != nil {
				t.Fatal(err)
			}
			far.shows(t, "vim\r\n"+query)
			if err := s.Unlock(person); err != nil {
				t.Fatal(err)
			}
			far.shows(t, query)
		}, answer},
		{"another task's lock", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "vim\r")
			if _, err := s.Lock(sessiontest.Task("other"), time.Minute); err != nil {
				t.Fatal(err)
			}
			far.shows(t, "vim\r\n"+query)
		}, answer},
		{"a read-only host", session.Options{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "no"}
		}}, func(t *testing.T, s *session.Session, far *farSide) {
			far.shows(t, "\x1b[2J"+query)
		}, answer},
		{"never", session.Options{PTY: term.PTY{NoAnswers: true}}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "vim\r")
			far.shows(t, "vim\r\n"+query)
		}, ""},
		{"a device", session.Options{Expect: session.Expect{Class: session.ClassDevice}}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "edit\r")
			far.shows(t, "edit\r\n"+query)
		}, ""},
		{"a device whose screen is read", session.Options{Expect: session.Expect{Class: session.ClassDevice}}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "edit\r")
			s.Screen(t.Context(), 0)
			far.shows(t, "edit\r\n"+query)
		}, answer},
		{"a password's question", session.Options{}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "sudo x\r")
			far.shows(t, "sudo x\r\n"+query+"Password: ")
		}, ""},
		{"no record", session.Options{Journal: func(e term.Event) error {
			if e.Verb == term.VerbReply {
				return io.ErrShortWrite
			}
			return nil
		}}, func(t *testing.T, s *session.Session, far *farSide) {
			write(t, s, "vim\r")
			far.shows(t, "vim\r\n"+query)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far, diary := start(t, tt.o)
				if tt.o.Gate == nil {
					far.shows(t, "$ ")
				}
				tt.do(t, s, far)
				got := far.got()
				if i := strings.LastIndexByte(got, '\r'); i >= 0 {
					got = got[i+1:]
				}
				if got != tt.want {
					t.Errorf("the answer is %q, want %q", got, tt.want)
				}
				if n := len(diary.Of(term.VerbReply)); (n > 0) != (tt.want != "") {
					t.Errorf("%d events of an answer %q", n, got)
				}
			})
		})
	}
}

// A login within the terminal is over when something was typed at another line than its questions.
func TestNotBeforeTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, conn := sessiontest.WidePipe()
		s := session.New(&sessiontest.Plain{ReadWriteCloser: near}, session.Options{})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		far := follow(conn)
		far.shows(t, "welcome \x1b[c")
		far.shows(t, "\r\nlogin: ")
		write(t, s, "alice\r")
		far.shows(t, "alice\r\n\x1b[6nPassword: ")
		write(t, s, "secret\r")
		far.shows(t, "\r\nmotd \x1b[c\r\n")
		if got, want := far.got(), "alice\rsecret\r"; got != want {
			t.Errorf("before the login was over %q was typed, want %q", got, want)
		}
		far.shows(t, "$ ")
		write(t, s, "vim\r")
		far.shows(t, "vim\r\n\x1b[c")
		if got, want := far.got(), "vim\r\x1b[?62;22c"; got != want {
			t.Errorf("after it %q, want %q", got, want)
		}
	})
}

// A far side that asks without end gets a bounded number of answers, and makes a bounded number of records. A caller is
// never held up.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, far, diary := start(t, session.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		far.shows(t, "$ ")
		write(t, s, "cat\r")
		far.got()
		far.shows(t, "cat\r\n")
		const seconds = 5
		for range seconds * 100 {
			if _, err := io.WriteString(far, strings.Repeat("\x1b[6n\x1b[c\x1b]11;?\a", 300)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		began := time.Now()
		write(t, s, "\x03")
		if took := time.Since(began); took > 0 {
			t.Errorf("a key waited %v behind the answers", took)
		}
		far.shows(t, "")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		got := far.got()
		if n := strings.Count(got, "\x1b[") + strings.Count(got, "\x1b]"); n < 100 || n > 50+50*(seconds+1) {
			t.Errorf("%d answers in %d s, want at most 50 a second and 50 more", n, seconds)
		}
		events := diary.Of(term.VerbReply)
		dropped := 0
		for _, e := range events {
			if strings.Contains(e.Detail, "dropped") {
				dropped++
			}
		}
		if len(events) > seconds+3 || dropped == 0 {
			t.Errorf("%d records in %d s, %d of them of dropped queries", len(events), seconds, dropped)
		}
		if n := strings.Count(log.String(), "asks the terminal more"); n != 1 {
			t.Errorf("%d warnings, want 1: %s", n, log.String())
		}
	})
}

// After a flood, the next query gets its own answer, and none of the flood's queries does. All of them are counted.
func TestAfterAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far, diary := start(t, session.Options{})
		far.shows(t, "\x1b[?1049h\x1b[3;3H")
		const queries = 200_000
		flood := []byte(strings.Repeat("\x1b[6n", 1000))
		for range queries / 1000 {
			if _, err := far.Write(flood); err != nil {
				t.Fatal(err)
			}
		}
		far.shows(t, "")
		if got, n := far.got(), 0; !strings.HasPrefix(got, "\x1b[3;3R") {
			t.Errorf("the flood was answered with %q", got[:min(len(got), 80)])
		} else if n = strings.Count(got, "R"); n > 50 {
			t.Errorf("%d answers at once, want at most 50", n)
		}
		time.Sleep(2 * time.Second)
		far.shows(t, "\x1b[5;7H\x1b[6n")
		if got, want := far.got(), "\x1b[5;7R"; got != want {
			t.Errorf("after the flood the answer is %q, want %q", got, want)
		}
		time.Sleep(2 * time.Second)
		s.Close(t.Context(), session.CloseOptions{Force: true})
		synctest.Wait()
		answers, dropped := 0, 0
		for _, e := range diary.Of(term.VerbReply) {
			var a, d int
			_, _ = fmt.Sscanf(e.Detail, "%d answers", &a)
			if _, rest, ok := strings.Cut(e.Detail, "; "); ok {
				_, _ = fmt.Sscanf(rest, "%d queries dropped", &d)
			}
			answers, dropped = answers+a, dropped+d
		}
		if answers+dropped != queries+1 {
			t.Errorf("%d answers and %d dropped queries are on record, want %d together", answers, dropped, queries+1)
		}
	})
}

// An answer is no input of a caller.
func TestNotTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far, _ := start(t, session.Options{RecordTxEvents: true})
		far.shows(t, "\x1b[?1049h\x1b[c")
		if got := far.got(); got != "\x1b[?62;22c" {
			t.Fatalf("the answer is %q", got)
		}
		if i := s.Info(); i.Typed || len(s.TxEvents()) > 0 || !i.LastOut.IsZero() || i.BytesOut == 0 {
			t.Errorf("after an answer: typed %v, inputs %v, last %v, %d bytes out", i.Typed, s.TxEvents(), i.LastOut, i.BytesOut)
		}
	})
}

// The audit log refuses every answer, not only the first of a second.
func TestNoRecordNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		s, far, diary := start(t, session.Options{Journal: func(e term.Event) error {
			if broken && e.Verb == term.VerbReply {
				return io.ErrShortWrite
			}
			return nil
		}})
		far.shows(t, "$ ")
		write(t, s, "vim\r")
		far.shows(t, "vim\r\n")
		far.got()
		for range 5 {
			far.shows(t, "\x1b[c")
		}
		if got := far.got(); got != "" {
			t.Errorf("without a record %q was answered", got)
		}
		broken = false
		far.shows(t, "\x1b[5n")
		if got, want := far.got(), "\x1b[0n"; got != want {
			t.Errorf("with a record %q was answered, want %q", got, want)
		}
		time.Sleep(2 * time.Second)
		events := diary.Of(term.VerbReply)
		if len(events) != 1 || events[0].Size != len("\x1b[0n") {
			t.Errorf("the records are %+v, want one of one answer", events)
		}
	})
}

// An answer that waits behind a write is not sent if a prompt has come meanwhile.
func TestPromptBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := sessiontest.NarrowPipe()
		s := session.New(&remote{sessiontest.Plain{ReadWriteCloser: near}}, session.Options{})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		typed := func(text string) {
			t.Helper()
			if got := sessiontest.Take(t, far, len(text)); got != text {
				t.Fatalf("%q was typed, want %q", got, text)
			}
		}
		sessiontest.Put(t, far, "$ ")
		synctest.Wait()
		go func() { _, _ = s.Write(t.Context(), []byte("cat\r"), session.WriteOptions{}) }()
		typed("cat\r")
		sessiontest.Put(t, far, "cat\r\n")
		go func() { _, _ = s.Write(t.Context(), []byte("0123456789abcdef\r"), session.WriteOptions{}) }()
		synctest.Wait()
		sessiontest.Put(t, far, "\x1b[6n")
		time.Sleep(50 * time.Millisecond) // it waits for its turn
		sessiontest.Put(t, far, "\r\n$ ")
		synctest.Wait()
		typed("0123456789abcdef\r")
		synctest.Wait()
		go func() { _, _ = s.Write(t.Context(), []byte("x"), session.WriteOptions{}) }()
		typed("x")
	})
}

// The queries that come while a takeover waits for the loser's input are for the person's terminal.
func TestQueryDuringATakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := sessiontest.NarrowPipe()
		s := session.New(&remote{sessiontest.Plain{ReadWriteCloser: near}}, session.Options{})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		person := term.WithActor(context.Background(), term.Actor{Operator: true, Attachment: term.NewAttachment("1", "root")})
		sessiontest.Put(t, far, "\x1b[?1049h")
		go func() { _, _ = s.Write(t.Context(), []byte("0123456789abcdef"), session.WriteOptions{}) }()
		synctest.Wait()
		at := s.End()
		taken := make(chan error)
		go func() {
			_, _, err := s.TakeOver(person, time.Minute)
			taken <- err
		}()
		synctest.Wait()
		sessiontest.Put(t, far, "\x1b[6n")
		sessiontest.Take(t, far, 16)
		if err := <-taken; err != nil {
			t.Fatal(err)
		}
		if got := s.ServerView().TakenAt(); got != at {
			t.Errorf("the person's terminal is asked from %d on, want %d: before the query", got, at)
		}
	})
}

// While the far side takes nothing, answers get old and are not sent late.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := sessiontest.NarrowPipe()
		s := session.New(&remote{sessiontest.Plain{ReadWriteCloser: near}}, session.Options{})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		go func() { _, _ = s.Write(t.Context(), []byte("0123456789abcdef"), session.WriteOptions{}) }()
		synctest.Wait()
		sessiontest.Put(t, far, "\x1b[6n")
		time.Sleep(3 * time.Second)
		if got := sessiontest.Take(t, far, 16); got != "0123456789abcdef" {
			t.Errorf("%q was typed", got)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if _, err := s.Write(t.Context(), []byte("x"), session.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := sessiontest.Take(t, far, 1); got != "x" {
			t.Errorf("%q was typed after 3 s, want x: no late answer", got)
		}
	})
}
