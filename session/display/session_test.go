package display_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/screen"
	"ptyctl/session"
	"ptyctl/session/display"
	"ptyctl/term"
)

// opened opens a session with a terminal of 20 columns and 5 rows.
func opened(tb testing.TB) (*session.Session, io.ReadWriter) {
	tb.Helper()
	return start(tb, 0, session.Options{PTY: term.PTY{Cols: 20, Rows: 5}})
}

// rows returns the screen's rows, without the empty ones at its end.
func rows(s *session.Session) string {
	synctest.Wait()
	return strings.TrimRight(s.Screen(context.Background(), 0).Text(), "\n")
}

// secretly types a secret, and takes it at the far side.
func secretly(tb testing.TB, s *session.Session, far io.Reader, text string) {
	tb.Helper()
	if strings.Contains(text, "1138") {
		leaktest.Secret(tb, strings.TrimRight(text, "\r"))
	}
	if _, err := s.Write(tb.Context(), []byte(text), session.WriteOptions{Sensitive: true}); err != nil {
		tb.Fatalf("Write(secret) = %v", err)
	}
	take(tb, far, len(text))
}

func TestScreenOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := opened(t)
		if got := rows(s); got != "" {
			t.Errorf("before any output the screen shows %q, want nothing", got)
		}
		put(t, far, "one\r\ntwo\x1b[1;3H!\x1b]0;a title\a")
		if got, want := rows(s), "on!\ntwo"; got != want {
			t.Errorf("the screen shows %q, want %q", got, want)
		}
		first := s.Screen(t.Context(), 0)
		if first.Title != "a title" || first.Cursor != (screen.Cursor{Row: 0, Col: 3}) || !first.Full {
			t.Errorf("title %q, cursor %+v, full %v: want \"a title\" at 0, 3, full", first.Title, first.Cursor, first.Full)
		}
		put(t, far, "\x1b[4;1Hfour")
		synctest.Wait()
		if d := s.Screen(t.Context(), first.Version); d.Full || fmt.Sprint(d.Changed) != "[3]" {
			t.Errorf("since version %d rows %v changed (full: %v), want [3]", first.Version, d.Changed, d.Full)
		}
		if err := s.Resize(t.Context(), 10, 3); err != nil {
			t.Fatal(err)
		}
		put(t, far, "\x1b[2J\x1b[H0123456789ab")
		if got, want := rows(s), "0123456789\nab"; got != want {
			t.Errorf("after a resize the screen shows %q, want %q", got, want)
		}
		s.Close(t.Context(), session.CloseOptions{})
		if got, want := rows(s), "0123456789\nab"; got != want {
			t.Errorf("after the end the screen shows %q, want %q", got, want)
		}
	})
}

// A terminal may be larger than a screen.
func TestHugeTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{PTY: term.PTY{Cols: 10000, Rows: 10000}})
		put(t, far, strings.Repeat("x", 1001))
		synctest.Wait()
		d := s.Screen(t.Context(), 0)
		if d.Cols != screen.MaxCols || d.Rows != screen.MaxRows || d.Row(1) != "x" {
			t.Errorf("the screen has %d columns, %d rows, and row 1 is %q; want the most, and a row that wraps",
				d.Cols, d.Rows, d.Row(1))
		}
	})
}

