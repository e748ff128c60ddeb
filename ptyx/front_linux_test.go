package ptyx_test

import (
	"context"
	"io"
	"testing"
	"time"

	"ptyctl/ptyx"
	"ptyctl/term"
)

// The programs in front of a terminal: a shell at its prompt, a builtin of it, a program that asks and programs that
// work.
func TestProbe(t *testing.T) {
	for _, tt := range []struct {
		name  string
		argv  []string
		typed string
		want  func(f term.Front) bool
	}{
		{"bash", []string{"bash", "--norc"}, "", func(f term.Front) bool { return f.Program == "bash" && f.Edits && f.Reads != term.No }},
		{"zsh", []string{"zsh", "-f"}, "", func(f term.Front) bool { return f.Program == "zsh" && f.Edits && f.Reads != term.No }},
		{"bash in dash", []string{"dash"}, "bash --norc\r", func(f term.Front) bool { return f.Program == "bash" && f.Edits }},
		{"read", []string{"bash", "--norc"}, "read x\r", func(f term.Front) bool { return f.Program == "bash" && !f.Edits && f.Reads == term.Yes }},
		{"cat", []string{"bash", "--norc"}, "cat\r", func(f term.Front) bool { return f.Program == "cat" && !f.Edits && f.Reads == term.Yes }},
		{"sleep", []string{"bash", "--norc"}, "sleep 100\r", func(f term.Front) bool { return f.Program == "sleep" && !f.Edits && f.Reads == term.No }},
		{"busy", []string{"bash", "--norc"}, "while :; do :; done\r", func(f term.Front) bool { return f.Program == "bash" && !f.Edits && f.Reads == term.No }},
		{
			"a pipeline that reads a pipe",
			[]string{"bash", "--norc"},
			"sleep 100 | cat\r",
			func(f term.Front) bool { return !f.Edits && f.Reads == term.No },
		},
		{"a pipeline that reads", []string{"bash", "--norc"}, "cat | sleep 100\r", func(f term.Front) bool { return !f.Edits && f.Reads == term.Yes }},
		{"a shell that waits", []string{"dash"}, "sh -c 'sleep 100; :'\r", func(f term.Front) bool { return !f.Edits && f.Reads == term.No }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr, err := ptyx.Host{}.Open(context.Background(), term.Target{Local: term.LocalOptions{Argv: tt.argv}}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			go func() { _, _ = io.Copy(io.Discard, tr) }()
			if _, err := io.WriteString(tr, tt.typed); err != nil {
				t.Fatal(err)
			}
			var f term.Front
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				if f = tr.(term.Prober).Probe(); tt.want(f) {
					return
				}
			}
			t.Errorf("%q, typed %q: %+v", tt.argv, tt.typed, f)
		})
	}
}
