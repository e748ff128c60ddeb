package lane_test

import (
	"testing"
	"time"

	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// A question is also known by its form, after a moment in which the program might have gone on.
func TestQuestionByForm(t *testing.T) {
	for _, tt := range []struct{ question, kind string }{
		{"Destination filename [startup-config]? ", prompt.Unknown},
		{"How many bits in the modulus [512]: ", prompt.Unknown},
		{"Enter file in which to save the key (/root/.ssh/id_ed25519): ", prompt.Unknown},
		{"Select an option [1-4]: ", prompt.Unknown},
		{"Name: ", prompt.Unknown},
		{"#? ", prompt.Unknown},
		{"Restart services? ", prompt.YesNo},
	} {
		t.Run(tt.question, func(t *testing.T) {
			inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
				var got session.ExecResult
				took := since(func() { got = run(t, s, posix("ask "+tt.question)) })
				if took < 400*time.Millisecond || took > time.Second {
					t.Errorf("told after %v, want about half a second", took)
				}
				want := term.Waiting{Kind: tt.kind, Text: tt.question}
				if got.WaitingFor == nil || *got.WaitingFor != want || string(got.Stdout.Bytes()) != tt.question {
					t.Fatalf("waits for %+v with output %q, want %+v", got.WaitingFor, got.Stdout.Bytes(), want)
				}
				if w := s.Waiting(); w == nil || *w != want {
					t.Errorf("the session waits for %+v, want %+v", w, want)
				}
				typeIn(t, s, "x\r")
				got, err := s.ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				wantMarker(t, got, tt.question+"x\n[x]\n", 0)
			})
		})
	}
}

// Lines that a program completes in time are no questions.
func TestNoQuestionByForm(t *testing.T) {
	for _, pieces := range []string{
		"pieces 3s compiling: |ok", "pieces 3s Progress: [ 42%]|\\015Progress: [ 43%]", "pieces 3s Reading package lists... |Done",
		"pieces 4s tests/test_a.py |.|.|F|.", "pieces 400ms Name: |web1", "pieces 3s Get:1 http://deb.example.org/debian |x [12 kB]",
	} {
		t.Run(pieces, func(t *testing.T) {
			inShell(t, userPrompt, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
				if got := run(t, s, posix(pieces)); got.WaitingFor != nil || got.Done != session.DoneMarker {
					t.Errorf("%+v, want the marker without a question", got)
				}
			})
		})
	}
}

// A device that asks is not answered with a command.
func TestDeviceThatAsks(t *testing.T) {
	for _, question := range []string{"Destination filename []? ", "Proceed with reload? [confirm]", "[yes/no]: "} {
		inShell(t, question, session.Options{}, func(t *testing.T, s *session.Session, sh *fakeShell) {
			r := posix("show version")
			r.Class = session.ClassDevice
			_, err := s.Exec(t.Context(), r)
			if w := term.FactOf[term.Occupied](wantKind(t, err, term.Busy)).Waiting; w == nil || w.Text != question {
				t.Errorf("Exec at %q waits for %+v, want the question", question, w)
			}
		})
	}
}