func TestSecretsOnTheScreen(t *testing.T) {
	const secret = "hunter22-1138"
	stars := strings.Repeat("*", len(secret))
	for _, tc := range []struct{ name, secret, out, want string }{
		{"echoed", secret, "pw: " + secret + "\r\nok", "pw: " + stars + "\nok"},
		{"what follows keeps its column", secret, secret + "|", stars + "|"},
		{"over the right edge", secret, "password12345: " + secret, "password12345: *****\n********"},
		{"wrapped by a line editor", secret, "password12345: hunte \rr22-1138", "password12345: *****\n********"},
		{"over the edge by a program", secret, "password12345: hunte\x1b[5;1H.\x1b[2;1Hr22-1138", "password12345: *****\n********\n\n\n."},
		{"in two pieces", secret, "\x1b[2;1Hhunter\x1b[4;1H" + strings.Repeat(".", 40) + "\x1b[2;7H22-1138", "\n" + stars + "\n\n" + strings.Repeat(".", 20) + "\n" + strings.Repeat(".", 20)},
		{"the end first", secret, "\x1b[2;7H22-1138\x1b[5;1H.\x1b[2;1Hhunter", "\n" + stars + "\n\n\n."},
		{"moved", secret, secret + "\r\x1b[3@", "   " + stars},
		{"scrolled", secret, "1\r\n" + secret + "\r\n3\x1b[S", stars + "\n3"},
		{"coloured", secret, "hunt\x1b[31mer22\x1b[0m-1138", stars},
		{"a common word, echoed", "admin", "admin\r\nadmin@r1>", "*****\n*****@r1>"},
		{"a common word, not echoed", "admin", "\r\nadmin@r1>", "\nadmin@r1>"},
		{"tiny", "12", "PIN: 12 12", "PIN: ** 12"},
		{"repeated by REP", "12x", "12x\x1b[4b", "***"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for cut := range len(tc.out) + 1 {
				synctest.Test(t, func(t *testing.T) {
					s, far := opened(t)
					secretly(t, s, far, tc.secret+"\r")
					put(t, far, tc.out[:cut])
					put(t, far, tc.out[cut:])
					time.Sleep(time.Second) // whatever is held back comes
					if got := rows(s); got != tc.want {
						t.Errorf("%q, cut at %d, shows %q, want %q", tc.out, cut, got, tc.want)
					}
					s.Close(t.Context(), session.CloseOptions{})
					if got := rows(s); got != tc.want {
						t.Errorf("%q, cut at %d, shows %q after the end, want %q", tc.out, cut, got, tc.want)
					}
				})
			}
		})
	}
}

// No part of a result shows a secret: the title, the folder, links, differences, a pattern that matches.
func TestSecretsBesideTheRows(t *testing.T) {
	const secret = "hunter22-1138"
	synctest.Test(t, func(t *testing.T) {
		s, far := opened(t)
		secretly(t, s, far, secret)
		before := s.Screen(t.Context(), 0)
		time.Sleep(time.Minute) // its echo is not expected any more
		put(t, far, "\x1b]2;vi "+secret+"\a\x1b]7;file://h/"+secret+"\a\x1b]8;;http://h/"+secret+"\alink\x1b]8;;\a\r\n"+secret)
		synctest.Wait()
		d := s.Screen(t.Context(), before.Version)
		all := d.Render(screen.Options{Attributes: true, Links: true, BoxDrawing: true}) + d.Title + d.Dir
		for y := range d.Rows {
			for x := range d.Cols {
				c := d.Cell(y, x)
				all += string(c.Rune) + c.Link
			}
		}
		if strings.Contains(all, secret) || !strings.Contains(all, "vi *************") {
			t.Errorf("the difference is %q, want the secret covered", all)
		}
		c := s.Read(t.Context(), session.ReadRequest{Screen: session.ScreenWait{Shows: re(secret)}, Timeout: time.Minute})
		if c.Reason != session.ReasonTimeout {
			t.Errorf("a wait for the secret stopped with %s, want timeout: a caller could guess it so", c.Reason)
		}
		s.Close(t.Context(), session.CloseOptions{})
		if d := s.Screen(t.Context(), 0); strings.Contains(d.Render(screen.Options{Links: true})+d.Title+d.Dir, secret) {
			t.Errorf("after the end the screen is %q, want the secret covered", d.Render(screen.Options{Links: true}))
		}
	})
}

// An echo in a title is masked while the title is drawn.
func TestSecretEchoedInATitle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := opened(t)
		secretly(t, s, far, "admin\r")
		put(t, far, "\x1b]0;admin\a$ ")
		synctest.Wait()
		if d := s.Screen(t.Context(), 0); d.Title != "********" || d.Row(0) != "$" {
			t.Errorf("the title is %q and the row %q, want asterisks and $", d.Title, d.Row(0))
		}
	})
}

