package policy_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/policy"
)

// realShells are those that a line can meet. Each reads some of them in its own way.
var realShells = [][]string{{"dash", "-c"}, {"bash", "-c"}, {"busybox", "sh", "-c"}, {"zsh", "-f", "-c"}, {"fish", "-N", "-c"}}

// pieces make lines. There is no path, no digit, no & and no name of a program but those of the test, so that a line can do
// nothing but run them.
var pieces = []string{
	"forbidden", "forbidden", "ls", "ls ", "echo ", " ", " ", "'", "'", `"`, `"`, `\`, `\\`, `\'`, `\"`, ";", "; ", "\n", " # ", "#", "$(", ")", "(", "`", "{ ", "; }", "|", " | ", " || ",
	"[[ ", " ]]", "((", "))", "$'", `$"`, "${x}", "${x:-", "}", "$x", "x=", "!", "! ", "*", "?", "[", "]", "~", "=", ",", "{", "<<E\n", "\nE\n", "<<'E'\n", "<<<", "if ", "; then ", "; fi", "for x in ",
	"; do ", "; done", "case x in x) ", ";; esac", "f() ", "function f ", "eval ", "sh -c ", "env ", "command ", "exec ", "and ", "or ", "not ", "begin ", "builtin ", "noglob ", "- ", "then", "do", "time ", "-", "--", "^", "%", "@(", "<(", "$((", "\t", "é",
}

// TestShells: a line that the policy allows runs nothing that it denies, in any of the shells.
func TestShells(t *testing.T) {
	const longest = 14
	lines := 300
	if os.Getenv("PTYCTL_LONG") != "" {
		lines = 5000
	}
	bin, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	shells := make([][]string, len(realShells))
	for i, s := range realShells {
		path, err := exec.LookPath(s[0])
		if err != nil {
			t.Fatalf("%v: scripts/install-test-deps installs it", err)
		}
		shells[i] = append([]string{path}, s[1:]...)
	}
	for name, script := range map[string]string{"forbidden": "#!/bin/dash\necho \"$@\" >>'" + mark + "'\n", "ls": "#!/bin/dash\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"sh": "dash", "env": "env"} {
		path, err := exec.LookPath(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, from)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(shell []string, line string) bool {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		cmd := exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], line)...)
		cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"PATH=" + bin, "HOME=" + bin}, t.TempDir(), time.Second
		_ = cmd.Run() // most lines fail
		_, err := os.Stat(mark)
		_ = os.Remove(mark)
		return err == nil
	}
	for _, s := range shells {
		if !run(s, "ls; forbidden x") || run(s, "ls 'forbidden x'") {
			t.Fatalf("%v does not run programs here", s)
		}
	}
	p := gate(t, policy.Rules{Deny: rules("deny", "forbidden")})
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
	t.Logf("seed %d", seed)
	for tried, n := 0, 0; n < lines; tried++ {
		var b strings.Builder
		for range 2 + rnd.IntN(longest) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		line := b.String()
		if !strings.Contains(line, "forbidden") || p.Check(t.Context(), sshExec(line)) != nil {
			continue
		}
		n++
		for _, s := range shells {
			if run(s, line) {
				t.Errorf("%s runs what is denied in %q", s[0], line)
			}
		}
	}
}
