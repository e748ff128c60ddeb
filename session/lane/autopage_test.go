package lane_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// pagers are how devices show that there is more, and take it away again.
var pagers = map[string]struct{ text, wipe string }{
	"frr":     {" --More-- \x00", strings.Repeat("\b", 10) + strings.Repeat(" ", 10) + strings.Repeat("\b", 10)},
	"cr":      {"--More--", "\r        \r"},
	"el":      {"\x1b[7m--More--\x1b[27m", "\r\x1b[K"},
	"comware": {"  ---- More ----", "\x1b[16D                \x1b[16D"},
	"none":    {"--More--", "\r\n"},
	"sgr":     {"--More--", "\r\x1b[K\x1b[m"},
}

// anyPager matches all of them.
var anyPager = re(`^ *-+ ?More ?-+ *$`)

// pages plays a pager: "style n" shows n pages of two lines. The second line is indented; the third page begins with a
// blank line. q ends it.
func (f *fakeShell) pages(arg string) bool {
	var style string
	var n int
	_, _ = fmt.Sscan(arg, &style, &n)
	for i := range n {
		if i > 0 {
			f.print(pagers[style].text)
			key, ok := f.until(" \rqx")
			if !ok {
				return false
			}
			f.pressed += string(key)
			for _, c := range pagers[style].wipe { // a byte at a time
				f.print(string(c))
			}
			if key == 'q' {
				break
			}
		}
		if i == 2 {
			f.print("\r\n")
		}
		f.print(fmt.Sprintf("page %d\r\n   indented\r\n", i+1))
	}
	return true
}

// paged returns a command for a device, with leave to turn its pages.
func paged(command, key string, most int) session.ExecRequest {
	return session.ExecRequest{Command: command, Expect: session.Expect{
		Class: session.ClassDevice, Pagers: []*regexp.Regexp{anyPager}, AutoPage: &session.AutoPage{Key: key, Max: most},
	}}
}

// Every page is turned, and the caller gets the text that a person saw, without the pager.
func TestAutoPage(t *testing.T) {
	const want = "page 1\n   indented\npage 2\n   indented\n\npage 3\n   indented\n"
	for style := range pagers {
		t.Run(style, func(t *testing.T) {
			inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
				var got session.ExecResult
				took := since(func() { got = run(t, s, paged("pages "+style+" 3", "", 100)) })
				out := strings.ReplaceAll(string(got.Stdout.Bytes()), "\x1b[m", "")
				if got.Done != session.DonePrompt || got.Pages != 2 || got.WaitingFor != nil || out != want || sh.pressed != "  " {
					t.Errorf("%q, pressed %q: %+v", got.Stdout.Bytes(), sh.pressed, got)
				}
				if took > time.Second {
					t.Errorf("took %v", took)
				}
				if style == "sgr" && !strings.Contains(string(got.Stdout.Bytes()), "\x1b[mpage 2") {
					t.Errorf("%q: what belongs to the next line is gone", got.Stdout.Bytes())
				}
			})
		})
	}
	t.Run("posix", func(t *testing.T) {
		inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := paged("pages cr 3", "space", 100)
			r.Class = session.ClassPosix
			got := run(t, s, r)
			if got.Pages != 2 {
				t.Errorf("%d pages", got.Pages)
			}
			wantMarker(t, got, want, 0)
			wantMarker(t, run(t, s, posix("say after")), "after\n", 0)
		})
	})
	t.Run("of the session", func(t *testing.T) {
		o := session.Options{Expect: paged("", "enter", 100).Expect}
		inShell(t, "r1#", o, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, session.ExecRequest{Command: "pages frr 3"})
			if got.Pages != 2 || sh.pressed != "\r\r" || got.ExitReason != "no_status" {
				t.Errorf("pressed %q: %+v", sh.pressed, got)
			}
			if got = run(t, s, session.ExecRequest{
				Command: "pages frr 3",
				Expect:  session.Expect{AutoPage: &session.AutoPage{}},
			}); got.Pages != 0 ||
				got.WaitingFor == nil {
				t.Errorf("turned off for one command: %+v", got)
			}
		})
	})
	t.Run("q", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, paged("pages frr 9", "q", 100))
			if got.Done != session.DonePrompt || got.Pages != 1 || string(got.Stdout.Bytes()) != "page 1\n   indented\n" {
				t.Errorf("%q: %+v", got.Stdout.Bytes(), got)
			}
		})
	})
}