// More secrets than are kept stay covered where the screen shows them.
func TestMoreSecretsThanAreKept(t *testing.T) {
	d := display.New(40, 3)
	d.Expect([]byte("hunter22-1138"))
	d.Show([]byte("hunter22-1138\r\n"), nil)
	d.Show([]byte("\x1b[?1049h\x1b[2Jon hunter22-1138"), nil)
	d.Expect([]byte(strings.Repeat("0123456789-1138 other\r", 8<<10)))
	if got, want := d.View(0).Row(0), ""; got != want {
		t.Errorf("row 0 is %q, want %q", got, want)
	}
	if got, want := d.View(0).Row(1), "on *************"; got != want {
		t.Errorf("row 1 is %q, want %q", got, want)
	}
	d.Show([]byte("\x1b[?1049l"), nil)
	if got, want := d.View(0).Row(0), "*************"; got != want {
		t.Errorf("row 0 of the main screen is %q, want %q", got, want)
	}
}

// A title that has begun when a secret is forgotten may go on with the rest of it.
func TestSecretInAnOpenTitle(t *testing.T) {
	d := display.New(40, 3)
	d.Show([]byte("\x1b]0;first\a"), nil)
	d.Expect([]byte("hunter22-1138"))
	d.Show([]byte("\x1b]0;on hunter2"), nil)
	d.Expect([]byte(strings.Repeat("0123456789-1138 other\r", 8<<10)))
	d.Show([]byte("2-1138\ax"), nil)
	if v := d.View(0); v.Title != "first" || v.Row(0) != "x" {
		t.Errorf("the title is %q and the row %q, want first and x", v.Title, v.Row(0))
	}
	d.Show([]byte("\x1b]0;last\a"), nil)
	if v := d.View(0); v.Title != "last" {
		t.Errorf("the title is %q, want last", v.Title)
	}
}

// A short secret is covered wherever it is a whole word, unless it looks like an ordinary word or was shown before.
func TestShortSecrets(t *testing.T) {
	for _, tc := range []struct{ name, before, secret, after, want string }{
		{"letters and digits", "pw: ", "q7w1x", "\r\nis q7w1x", "pw:\nis *****"},
		{"capitals within", "pw: ", "quXoz", "\r\n(quXoz)", "pw:\n(*****)"},
		{"a sign", "pw: ", "pa$s", "\r\npa$s", "pw:\n****"},
		{"six digits", "pin: ", "471100", "\r\n471100", "pin:\n******"},
		{"in pieces", "pw: ", "q7w1x", "\x1b[2;1Hq7w\x1b[3;1H.\x1b[2;4H1x", "pw:\n*****\n."},
		{"over the edge", "pw: ", "q7w1x", "\r\n01234567890123456 q7w1x", "pw:\n01234567890123456 **\n***"},
		{"in a longer word", "pw: ", "q7w1x", "\r\naq7w1x q7w1xb", "pw:\naq7w1x q7w1xb"},
		{"with blanks", "pw: ", "q7w1x", "\r\nq7 w1x", "pw:\nq7 w1x"},
		{"shown before", "host q7w1x: ", "q7w1x", "\r\nq7w1x$", "host q7w1x:\nq7w1x$"},
		{"a word", "pw: ", "admin", "\r\nadmin$", "pw:\nadmin$"},
		{"a word with a capital", "pw: ", "Admin", "\r\nAdmin$", "pw:\nAdmin$"},
		{"capitals", "pw: ", "ADMIN", "\r\nADMIN$", "pw:\nADMIN$"},
		{"a number", "pin: ", "4711", "\r\n4711", "pin:\n4711"},
		{"a time", "pin: ", "12:30", "\r\n12:30", "pin:\n12:30"},
		{"a version", "pw: ", "v1.2.3", "\r\nv1.2.3", "pw:\nv1.2.3"},
		{"a file", "pw: ", "go.mod", "\r\ngo.mod", "pw:\ngo.mod"},
		{"three characters", "pw: ", "a1$", "\r\na1$", "pw:\na1$"},
	} {
		for _, drawn := range []bool{false, true} {
			d := display.New(20, 5)
			d.Show([]byte(tc.before), nil)
			if drawn {
				d.View(0)
			}
			d.Expect([]byte(tc.secret + "\r"))
			d.Show([]byte(tc.after), nil)
			if got := strings.TrimRight(d.View(0).Text(), "\n"); got != tc.want {
				t.Errorf("%s: after %q, the secret %q and %q the screen shows %q, want %q (drawn before: %v)",
					tc.name, tc.before, tc.secret, tc.after, got, tc.want, drawn)
			}
			d.End()
			if got := strings.TrimRight(d.View(0).Text(), "\n"); got != tc.want {
				t.Errorf("%s: at the end the screen shows %q, want %q", tc.name, got, tc.want)
			}
		}
	}
}

