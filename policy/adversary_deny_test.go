//go:build unix

package policy_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/shelltest"
	"ptyctl/policy"
)

// deniedPieces are parts of lines for a list of denied commands. Such a list
// helps against mistakes and misses more than it can find; these are the
// constructs that it detects.
var deniedPieces = []string{
	"canary", "canary", "ls", "ls ", "echo ", " ", " ", "'", "'", `"`, `"`, `\`, `\\`, `\'`, `\"`, ";", "; ", "\n", " # ", "#", "$(", ")", "(", "`", "{ ", "; }", "|", " | ", " || ",
	"[[ ", " ]]", "((", "))", "$'", `$"`, "${x}", "${x:-", "}", "$x", "x=", "!", "! ", "*", "?", "[", "]", "~", "=", ",", "{", "<<E\n", "\nE\n", "<<'E'\n", "<<<", "if ", "; then ", "; fi", "for x in ",
	"; do ", "; done", "case x in x) ", ";; esac", "f() ", "function f ", "eval ", "sh -c ", "env ", "command ", "exec ", "and ", "or ", "not ", "begin ", "builtin ", "noglob ", "- ", "then", "do", "time ", "-", "--", "^", "%", "@(", "<(", "$((", "\t", "é",
}

// TestDeniedInShells checks that a line that passes a list of denied commands
// runs none of them. Three shells are excluded: tcsh, mksh and ksh read words
// in ways that only a list of allowed commands covers.
func TestDeniedInShells(t *testing.T) {
	const longest = 14
	lines := 300
	if os.Getenv("PTYCTL_LONG") != "" {
		lines = 5000
	}
	a := &adversary{
		policy: gate(t, policy.Rules{Deny: rules("deny", shelltest.Canary)}),
		class:  shelltest.Posix,
		only:   slices.Clone(shelltest.Programs),
	}
	for _, s := range shelltest.Shells(t) {
		if s.Name != "tcsh" && s.Name != "mksh" && s.Name != "ksh" {
			a.shells = append(a.shells, s)
		}
	}
	w := shelltest.NewWorld(t, links)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
	t.Logf("seed %d", seed)
	for n := 0; n < lines; {
		var b strings.Builder
		for range 2 + rnd.IntN(longest) {
			b.WriteString(deniedPieces[rnd.IntN(len(deniedPieces))])
		}
		line := b.String()
		if !strings.Contains(line, shelltest.Canary) {
			continue
		}
		if runs, err := a.judge(t.Context(), line); runs == "" && err == nil {
			continue
		}
		n++
		if err := a.try(t.Context(), w, line); err != nil {
			t.Errorf("the policy does not deny %q: %v", line, err)
		}
	}
}
