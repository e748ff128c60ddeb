package sudo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/quote"
	"ptyctl/term"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"systemctl restart nginx":      {"systemctl", "restart", "nginx"},
		"  id  -un ":                   {"id", "-un"},
		"sudo systemctl restart nginx": {"systemctl", "restart", "nginx"},
		"sudo -u web id":               {"sudo", "-u", "web", "id"}, // by root, whom sudo does not ask
		"sudo id":                      {"sudo", "id"},
		"tee a=b,c@d%":                 {"tee", "a=b,c@d%"},
		"cd /root":                     {"sh", "-c", "cd /root"},
		"A=b id":                       {"sh", "-c", "A=b id"},
		"id; id":                       {"sh", "-c", "id; id"},
		"id\nid":                       {"sh", "-c", "id\nid"},
		"echo $HOME":                   {"sh", "-c", "echo $HOME"},
		"ls *.c":                       {"sh", "-c", "ls *.c"},
		"ls ~":                         {"sh", "-c", "ls ~"},
		"echo 'a b'":                   {"sh", "-c", "echo 'a b'"},
		"-i":                           {"sh", "-c", "-i"},
		"if":                           {"sh", "-c", "if"},
	} {
		if got := Words(line); !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, want %q", line, got, want)
		}
	}
}

// The line never contains the text that sudo and the shell print, so no trace or echo of it is taken for that text.
func TestLine(t *testing.T) {
	for _, class := range []string{quote.Posix, quote.Fish, quote.Csh} {
		c := New(true)
		line, err := c.Line(class, "'sudo' 'id' '-un'")
		if err != nil || !strings.HasSuffix(line, " 'id' '-un'") || strings.Contains(line, strings.TrimSpace(c.prompt)) ||
			strings.Contains(line, strings.TrimSpace(c.began)) {
			t.Errorf("the line for %s is %q, %v, with the question %q", class, line, err, c.prompt)
		}
	}
	for class, judged := range map[string]string{"posix": "id", "cmd": "sudo id", "": "sudo id"} {
		if line, err := New(false).Line(class, judged); err == nil {
			t.Errorf("the line for %q of class %q is %q, want an error", judged, class, line)
		}
	}
	if line, err := Typed().Line("posix", "sudo id"); err != nil || strings.Contains(line, "'-S'") {
		t.Errorf("the typed line is %q, %v, want none with -S", line, err)
	}
}

// A fake sudo shows how a shell splits the line.
func TestLineInShell(t *testing.T) {
	c := New(true)
	line, err := c.Line("posix", `'sudo' 'printf' '%s|' 'a b' 'c'\''d' '$x'`)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `sudo() { shift 3; printf %s "$1" | sed 's/%%/%/' >&2; shift 2; "$@"; }; `+line)
	var out, errs bytes.Buffer
	w := c.Watch(&errs)
	cmd.Stdout, cmd.Stderr = &out, w
	err = cmd.Run()
	w.Flush()
	if err != nil || out.String() != "a b|c'd|$x|" || errs.Len() != 0 || c.questions() != 1 || !c.Begun() {
		t.Errorf("%s: %v, %q, %q, %d questions, begun %v", line, err, &out, &errs, c.questions(), c.Begun())
	}
}

// Marks are found, and taken out, however the output is cut; other output passes unchanged.
func TestWatch(t *testing.T) {
	for _, announced := range []bool{false, true} {
		for size := 1; size < 80; size++ {
			c := New(announced)
			text := "[sudo] pass[sudo] password ptyctl-" + "We trust" + c.prompt + "Sorry\n" + c.prompt + "x"
			want := "[sudo] pass[sudo] password ptyctl-We trustSorry\nx"
			if announced {
				text += c.began + c.prompt + c.began
				want += c.prompt + c.began
			}
			var got bytes.Buffer
			w := c.Watch(&got)
			for piece := range slices.Chunk([]byte(text), size) {
				if n, err := w.Write(piece); n != len(piece) || err != nil {
					t.Fatalf("Write(%q) = %d, %v", piece, n, err)
				}
			}
			w.Flush()
			if got.String() != want || c.questions() != 2 || c.Begun() != announced {
				t.Fatalf("in pieces of %d, %q becomes %q with %d questions, begun %v; want %q", size, text, &got, c.questions(),
					c.Begun(), want)
			}
		}
	}
}

