package keys_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/session/internal/sessiontest"
	"ptyctl/session/keys"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

const typed = sessiontest.Typed

// Helpers for all tests of sessions.
type (
	plain = sessiontest.Plain
	shell = sessiontest.Shell
	diary = sessiontest.Diary
)

var (
	start    = sessiontest.Start
	put      = sessiontest.Put
	take     = sessiontest.Take
	wantKind = sessiontest.WantKind
	widePipe = sessiontest.WidePipe
	manage   = sessiontest.Manage
	target   = sessiontest.Target
)

// Text that spells a key is typed as given, and the result names the key.
func TestSpelledKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		type row struct{ data, want string } // want: part of the warning; empty: no warning
		rows := []row{
			{`\x03`, `"ctrl_c"`},
			{`\u0003`, `"ctrl_c"`},
			{`\003`, `"ctrl_c"`},
			{`^C`, `"ctrl_c"`},
			{"^C\r", `"ctrl_c"`},
			{`^[`, `"esc"`},
			{`\e`, `"esc"`},
			{`\x1b`, `"esc"`},
			{`\x1b[A`, `"arrow_up"`},
			{`^[[A`, `"arrow_up"`},
			{`\033OA`, `"arrow_up"`},
			{`\x1b[21~`, `"f10"`},
			{`\t`, `"tab"`},
			{`^?`, `"backspace"`},
			{`^M`, `"enter"`},
			{`\n`, `"enter"`},
			{`\r`, `"enter"`},
			{`\r\n`, `"enter"`},
			{`^]`, `"ctrl_right_bracket"`},
			{`\x1bf`, ""},
			{`ls -l\n`, `"enter"`},
			{`ls -l\r\n`, `"enter"`},
			{`ls -l\x0d`, `"enter"`},
			{`:wq\u000d`, `"enter"`},
			{`sleep 9\x03`, `"ctrl_c"`},
			{`exit\x04`, `"ctrl_d"`},
			{`ctrl_c`, `"ctrl_c"`},
			{`Ctrl+C`, `"ctrl_c"`},
			{`C-c`, `"ctrl_c"`},
			{`<C-c>`, `"ctrl_c"`},
			{`<Enter>`, `"enter"`},
			{`{ENTER}`, `"enter"`},
			{"arrow_up\r", `"arrow_up"`},

			{"ls\r", ""},
			{"\x03", ""},
			{"\x1b[A", ""},
			{`printf 'a\n'`, ""},
			{"echo foo\\n\r", ""},
			{`C:\new`, ""},
			{`grep -E ^C`, ""},
			{"OK", ""},
			{"[A", ""},
			{"enter", ""},
			{"end", ""},
			{`foo\\n`, ""},
			{"", ""},
			{"x", ""},
			{`\`, ""},
			{"^", ""},
			{"c", ""},
			{`<b>`, ""},
			{`echo \x41`, ""},
			{`\x41`, ""},
		}
		for _, r := range rows {
			got, err := s.Write(t.Context(), []byte(r.data), session.WriteOptions{})
			if err != nil || got.Written != len(r.data) || take(t, far, len(r.data)) != r.data {
				t.Fatalf("%q: %+v, %v", r.data, got, err)
			}
			if r.want == "" != (len(got.Warnings) == 0) || r.want != "" && !strings.Contains(got.Warnings[0], r.want) {
				t.Errorf("%q: warnings %q, want one with %s", r.data, got.Warnings, r.want)
			}
		}
	})
}

// Of a secret, a warning repeats no more than the escape at its end.
func TestSpelledKeysOfASecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, 0, session.Options{})
		got, err := s.Write(t.Context(), []byte(typed+`\n`), session.WriteOptions{Sensitive: true})
		if err != nil || len(got.Warnings) != 1 || strings.Contains(got.Warnings[0], typed[:5]) {
			t.Errorf("%+v, %v", got, err)
		}
		if got, _ := s.Write(t.Context(), []byte(`^C`), session.WriteOptions{Sensitive: true}); got.Warnings != nil {
			t.Errorf("sensitive write = %+v, want no warnings", got)
		}
	})
}

// A line that is longer than a terminal takes is warned of, also where it is typed in pieces and before it is ended.
func TestLongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		warned := func(data string) bool {
			t.Helper()
			r, err := s.Write(t.Context(), []byte(data), session.WriteOptions{})
			if err != nil || r.Written != len(data) {
				t.Fatalf("%+v, %v", r, err)
			}
			if len(r.Warnings) > 0 && !strings.Contains(r.Warnings[0], "4095") {
				t.Errorf("warnings = %q, want the first to name 4095", r.Warnings)
			}
			return len(r.Warnings) > 0
		}
		x := func(n int) string { return strings.Repeat("x", n) }
		for i, row := range []struct {
			data string
			want bool
		}{
			{x(4095) + "\r", false},
			{x(4096) + "\r", true},
			{x(3000), false},
			{x(1095), false},
			{"y", true}, // the line that is being typed is too long now
			{"\r", true},
			{x(3000), false},
			{"\x15", false}, // erased
			{x(3000), false},
			{"\x03", false},
			{strings.Repeat(x(4000)+"\n", 5) + x(95), false},
			{x(4001), true},
			{"\r" + x(4096) + "\r" + x(10), true},
			{x(4080), false},
		} {
			if got := warned(row.data); got != row.want {
				t.Errorf("row %d: warned %v, want %v", i, got, row.want)
			}
		}
		warned("\r")
		put(t, far, "\x1b[?2004h$ ") // a line editor
		if warned(x(5000) + "\r") {
			t.Error("warned, though a line editor takes any length")
		}
		put(t, far, "\x1b[?2004l\r")
		if !warned(x(5000)) {
			t.Error("not warned, though the line editor is done")
		}
		put(t, far, "\x1b[?1049h")
		if warned(x(5000)) {
			t.Error("warned, though a full-screen program reads keys")
		}
	})
}

// Keys that end a line end it for the next one.
func TestKeysEndALongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, "$ ")
		w := func(text, key string) []string {
			r, err := s.Write(t.Context(), []byte(text), session.WriteOptions{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			return r.Warnings
		}
		w(strings.Repeat("x", 4000), "")
		w("", "enter")
		if got := w(strings.Repeat("y", 200), ""); got != nil {
			t.Errorf("warnings after enter = %q, want none for 200 bytes", got)
		}
		w("", "ctrl_c")
		if got := w(strings.Repeat("y", 4000), ""); got != nil {
			t.Errorf("warnings after ctrl_c = %q, want none for 4000 bytes", got)
		}
	})
}

func TestPaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		paste := func(data, want string, warnings int) {
			t.Helper()
			r, err := s.Write(t.Context(), []byte(data), session.WriteOptions{Paste: true})
			if err != nil || r.Written != len(want) || len(r.Warnings) != warnings {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := take(t, far, len(want)); got != want {
				t.Errorf("sent %q, want %q", got, want)
			}
		}
		paste("one", "one", 0)
		paste("one\n", "one\r", 0)
		paste("one\ntwo\r\nthree\r", "one\rtwo\rthree\r", 1)
		put(t, far, "\x1b[?2004h$ ")
		paste("one\n\ttwo\r\n", "\x1b[200~one\r\ttwo\r\x1b[201~", 0)
		if _, err := s.Write(t.Context(), []byte("x\x1b[201~rm -rf /\r"), session.WriteOptions{Paste: true}); err == nil {
			t.Fatal("the paste was ended from within")
		} else if e := wantKind(t, err, term.InvalidArgument); term.FactOf[term.ArgumentFault](e).Field != term.FieldData {
			t.Errorf("refusal = %+v, want it to concern the data", e)
		}
		put(t, far, "\x1b[?2004l\r")
		paste("one", "one", 0)
	})
}

// The Gate sees a paste as it goes out, and a question of the login gets the plain answer.
func TestPasteIsJudgedAsItGoesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var judged []string
		s, far := start(t, 0, session.Options{Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			judged = append(judged, string(a.Data))
			return term.Ruling{}, nil
		}})
		put(t, far, "\x1b[?2004h")
		if _, err := s.Write(t.Context(), []byte("a\n"), session.WriteOptions{Paste: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(judged, "|"); got != "\x1b[200~a\r\x1b[201~" {
			t.Errorf("judged %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan string, 1)
		near, _ := widePipe()
		m := manage(t, func(ctx context.Context, _ term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
			a, err := p.Prompt(ctx, term.Prompt{Text: "Password: "})
			answer <- a
			return &plain{ReadWriteCloser: near}, err
		}, session.Config{})
		opened, err := m.Open(t.Context(), target("web1"))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := opened.Session.Write(t.Context(), []byte(typed+"\n"), session.WriteOptions{Paste: true}); err != nil ||
			!r.Answered {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := <-answer; got != typed {
			t.Errorf("answered %q", got)
		}
	})
}

// A keyed is a shell over a protocol with keys of its own.
type keyed struct {
	shell
	send func(name string) error
}

func (k *keyed) SendKey(_ context.Context, name string) error { return k.send(name) }

// A key that the protocol does not have is not typed: commands still run beside the terminal.
func TestRefusedKeyIsNoTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := bufpipe.New(0)
		k := &keyed{
			shell: shell{Plain: plain{ReadWriteCloser: near}},
			send:  func(string) error { return &term.Error{Kind: term.Unsupported, Msg: "SSH has no key ayt"} },
		}
		k.OnExec = func(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
			return term.Exit{Known: true}, nil
		}
		s := session.New(k, session.Options{})
		defer s.Close(context.Background(), session.CloseOptions{Force: true})
		put(t, far, "$ ")
		_, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "ayt"})
		wantKind(t, err, term.Unsupported)
		if s.Info().Typed {
			t.Error("typed")
		}
		got, err := s.Exec(t.Context(), session.ExecRequest{Command: "id"})
		if err != nil || got.Lane != session.LaneChannel {
			t.Errorf("lane %s, %v", got.Lane, err)
		}
	})
}

// A key goes out in the form that the program has asked for, and its name is on record.
func TestKeyInTheFormAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen diary
		s, far := start(t, 0, session.Options{Observers: []term.Observer{&seen}})
		press := func(want string) {
			t.Helper()
			r, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "arrow_up"})
			if err != nil || r.Written != len(want) || r.Warnings != nil {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := take(t, far, len(want)); got != want {
				t.Errorf("sent %q, want %q", got, want)
			}
		}
		press("\x1b[A")
		put(t, far, "\x1b[?1h\x1b=") // smkx, as less, vim and readline's callers send it
		press("\x1bOA")
		put(t, far, "\x1b[?1l\x1b>")
		press("\x1b[A")
		if e := seen.Of(term.VerbWrite); len(e) != 3 || e[1].Detail != "arrow_up" || string(e[1].Data) != "\x1bOA" {
			t.Errorf("write events = %+v, want arrow_up as ESC O A in the second of three", e)
		}
		e := wantKind(
			t,
			func() error { _, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "Ctrl-C"}); return err }(),
			term.InvalidArgument,
		)
		if !strings.Contains(e.Msg, "use ctrl_c") || term.FactOf[term.ArgumentFault](e).Field != term.FieldKey {
			t.Errorf("refusal = %+v, want it to concern the key and advise ctrl_c", e)
		}
		e = wantKind(
			t,
			func() error { _, err := s.Write(t.Context(), nil, session.WriteOptions{Key: "hyper_x"}); return err }(),
			term.InvalidArgument,
		)
		if !strings.Contains(e.Msg, keys.List) {
			t.Errorf("refusal = %+v, want it to list the keys", e)
		}
	})
}