// A line that is as wide as the terminal ends a page in its middle, as FRRouting does it.
func TestAutoPageRow(t *testing.T) {
	o := session.Options{PTY: term.PTY{Cols: 20}}
	inShell(t, "r1#", o, func(t *testing.T, s *session.Session, sh *fakeShell) {
		got := run(t, s, paged("wide", "", 9))
		if want := strings.Repeat("x", 40) + "yz\n"; got.Pages != 1 || string(got.Stdout.Bytes()) != want {
			t.Errorf("%q: %+v", got.Stdout.Bytes(), got)
		}
	})
}

// Past the bound the pager is the caller's, as it is without.
func TestAutoPageBound(t *testing.T) {
	inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		got := run(t, s, paged("pages cr 5", "", 2))
		if got.Done != session.DoneRunning || got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Pager ||
			got.Pages != 2 {
			t.Fatalf("5 pages with a maximum of 2 = %+v, want 2 turned and the pager left", got)
		}
		if out := string(got.Stdout.Bytes()); !strings.HasSuffix(out, "page 3\n   indented\n--More--") {
			t.Errorf("stdout = %q, want it to end with page 3 and its pager", out)
		}
		typeIn(t, s, "q")
		got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
		if err != nil || got.Done != session.DonePrompt || got.Pages != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A pager that does not react gets one key, and is then reported.
func TestAutoPageDeaf(t *testing.T) {
	inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		r := paged("more x", "enter", 100) // takes a blank only
		r.Idle = 10 * time.Second
		r.Expect.Pagers = []*regexp.Regexp{re(`^--More--$`)}
		var got session.ExecResult
		took := since(func() { got = run(t, s, r) })
		if got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Pager || got.Pages != 1 || took < 3*time.Second ||
			took > 4*time.Second {
			t.Errorf("after %v: %+v", took, got)
		}
	})
}

// A question that is no pager known to the caller is never answered, even if it looks like one.
func TestAutoPageOnlyPagers(t *testing.T) {
	inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
		// A careless pattern calls the question of sudo a pager, too.
		for command, kind := range map[string]string{"more x": prompt.Pager, "sudo id": prompt.Pager} {
			r := paged(command, "", 100)
			r.Expect.Pagers = []*regexp.Regexp{re(`^Press any key$`), re(`: $`)}
			out := s.Info().BytesOut
			got := run(t, s, r)
			if got.Pages != 0 || got.WaitingFor == nil || got.WaitingFor.Kind != kind {
				t.Errorf("%s: %+v", command, got)
			}
			if !strings.HasSuffix(string(got.Stdout.Bytes()), got.WaitingFor.Text) {
				t.Errorf("the question is not in the output %q", got.Stdout.Bytes())
			}
			if n := s.Info().BytesOut - out; n != int64(len(command))+1 {
				t.Errorf("%d bytes were typed", n)
			}
			typeIn(t, s, " \r\x03")
			time.Sleep(10 * time.Second)
		}
	})
}

// Once others type, or the lock has changed hands, no key is pressed; and every key is on record before.
func TestAutoPageMayPress(t *testing.T) {
	journal, seen := &diary{}, &diary{}
	refuse := false
	o := session.Options{Observers: []term.Observer{seen}, Journal: func(e term.Event) error {
		if refuse && e.Verb == term.VerbWrite {
			return errors.New("the disk is full")
		}
		journal.Observe(e)
		return nil
	}}
	waits := func(t *testing.T, got session.ExecResult, pages int) {
		t.Helper()
		if got.WaitingFor == nil || got.WaitingFor.Kind != prompt.Pager || got.Pages != pages {
			t.Errorf("%+v, want a pager after %d pages", got, pages)
		}
	}
	t.Run("record", func(t *testing.T) {
		inShell(t, "r1#", o, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got, err := s.Exec(task("t1"), paged("pages cr 3", "", 9))
			if err != nil || got.Pages != 2 {
				t.Fatalf("%+v, %v", got, err)
			}
			for name, d := range map[string]*diary{"journal": journal, "observers": seen} {
				events := d.Of(term.VerbWrite)
				if len(events) != 2 || string(events[0].Data) != " " || events[0].Actor.Task != "t1" ||
					!strings.HasPrefix(events[0].Detail, "to turn a page for exec-") {
					t.Errorf("%s: %+v", name, events)
				}
			}
			refuse = true
			got, err = s.Exec(task("t1"), paged("pages cr 3", "", 9))
			if err != nil {
				t.Fatal(err)
			}
			waits(t, got, 0)
		})
	})
	t.Run("typed", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			got := run(t, s, paged("pages cr 5", "", 1))
			waits(t, got, 1)
			typeIn(t, s, " ")
			got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			waits(t, got, 1)
			if sh.pressed != "  " {
				t.Errorf("pressed %q", sh.pressed)
			}
		})
	})
	t.Run("lock", func(t *testing.T) {
		inShell(t, "r1#", session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			if _, err := s.Lock(task("t1"), 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			r := paged("slowpages", "", 9)
			r.Wait, r.Idle = time.Second, time.Minute
			got, err := s.Exec(task("t1"), r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Lock(task("t2"), time.Minute); err != nil {
				t.Fatal(err)
			}
			if got, err = s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute}); err != nil {
				t.Fatal(err)
			}
			waits(t, got, 0)
			if sh.pressed != "" {
				t.Errorf("pressed %q", sh.pressed)
			}
		})
	})
}