// The password goes out at the first question and never later; the command's own input goes out only when it has begun.
func TestFeed(t *testing.T) {
	const ask, begin, pause = "ask", "begin", "pause"
	for name, tt := range map[string]struct {
		announced bool
		events    []string
		value     string
		fails     error
		want      string
		err       error
	}{
		"a password":                {false, []string{ask}, "pw", nil, "pw\n", nil},
		"and input":                 {true, []string{ask, begin}, "pw", nil, "pw\nin", nil},
		"none wanted":               {true, []string{begin}, "pw", nil, "in", nil},
		"none wanted, unannounced":  {false, []string{pause}, "pw", nil, "", nil},
		"a wrong one":               {false, []string{ask, ask}, "pw", nil, "pw\n", ErrRefused},
		"a wrong one, announced":    {true, []string{ask, ask}, "pw", nil, "pw\n", ErrRefused},
		"a question of the command": {true, []string{begin, ask}, "pw", nil, "in", nil},
		"too late":                  {false, []string{pause, ask}, "pw", nil, "", ErrLate},
		"no value":                  {false, []string{ask}, "", io.ErrNoProgress, "", io.ErrNoProgress},
		"two lines":                 {false, []string{ask}, "a\nb", nil, "", ErrLines},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, fetched := New(tt.announced), 0
				value := []byte(tt.value)
				in := c.Feed(t.Context(), []byte("in"), func(context.Context) ([]byte, error) { fetched++; return value, tt.fails })
				got := make(chan string)
				go func() {
					p, _ := io.ReadAll(in)
					got <- string(p)
				}()
				for _, e := range tt.events {
					synctest.Wait()
					switch e {
					case ask:
						c.ask()
					case begin:
						c.begin()
					case pause:
						time.Sleep(patience + time.Second)
					}
				}
				if p := <-got; p != tt.want || !errors.Is(c.Err(), tt.err) || fetched > 1 {
					t.Errorf("%v: the input is %q, %v, fetched %d times; want %q, %v", tt.events, p, c.Err(), fetched, tt.want, tt.err)
				}
				if err := in.Close(); err != nil || tt.fails == nil && fetched > 0 && bytes.ContainsAny(value, "pwab") {
					t.Errorf("after Close (%v) the value is %q, want it wiped", err, value)
				}
			})
		})
	}
}

// Close ends a Read, and wipes the unread bytes.
func TestFeedCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := New(true).Feed(t.Context(), nil, nil)
		time.AfterFunc(time.Second, func() { in.Close() })
		if n, err := in.Read(make([]byte, 9)); n != 0 || err != io.EOF {
			t.Errorf("Read of a closed input = %d, %v, want EOF", n, err)
		}
		value := []byte("pw")
		ahead, err := Ahead(value, []byte("in"))
		if err != nil || string(value) != "\x00\x00" {
			t.Errorf("Ahead leaves %q, %v", value, err)
		}
		held := ahead.(*feed).ready
		ahead.Close()
		if bytes.ContainsAny(held, "pw") {
			t.Errorf("after Close there is %q", held)
		}
	})
}

// Each failure of sudo has words and a kind of its own, and a failure of the command has none.
func TestFailure(t *testing.T) {
	known := func(code int) term.Exit { return term.Exit{Known: true, Code: code} }
	for name, tt := range map[string]struct {
		announced, asked, begun bool
		exit                    term.Exit
		stderr, want            string
	}{
		"the command's own":   {true, true, true, known(1), "sudo: x is not in the sudoers file", ""},
		"success":             {false, false, false, known(0), "", ""},
		"may have run":        {false, true, false, known(1), "grep: x: No such file", ""},
		"never asked":         {false, false, false, known(1), "grep: x: No such file", ""},
		"no sudo, dash":       {true, false, false, known(127), "sh: 1: sudo: not found", "UNSUPPORTED exec: there is no sudo on the PATH"},
		"no sudo, bash":       {false, false, false, known(127), "bash: line 1: sudo: command not found", "UNSUPPORTED exec: there is no sudo"},
		"no sudo, csh":        {false, false, false, known(1), "sudo: Command not found.", "UNSUPPORTED exec: there is no sudo"},
		"no sudo, fish":       {false, false, false, known(127), "fish: Unknown command: sudo", "UNSUPPORTED exec: there is no sudo"},
		"a terminal":          {true, false, false, known(1), "sudo: sorry, you must have a tty to run sudo", "UNSUPPORTED exec: sudo wants a terminal"},
		"not permitted":       {false, true, false, known(1), "Sorry, user a is not allowed to execute '/bin/x' as root on h.", "ACCESS_DENIED"},
		"a warning":           {false, false, false, known(1), "sudo: unable to resolve host web1: Name or service not known", ""},
		"a file of that name": {false, false, false, known(2), "grep: /etc/pam.d/sudo: No such file or directory", ""},
		"no such program":     {false, false, false, known(1), "sudo: x: command not found", "AUTH_FAILED exec: sudo has not run"},
		"options":             {true, false, false, known(1), "sudo: invalid option -- 'k'\nusage: sudo", "UNSUPPORTED exec: the sudo there"},
		"another language":    {true, true, false, known(1), "sudo : x n'a pas le droit", "AUTH_FAILED exec: sudo has not run the command (it said: sudo"},
		"another program":     {true, false, false, known(1), "no way", "AUTH_FAILED"},
	} {
		c := New(tt.announced)
		if tt.asked {
			c.ask()
			c.Deliver()
		}
		if tt.begun {
			c.begin()
		}
		got := ""
		if err := c.Failure("pw", tt.exit, []byte(tt.stderr)); err != nil {
			got = string(term.KindOf(err)) + " " + err.Error()
		}
		if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A sudo that ends before there is a value is judged by its words; a command that was stopped then has no failure.
func TestFailureBeforeTheValue(t *testing.T) {
	for stderr, want := range map[string]string{
		"sudo: sorry, you must have a tty to run sudo":                "UNSUPPORTED exec: sudo wants a terminal",
		"Sorry, user a is not allowed to execute '/bin/x' as root on": "ACCESS_DENIED",
		"":                             "",
		"sudo: a password is required": "",
	} {
		c := New(true)
		c.Withhold(context.Canceled)
		got := ""
		if err := c.Failure("pw", term.Exit{Known: true, Code: 1}, []byte(stderr)); err != nil {
			got = string(term.KindOf(err)) + " " + err.Error()
		}
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
}