// The echo of an earlier secret is no reason to show the next one of that text.
func TestShortSecretTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := opened(t)
		for range 2 {
			secretly(t, s, far, "q7w1x\r")
			put(t, far, "q7w1x\r\n")
			time.Sleep(time.Minute)
			put(t, far, "q7w1x\r\n")
		}
		if got, want := rows(s), "*****\n*****\n*****\n*****"; got != want {
			t.Errorf("the screen shows %q, want %q", got, want)
		}
	})
}

func TestWaitsForTheScreen(t *testing.T) {
	type event struct {
		after time.Duration
		out   string
	}
	const ms = time.Millisecond
	for _, tc := range []struct {
		name   string
		events []event
		wait   session.ScreenWait
		want   session.Reason
		took   time.Duration
	}{
		{"is there", []event{{0, "ready"}}, session.ScreenWait{Shows: re(`^ready$`)}, session.ReasonMatched, 0},
		{"comes", []event{{50 * ms, "rea"}, {50 * ms, "\x1b[H\x1b[3Cdy"}}, session.ScreenWait{Shows: re(`^ready$`)}, session.ReasonMatched, 100 * ms},
		{"a prompt", []event{{50 * ms, "$ "}}, session.ScreenWait{Shows: re(`^\$ $`)}, session.ReasonMatched, 50 * ms},
		{"a blank too many", []event{{50 * ms, "$ "}, {50 * ms, "\b"}}, session.ScreenWait{Shows: re(`^\$  $`)}, session.ReasonTimeout, 10 * time.Second},
		{"over two rows", []event{{50 * ms, "0123456789012345ready"}}, session.ScreenWait{Shows: re(`ready$`)}, session.ReasonMatched, 50 * ms},
		{"over all rows", []event{{50 * ms, "a\r\nb"}}, session.ScreenWait{Shows: re(`a\nb\n`)}, session.ReasonMatched, 50 * ms},
		{"a box", []event{{50 * ms, "│ ok │"}}, session.ScreenWait{Shows: re(`\| ok \|`)}, session.ReasonMatched, 50 * ms},
		{"never", []event{{50 * ms, "no"}}, session.ScreenWait{Shows: re(`yes`)}, session.ReasonTimeout, 10 * time.Second},
		{"in a frame", []event{{50 * ms, "\x1b[?2026hready"}, {100 * ms, "\x1b[?2026l"}}, session.ScreenWait{Shows: re(`ready`)}, session.ReasonMatched, 150 * ms},
		{"in a frame without end", []event{{50 * ms, "\x1b[?2026hready"}}, session.ScreenWait{Shows: re(`ready`)}, session.ReasonMatched, 1050 * ms},
		{"cursor", []event{{50 * ms, "abc"}, {50 * ms, "\x1b[2;4H"}}, session.ScreenWait{Cursor: session.ScreenPoint{Row: 2, Col: 4}}, session.ReasonMatched, 100 * ms},
		{"row of the cursor", []event{{50 * ms, "abc"}, {50 * ms, "\r\n"}}, session.ScreenWait{Cursor: session.ScreenPoint{Row: 2}}, session.ReasonMatched, 100 * ms},
		{"other column", []event{{50 * ms, "abc"}}, session.ScreenWait{Cursor: session.ScreenPoint{Row: 1, Col: 3}}, session.ReasonTimeout, 10 * time.Second},
		{"at rest", nil, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 300 * ms},
		{"at rest after changes", []event{{100 * ms, "a"}, {200 * ms, "b"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 600 * ms},
		{"drawn again", []event{{100 * ms, "a"}, {200 * ms, "\ra"}, {50 * ms, "\ra"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 400 * ms},
		{"after a frame", []event{{100 * ms, "\x1b[?2026ha"}, {50 * ms, "\x1b[?2026l"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 150 * ms},
		{"a frame of nothing", []event{{100 * ms, "\x1b[?2026h\x1b[?2026l"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 300 * ms},
		{"of a program that starts", []event{{50 * ms, "\x1b[?1049h"}, {700 * ms, "text"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 1050 * ms},
		{"of a program that shows nothing", []event{{50 * ms, "\x1b[?1049h"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 1000 * ms},
		{"within a frame", []event{{100 * ms, "\x1b[?2026ha"}, {800 * ms, "\x1b[?2026l"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 900 * ms},
		{"in a frame that was not ended", []event{{100 * ms, "\x1b[?2026ha"}}, session.ScreenWait{Stable: 300 * ms}, session.ReasonStable, 1400 * ms},
		{"what comes first", []event{{50 * ms, "x"}}, session.ScreenWait{Shows: re("y"), Stable: 100 * ms, Cursor: session.ScreenPoint{Row: 1, Col: 2}}, session.ReasonMatched, 50 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := opened(t)
				if len(tc.events) > 0 && tc.events[0].after == 0 {
					put(t, far, tc.events[0].out)
					tc.events = tc.events[1:]
					synctest.Wait()
				}
				go func() {
					for _, e := range tc.events {
						time.Sleep(e.after)
						put(t, far, e.out)
					}
				}()
				began := time.Now()
				c := s.Read(t.Context(), session.ReadRequest{
					Cursor: session.Latest, Screen: tc.wait, Tail: true, MaxBytes: 1, Timeout: 10 * time.Second,
				})
				if took := time.Since(began); c.Reason != tc.want || took != tc.took {
					t.Errorf("Read(%+v) stopped after %s with %s, want after %s with %s", tc.wait, took, c.Reason, tc.took, tc.want)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// A wait for the answer to a write is not met before that has come, or has not for 1.5 s. A screen that meets the wait
// is returned 50 ms later, when it counts as drawn.
func TestRestOfAnAnswer(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name   string
		events []time.Duration // pauses before the pieces of the answer
		wait   session.ScreenWait
		want   session.Reason
		took   time.Duration
	}{
		{"none", nil, session.ScreenWait{Stable: 200 * ms}, session.ReasonStable, 1500 * ms},
		{"none, and a long rest", nil, session.ScreenWait{Stable: 2500 * ms}, session.ReasonStable, 2500 * ms},
		{"in one piece", []time.Duration{600 * ms}, session.ScreenWait{Stable: 200 * ms}, session.ReasonStable, 800 * ms},
		{"in pieces", []time.Duration{600 * ms, 150 * ms, 150 * ms}, session.ScreenWait{Stable: 200 * ms}, session.ReasonStable, 1100 * ms},
		{"late", []time.Duration{1450 * ms}, session.ScreenWait{Stable: 200 * ms}, session.ReasonStable, 1650 * ms},
		{"too late", []time.Duration{1600 * ms}, session.ScreenWait{Stable: 200 * ms}, session.ReasonStable, 1500 * ms},
		{"what was there", []time.Duration{600 * ms}, session.ScreenWait{Shows: re("^before")}, session.ReasonMatched, 650 * ms},
		{"what was there, and no answer", nil, session.ScreenWait{Shows: re("^before")}, session.ReasonMatched, 1550 * ms},
		{"what comes", []time.Duration{600 * ms, 100 * ms}, session.ScreenWait{Shows: re("xx$")}, session.ReasonMatched, 750 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := opened(t)
				put(t, far, "before")
				synctest.Wait()
				r := session.ReadRequest{Cursor: s.End(), Screen: tc.wait, Timeout: 10 * time.Second}
				go func() {
					for _, pause := range tc.events {
						time.Sleep(pause)
						put(t, far, "x")
					}
				}()
				began := time.Now()
				_, c := s.ServerView().ReadScreen(t.Context(), r, 0, "screen")
				if took := time.Since(began); c.Reason != tc.want || took != tc.took {
					t.Errorf("ReadScreen stopped after %s with %s, want after %s with %s", took, c.Reason, tc.took, tc.want)
				}
				if c.Next != s.End() || len(c.Data) > 0 {
					t.Errorf("ReadScreen returned %q up to %d, want no data, up to %d", c.Data, c.Next, s.End())
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// A wait ends with its context, with the session, and after a resize that meets it.
func TestWaitsForTheScreenEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := opened(t)
		put(t, far, "0123456789\r\n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		never := session.ReadRequest{Screen: session.ScreenWait{Shows: re(`^never$`)}}
		if c := s.Read(ctx, never); c.Reason != session.ReasonCanceled {
			t.Errorf("Read stopped with %s, want canceled", c.Reason)
		}
		time.AfterFunc(time.Second, func() { _ = s.Resize(context.Background(), 5, 5) })
		if c := s.Read(t.Context(), session.ReadRequest{Screen: session.ScreenWait{Shows: re(`^56789$`)}}); c.Reason != session.ReasonMatched {
			t.Errorf("Read across a resize stopped with %s, want matched", c.Reason)
		}
		time.AfterFunc(time.Second, func() { s.Close(context.Background(), session.CloseOptions{}) })
		if c := s.Read(t.Context(), never); c.Reason != session.ReasonEOF {
			t.Errorf("Read across the end of the session stopped with %s, want eof", c.Reason)
		}
		if c := s.Read(t.Context(), session.ReadRequest{Screen: session.ScreenWait{Cursor: session.ScreenPoint{Row: 3}}}); c.Reason != session.ReasonMatched {
			t.Errorf("Read of a screen that matches, after the end, stopped with %s, want matched", c.Reason)
		}
	})
}

func TestStepsWaitForTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := opened(t)
		go func() {
			take(t, far, 1)
			put(t, far, "\x1b[3;1Hmenu\x1b[?1000h\x1b[?1006h")
			take(t, far, len("\x1b[<0;2;3M\x1b[<0;2;3m"))
			put(t, far, "\x1b[2J\x1b[Hchosen")
		}()
		res, err := s.WriteSteps(t.Context(), []session.Step{
			{Inputs: []session.StepInput{{Data: []byte("m")}}, Wait: session.StepWait{Screen: session.ScreenWait{Shows: re("menu")}}},
			{Inputs: []session.StepInput{{Click: session.ScreenPoint{Row: 3, Col: 2}}}, Wait: session.StepWait{Screen: session.ScreenWait{Stable: time.Second}}},
		}, time.Minute)
		if err != nil || res.Stopped != "" || rows(s) != "chosen" {
			t.Errorf("WriteSteps = %+v, %v, and the screen shows %q; want all done, and chosen", res, err, rows(s))
		}
	})
}

func TestClick(t *testing.T) {
	for _, tc := range []struct {
		modes    string
		row, col int
		want     string
	}{
		{"\x1b[?9h", 1, 1, "\x1b[M !!"},
		{"\x1b[?1000h", 2, 3, "\x1b[M #\"\x1b[M##\""},
		{"\x1b[?1002h\x1b[?1006h", 2, 3, "\x1b[<0;3;2M\x1b[<0;3;2m"},
		{"\x1b[?1003h\x1b[?1015h", 2, 3, "\x1b[32;3;2M\x1b[35;3;2M"},
		{"\x1b[?1000h\x1b[?1005h", 1, 200, "\x1b[M \u00e8!\x1b[M#\u00e8!"},
		{"\x1b[?1000;1005;1006h", 5, 300, "\x1b[<0;300;5M\x1b[<0;300;5m"},
		{"\x1b[?1000h\x1b[?1006h\x1b[?1006l", 1, 1, "\x1b[M !!\x1b[M#!!"},
		{"\x1b[?1000h", 1, 224, ""}, // too far for a byte
		{"\x1b[?1000h\x1b[?1016h", 1, 1, ""},
		{"\x1b[?1000h", 6, 1, ""},
		{"\x1b[?1000h", 1, 0, ""},
	} {
		d := display.New(300, 5)
		d.Show([]byte(tc.modes), nil)
		if got, err := d.Click(display.Point{Row: tc.row, Col: tc.col}); string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("Click(%d, %d) after %q = %q, %v, want %q", tc.row, tc.col, tc.modes, got, err, tc.want)
		}
	}
	if _, err := display.New(80, 24).Click(display.Point{Row: 1, Col: 1}); !errors.Is(err, display.ErrNoMouse) {
		t.Errorf("Click without a mouse mode = %v, want ErrNoMouse", err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, _ := opened(t)
		_, err := s.Write(t.Context(), nil, session.WriteOptions{Click: session.ScreenPoint{Row: 1, Col: 1}})
		wantKind(t, err, term.Unsupported)
	})
}

// Output that is made to be costly is left out once it has cost too much, and what comes then is drawn.
func TestCostlyOutput(t *testing.T) {
	for _, tc := range []struct {
		name, out string
		n         int
		partial   bool
	}{
		{"a screen of E, again and again", "\x1b#8", 40_000, true},
		{"margins", "\x1b[?69h\x1b[2;300s\x1b[2G\x1b[M", 20_000, true},
		{"colours to the end", "\x1b[41m\x1b[2J", 20_000, true},
		{"frames", "\x1b[?2026hx\x1b[?2026l", 20_000, true},
		{"protected cells", "\x1b[1\"q" + strings.Repeat("x", 300*100) + strings.Repeat("\x1b[?2J", 20_000), 1, true},
		{"backspaces over narrow rows", "\x1b[?1045h\x1b[?69h\x1b[1;2s" + strings.Repeat("\x1b[65535D", 20_000), 1, true},
		{"resets", "\x1bc", 50_000, false},
		{"a full screen", "\x1b[H" + strings.Repeat("text ", 24*16), 2000, false},
		{"a log", "a line of text\r\n", 50_000, false},
	} {
		synctest.Test(t, func(t *testing.T) { // no time passes, so nothing else is paid
			d := display.New(300, 100)
			d.Show([]byte(strings.Repeat(tc.out, tc.n)), nil)
			if v := d.View(0); v.Partial != tc.partial {
				t.Errorf("%s: partial = %v, want %v", tc.name, v.Partial, tc.partial)
			}
			d.Show([]byte(strings.Repeat(tc.out, tc.n)+"\x1bcthe end"), nil)
			if v := d.View(0); v.Partial || v.Row(0) != "the end" {
				t.Errorf("%s: after a reset partial = %v, and the first row is %q; want \"the end\"", tc.name, v.Partial, v.Row(0))
			}
			d.Show(bytes.Repeat([]byte("\x00"), 1<<20), nil) // it has paid by now
			d.Show([]byte("\x1bcand here"), nil)
			if v := d.View(0); v.Row(0) != "and here" {
				t.Errorf("%s: then the first row is %q, want \"and here\"", tc.name, v.Row(0))
			}
		})
	}
}