// A key never lands in the middle of a caller's input.
func TestAutoPageWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := narrowPipe()
		s := session.New(&plain{ReadWriteCloser: near}, session.Options{})
		defer s.Close(t.Context(), session.CloseOptions{Force: true})
		go far.Write([]byte("r1#"))
		time.Sleep(time.Second)
		r := paged("show", "", 9)
		r.Wait = time.Second
		done := make(chan session.ExecResult)
		go func() {
			got, _ := s.Exec(t.Context(), r)
			done <- got
		}()
		take(t, far, len("show\r"))
		go s.Write(t.Context(), []byte("a long line that the far side does not take"), session.WriteOptions{})
		synctest.Wait()
		go far.Write([]byte("\r\na\r\n--More--"))
		if got := <-done; got.Pages != 0 || got.WaitingFor == nil {
			t.Errorf("result = %+v, want no page turned and the pager left", got)
		}
	})
}

// The expected class decides how a command is run: a device is typed to and never asked for its class, a shell is
// asked for its name. The class in the call takes precedence.
func TestExpectedClass(t *testing.T) {
	for _, tt := range []struct {
		expected, asked session.Class
		answers         int  // asked of the far side
		limit           bool // as for busybox, known by its name
	}{
		{"", "", 1, true},
		{session.ClassDevice, "", 0, false},
		{session.ClassPosix, "", 1, true},
		{session.ClassFish, "", 1, false},
		{session.ClassDevice, session.ClassPosix, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := widePipe()
			questions := 0
			s := session.New(
				&shell{
					Plain: plain{ReadWriteCloser: near},
					OnExec: func(_ context.Context, r term.ExecRequest, out, _ io.Writer) (term.Exit, error) {
						if r.Command == "echo $SHELL" {
							questions++
							_, _ = io.WriteString(out, "/bin/busybox\n")
						}
						return term.Exit{Known: true}, nil
					},
				},
				session.Options{Expect: session.Expect{Class: tt.expected}},
			)
			defer s.Close(context.Background(), session.CloseOptions{Force: true})
			put(t, far, userPrompt)
			r := session.ExecRequest{
				Command: strings.Repeat("a", 1000),
				Class:   tt.asked,
				Timeout: time.Second,
				Lane:    session.LaneTerminal,
			}
			_, err := s.Exec(t.Context(), r)
			if questions != tt.answers || tt.limit != errors.Is(err, term.InvalidArgument) {
				t.Errorf("%+v: asked %d times, error %v", tt, questions, err)
			}
			if tt.limit { // nothing was typed, so auto still has the choice
				r.Command, r.Lane = "id", session.LaneAuto
				if got := run(t, s, r); got.Lane != session.LaneChannel {
					t.Errorf("%+v: lane %s", tt, got.Lane)
				}
			}
		})
	}
	inShell(
		t,
		"r1#",
		session.Options{Expect: session.Expect{Class: session.ClassDevice}},
		func(t *testing.T, s *session.Session, sh *fakeShell) {
			if got := run(t, s, session.ExecRequest{Command: "show version"}); got.Lane != session.LaneTerminal ||
				got.ExitReason != "no_status" {
				t.Errorf("show version = %+v, want the terminal lane and no_status", got)
			}
		},
	)
	synctest.Test(t, func(t *testing.T) { // with a channel to be had, and nothing typed yet
		near, far := widePipe()
		s := session.New(
			&shell{Plain: plain{ReadWriteCloser: near}},
			session.Options{Expect: session.Expect{Class: session.ClassDevice}},
		)
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		put(t, far, "r1#")
		got := run(t, s, session.ExecRequest{Command: "show version", Idle: time.Second})
		if got.Lane != session.LaneTerminal {
			t.Errorf("show version on lane %q, want the terminal lane", got.Lane)
		}
	})
}
