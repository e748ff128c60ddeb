package shells

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// TestNestedAtDeadline runs commands that start a shell with a prompt of no known form, up to their deadline: nothing
// is typed into a shell that waits. A command that works is stopped.
func TestNestedAtDeadline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command, file string
		line          string // where the command waits; empty: it is stopped
		always        bool
	}{
		{"bash --rcfile FILE", `PS1='myhost: '`, "myhost: ", true},
		{"bash --rcfile FILE", `PS1='> '`, "> ", false},
		{"bash --rcfile FILE", `PS1='ready for input '`, "ready for input ", false},
		{"env PS1='in here: ' sh", "", "in here: ", false},
		{"sudo -s env PS1='in here: ' ENV=FILE dash", "", "in here: ", false},
		{"bash FILE", `printf 'Working '; sleep 100`, "", true},
		{"bash -c '. FILE'", `printf 'myhost: '; sleep 100`, "", false},
	} {
		if !tt.always && !allPrompts || tt.command[:4] == "sudo" && os.Getuid() != 0 {
			continue
		}
		t.Run(tt.command+" "+tt.file, func(t *testing.T) {
			t.Parallel()
			s := promptRow{argv: bashWith, file: ".rc", config: `PS1='me@far:\w\$ '`, quiet: time.Hour}.open(t, true)
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, []byte(tt.file+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			command := regexp.MustCompile("FILE").ReplaceAllLiteralString(tt.command, file)
			r, err := s.Exec(t.Context(), session.ExecRequest{
				Command: command, Lane: session.LaneTerminal, Timeout: 3 * time.Second,
			})
			if err != nil {
				lab.Fatal(t, err)
			}
			if r.Done == session.DoneRunning && r.WaitingFor != nil { // for the prompt of a REPL, perhaps
				time.Sleep(4 * time.Second)
				r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: patient})
			}
			if tt.line == "" {
				if err != nil || r.Exit.Killed != "yes" || r.WaitingFor != nil {
					t.Errorf("%s, %+v, waiting for %+v, %v; want it stopped", r.Done, r.Exit, r.WaitingFor, err)
				}
				return
			}
			want := term.Waiting{Kind: prompt.Unknown, Text: tt.line}
			if err != nil || r.Done != session.DoneTimeout || r.WaitingFor == nil || *r.WaitingFor != want {
				t.Fatalf("%s, waiting for %+v, %v, output %q; want %+v", r.Done, r.WaitingFor, err, r.Stdout.Bytes(), want)
			}
			r, err = s.Exec(t.Context(), session.ExecRequest{
				Command: "echo in; echo $PS1", Lane: session.LaneTerminal, Timeout: patient,
				Expect: session.Expect{Prompt: regexp.MustCompile(regexp.QuoteMeta(tt.line) + "$")},
			})
			if err != nil || string(r.Stdout.Bytes()) != "in\n"+tt.line[:len(tt.line)-1]+"\n" {
				t.Errorf("in the shell: %q, %v, the terminal shows %q", r.Stdout.Bytes(), err, lab.Screenful(s))
			}
		})
	}
}
