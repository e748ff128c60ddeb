//go:build unix

package policy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/shelltest"
	"ptyctl/policy"
	"ptyctl/term"
)

// A typist types allowed lines into an interactive shell, which expands history
// and edits lines.
type typist struct {
	tb       testing.TB
	policy   *policy.Policy
	shell    shelltest.Shell
	world    *shelltest.World
	terminal *shelltest.Terminal // nil: not started
	checks   adversary
}

func typists(tb testing.TB) []*typist {
	tb.Helper()
	r := harmless()
	r.Typing = policy.TypingLines
	p := gate(tb, r)
	var list []*typist
	for _, s := range shelltest.Shells(tb) {
		if !s.Interactive() {
			continue
		}
		for _, class := range []string{s.Class, "unknown"} {
			y := &typist{
				tb:     tb,
				policy: p,
				shell:  s,
				world:  shelltest.NewWorld(tb, nil),
				checks: adversary{class: class, only: shelltest.Programs},
			}
			tb.Cleanup(y.end)
			list = append(list, y)
		}
	}
	return list
}

func (y *typist) end() {
	if y.terminal != nil {
		y.terminal.Close()
	}
	y.terminal = nil
}

func (y *typist) allows(ctx context.Context, typed string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // other tests find these
		}
	}()
	a := write(typed)
	a.FarSide = func(context.Context) string { return y.checks.class }
	_, err := y.policy.Rule(ctx, a)
	return err == nil
}

// try types a text of one or several lines, if the policy allows it, and
// returns its unwanted effect. On a busy machine a shell may answer late, and
// its effect may be attributed to the next line; a fault must therefore show
// again in a World of its own.
func (y *typist) try(ctx context.Context, text string) (err error) {
	for n := 0; n < 3 && ctx.Err() == nil; n++ {
		if err = y.once(ctx, text); err == nil {
			return nil
		}
		y.world = shelltest.NewWorld(y.tb, nil)
	}
	return err
}

func (y *typist) once(ctx context.Context, text string) error {
	if shelltest.Harmful(text) || len(text) > 1000 || !y.allows(ctx, text+"\r") { // a terminal accepts no longer line
		return nil
	}
	if y.terminal == nil {
		t, err := y.world.Terminal(y.shell)
		if err != nil {
			return err
		}
		y.terminal = t
	}
	r, err := y.terminal.Type(ctx, text)
	if err != nil {
		return err
	}
	var must, may []run
	var files []string
	readable := error(nil)
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c < ' ' }) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		p, err := readPrinted(line, y.checks.class)
		readable = errors.Join(readable, err)
		m, n := p.expect()
		must, may, files = append(must, m...), append(may, n...), append(files, p.writes...)
	}
	if err = y.checks.allowed(r); err == nil && r.Hung {
		err = errors.New("waits for the rest of the line")
	}
	if err == nil {
		err = readable
	}
	if err == nil {
		err = faithful(y.world.Home(), r, must, may, files)
	}
	if err != nil {
		y.end() // its history or its unfinished line would affect the next text
		return fmt.Errorf("class %s: %s, in which %q is typed, %w", y.checks.class, y.shell.Name, text, err)
	}
	return nil
}

// TestTypedBypasses types lines that once ran a command that no rule allows.
func TestTypedBypasses(t *testing.T) {
	texts := shelltest.Typed
	for _, lines := range shelltest.Bypasses {
		for _, line := range lines {
			texts = append(texts, strings.ReplaceAll(line, "\n", "\r"))
		}
	}
	for _, y := range typists(t) {
		t.Run(y.shell.Name+" as "+y.checks.class, func(t *testing.T) {
			t.Parallel()
			for _, text := range texts {
				if err := y.try(t.Context(), text); err != nil {
					t.Errorf("the policy lets %q be typed: %v", text, err)
				}
			}
		})
	}
}

// TestTypedAdversary searches for more of them. Only the printed form of a line
// is allowed, so most of its lines have that form.
func TestTypedAdversary(t *testing.T) {
	limit := 3 * time.Second
	if os.Getenv("PTYCTL_LONG") != "" {
		limit = 10 * time.Minute
	}
	seed := *adversarySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	}
	t.Logf("-adversary.seed %d", seed)
	printer := classes(t, harmless())
	for n, y := range typists(t) {
		t.Run(y.shell.Name+" as "+y.checks.class, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), limit)
			defer stop()
			lines := shelltest.Lines{
				Rand:  rand.New(rand.NewPCG(seed, uint64(n))),
				Seeds: append(seedLines(t), shelltest.Typed...),
			} //nolint:gosec // no secret
			for tried, found := 0, 0; ctx.Err() == nil && found < 5; tried++ {
				text := lines.Next()
				if tried%2 == 0 { // so that there is something to type
					for _, a := range printer {
						if a.class == y.checks.class {
							if runs, err := a.judge(ctx, text); err == nil { // other tests look for panics
								text = runs
							}
						}
					}
				}
				if err := y.try(ctx, text); err != nil && ctx.Err() == nil {
					found++
					text = shelltest.Minimize(text, 60, func(s string) bool {
						shorter := y.try(ctx, s)
						if shorter != nil && ctx.Err() == nil {
							err = shorter
						}
						return shorter != nil && ctx.Err() == nil
					})
					t.Errorf("the policy lets %q be typed: %v", text, err)
				}
			}
		})
	}
}

// TestTerminalsExpand checks that the terminals of these tests expand history.
// Without it the other tests could pass by accident.
func TestTerminalsExpand(t *testing.T) {
	for _, y := range typists(t) {
		terminal, err := y.world.Terminal(y.shell)
		if err != nil {
			t.Fatal(err)
		}
		y.terminal = terminal
		r, err := terminal.Type(t.Context(), `echo '" ; canary ; "' "!#:1"`)
		if err != nil || y.checks.allowed(r) == nil {
			t.Errorf("%s did not expand the line: %+v, %v", y.shell.Name, r, err)
		}
		if _, err := y.policy.Rule(t.Context(), term.Action{Verb: term.VerbWrite, Data: []byte("canary\r")}); err == nil {
			t.Error("the policy lets the canary be typed")
		}
	}
}
