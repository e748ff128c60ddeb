package shells

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
)

// termQueries are queries to a terminal, and the beginnings of the answers that it types.
var termQueries = []struct{ name, query, answer string }{
	{"DA1", `\033[c`, "\x1b[?62;22c"},
	{"DA2", `\033[>c`, "\x1b[>1;10;0c"},
	{"DSR", `\033[5n`, "\x1b[0n"},
	{"CPR", `\033[6n`, "\x1b["},
	{"DECRQM", `\033[?2026$p`, "\x1b[?2026;2$y"},
	{"DECRQSS", `\033P$qm\033\\`, "\x1bP1$r0m\x1b\\"},
	{"XTVERSION", `\033[>q`, "\x1bP>|ptyctl\x1b\\"},
	{"OSC 11", `\033]11;?\033\\`, "\x1b]11;rgb:0000/0000/0000\x1b\\"},
	{"kitty", `\033[?u`, "\x1b[?0u"},
	{"size", `\033[18t`, "\x1b[8;40;120t"},
}

// askScript sends a query, reads the answer in the next second, and shows it.
const askScript = `#!/bin/sh
saved=$(stty -g); stty raw -echo min 0 time 10
printf "$1"; answer=$(dd bs=200 count=1 2>/dev/null | od -An -tx1 | tr -d ' \n')
stty "$saved"; echo "answer=$answer."
`

// A program reads the answer to each query, once. An answer left unread at the shell's prompt does not keep a command
// from running, and is no part of it.
func TestAnswers(t *testing.T) {
	l := lab.StartShells(t)
	l.WriteFile(t, "/run/lab/asks", "755", askScript)
	var all strings.Builder
	for _, q := range termQueries {
		all.WriteString(q.query)
	}
	l.WriteFile(t, "/run/lab/leaves", "755", "#!/bin/sh\nprintf \"$1\"; sleep 0.2\n")
	l.WriteFile(t, "/run/lab/all", "644", strings.NewReplacer(`\033`, "\x1b", `\\`, `\`).Replace(all.String())+"\nend\n")
	for _, sh := range lab.LoginShells {
		if sh.Name == "rbash" { // it runs no script by its path
			continue
		}
		t.Run(sh.Name, func(t *testing.T) {
			t.Parallel()
			s := l.Open(t, sh.Name)
			for _, q := range termQueries {
				from := s.End()
				typeIn(t, s, "/run/lab/asks '"+q.query+"'\r")
				got := lab.ReadUntil(t, s, from, `answer=([0-9a-f]*)\.`)
				s.Read(t.Context(), session.ReadRequest{Cursor: from, Idle: 100 * time.Millisecond, Timeout: lab.Patience})
				if want := fmt.Sprintf("answer=%x", q.answer); !strings.Contains(got, want) || strings.Contains(got, "answer=.") {
					t.Errorf("%s: the terminal shows %q, want %s", q.name, got, want)
				}
				unread(t, s, q.name, "/run/lab/leaves '"+q.query+"'")
			}
			unread(t, s, "all", "/run/lab/leaves '"+all.String()+"'")
			from := s.End()
			typeIn(t, s, "cat /run/lab/all\r")
			lab.ReadUntil(t, s, from, `end`)
			if r := lab.TerminalExec(t, s, "echo right"); strings.TrimSpace(string(r.Stdout.Bytes())) != "right" {
				t.Errorf("after cat: %q", r.Stdout.Bytes())
			}
			if !slices.Contains([]string{"bash", "zsh", "mksh"}, sh.Name) {
				return
			}
			if r := lab.TerminalExec(t, s, "set -o vi"); r.Exit.Code != 0 {
				t.Fatalf("set -o vi: %+v", r.Exit)
			}
			for _, q := range termQueries {
				if q.name == "DA1" || q.name == "OSC 11" { // ? and / begin searches
					unread(t, s, q.name+" in vi mode", "/run/lab/leaves '"+q.query+"'")
				}
			}
			unread(t, s, "all in vi mode", "/run/lab/leaves '"+all.String()+"'")
			unread(t, s, "a question ten times in vi mode", "/run/lab/leaves '"+strings.Repeat(`\033[c`, 10)+"'")
		})
	}
}

// unread runs a command that asks and does not read the answer, and then another one.
func unread(t *testing.T, s *session.Session, name, command string) {
	t.Helper()
	from := s.End()
	typeIn(t, s, command+"\r")
	s.Read(t.Context(), session.ReadRequest{Cursor: from, Idle: 500 * time.Millisecond, Timeout: lab.Patience})
	r := lab.TerminalExec(t, s, "echo right")
	s.Read(t.Context(), session.ReadRequest{Cursor: from, Idle: 100 * time.Millisecond, Timeout: lab.Patience})
	if got := strings.TrimSpace(string(r.Stdout.Bytes())); got != "right" || r.Exit.Code != 0 {
		t.Errorf("%s, unread at the prompt, then echo right: %q, %+v; the line was %q", name, got, r.Exit, s.LastLine())
	}
}

func typeIn(t *testing.T, s *session.Session, text string) {
	t.Helper()
	if _, err := s.Write(t.Context(), []byte(text), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}
