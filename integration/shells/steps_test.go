package shells

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/term"
)

// typed is a step that types text, and pressed one that presses keys.
func typed(text string, w session.StepWait) session.Step {
	return session.Step{Inputs: []session.StepInput{{Data: []byte(text)}}, Wait: w}
}

func pressed(w session.StepWait, keys ...string) session.Step {
	step := session.Step{Wait: w}
	for _, key := range keys {
		step.Inputs = append(step.Inputs, session.StepInput{Key: key})
	}
	return step
}

// wantSteps types a list and fails the test unless all of it is done. It returns the output.
func wantSteps(t *testing.T, s *session.Session, list ...session.Step) string {
	t.Helper()
	r, err := s.WriteSteps(t.Context(), list, lab.Patience)
	k := s.Read(t.Context(), session.ReadRequest{Cursor: r.Cursor, NoWait: true})
	if err != nil || r.Stopped != "" {
		t.Fatalf("steps stopped: %+v, %v, with the output %q; want all done", r, err, k.Data)
	}
	return string(k.Data)
}

func until(expr string) session.StepWait {
	return session.StepWait{Until: regexp.MustCompile(expr), Timeout: lab.Patience}
}

// TestScenarioSteps does in one turn work that takes an agent several writes: real programs, and callers who race for
// the terminal.
func TestScenarioSteps(t *testing.T) {
	l := lab.StartShells(t)
	prompt := session.StepWait{Prompt: true, Timeout: lab.Patience}
	quiet := session.StepWait{Idle: 300 * time.Millisecond, Timeout: lab.Patience}
	t.Run("vim", func(t *testing.T) {
		t.Parallel()
		s := l.Open(t, "bash")
		got := wantSteps(t, s,
			typed(`printf 'port = 1\nhost = a\n' > a.conf`+"\r", prompt),
			typed("vim -u NONE -N a.conf\r", quiet),
			pressed(session.StepWait{}, "arrow_down", "arrow_up", "end"),
			typed("i", session.StepWait{}), typed("0", session.StepWait{}), pressed(quiet, "esc"),
			typed(":wq\r", prompt),
		)
		if !strings.Contains(got, "\x1b[?1049l") {
			t.Errorf("the steps show %q, want the end of vim", got)
		}
		lab.WantTerminalExec(t, s, "cat a.conf; rm a.conf", "port = 01\nhost = a\n", 0)
	})
	t.Run("dialogue", func(t *testing.T) {
		t.Parallel()
		s := l.Open(t, "bash")
		got := wantSteps(t, s,
			typed(`read -p 'User: ' u; read -sp 'Pass''word: ' p; echo; echo "<$u ${#p}>"`+"\r", until(`User: $`)),
			typed("ann\r", until(`Password: $`)),
			session.Step{Inputs: []session.StepInput{{Data: []byte("abcdefgh\r"), Sensitive: true}}, Wait: prompt},
			typed("python3 -q\r", prompt), typed("6*7\r", prompt), pressed(prompt, "ctrl_d"),
		)
		if !strings.Contains(got, "<ann 8>") || !strings.Contains(got, "\n42") {
			t.Errorf("the dialogue shows %q, want <ann 8> and 42", got)
		}
	})
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		s := l.Open(t, "bash")
		var commands sync.WaitGroup
		commands.Go(func() {
			s.Read(t.Context(), session.ReadRequest{Until: regexp.MustCompile(`sleep 1`), Timeout: lab.Patience})
			r := session.ExecRequest{Command: "echo three", Lane: session.LaneTerminal, Wait: lab.Patience, Timeout: lab.Patience}
			if _, err := s.Exec(t.Context(), r); term.KindOf(err) != term.Busy {
				t.Errorf("a command between steps: %v, want %s", err, term.Busy)
			}
			r.Queue = true
			if got, err := s.Exec(t.Context(), r); err != nil || string(got.Stdout.Head) != "three\n" {
				t.Errorf("a queued command returns %+v, %v, want three", got, err)
			}
		})
		got := wantSteps(t, s,
			typed("sleep 1; echo on''e\r", until(`one\r\n`)), typed("echo t", quiet), typed("wo\r", prompt))
		commands.Wait()
		if !strings.Contains(got, "two\r\n") {
			t.Errorf("the steps show %q, want two", got)
		}
	})
	t.Run("race", func(t *testing.T) {
		t.Parallel()
		s := l.Open(t, "bash")
		var all sync.WaitGroup
		for task := range 4 {
			all.Go(func() {
				ctx := term.WithActor(t.Context(), term.Actor{Task: fmt.Sprint(task)})
				for i := range 5 {
					word := fmt.Sprintf("w%d-%d", task, i)
					if task == 3 { // single writes
						if _, err := s.Write(ctx, []byte("echo "+word+" >>race\r"), session.WriteOptions{Timeout: lab.Patience}); err != nil {
							t.Error(err)
						}
						continue
					}
					list := []session.Step{
						typed("echo ", quiet), typed(word[:2], session.StepWait{}), typed(word[2:]+" >>race", quiet), pressed(prompt, "enter"),
					}
					for {
						r, err := s.WriteSteps(ctx, list, lab.Patience)
						if term.KindOf(err) == term.Busy { // the others have had the terminal for 10 s
							continue
						}
						if err != nil || r.Stopped != "" {
							t.Errorf("steps of task %d: %+v, %v, want all done", task, r, err)
						}
						break
					}
				}
			})
		}
		all.Wait()
		// The shell shows its input: its terminal echoes text that comes during a command between the command's output.
		got := strings.Fields(string(lab.TerminalExec(t, s, "cat race; rm race").Stdout.Bytes()))
		slices.Sort(got)
		var want []string
		for task := range 4 {
			for i := range 5 {
				want = append(want, fmt.Sprintf("w%d-%d", task, i))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the shell has run echo of %q, want %q: a caller has typed within another's line", got, want)
		}
	})
}
