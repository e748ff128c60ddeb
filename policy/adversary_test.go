//go:build unix

package policy_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/internal/shelltest"
	"ptyctl/policy"
	"ptyctl/quote"
)

var (
	adversaryTime = flag.Duration(
		"adversary",
		0,
		"how long TestAdversary looks for lines that do more than the policy says (default 5s; 1h with PTYCTL_LONG)",
	)
	adversarySeed = flag.Uint64("adversary.seed", 0, "the seed of its lines (default: the time)")
)

// An adversary compares the policy's verdict on a line with its effect in the
// shells of a class.
type adversary struct {
	policy *policy.Policy
	class  string // of the far side; "unknown" has all shells
	shells []shelltest.Shell
	only   []string // programs that may run
	exact  bool     // a printed line runs, with known programs and arguments
}

// harmless holds the rules of a cautious operator: programs that run no other
// and write no file.
func harmless() policy.Rules {
	return policy.Rules{
		Allow: rules(
			"allow",
			"show *",
			"list *",
			"fail *",
			"echo *",
			"printf *",
			"test *",
			"[ *",
			"cat *",
			"ls *",
			"true *",
			"false *",
			"> out*",
			"< in*",
			"zz=*",
		),
	}
}

// classes returns adversaries for all far sides.
func classes(tb testing.TB, r policy.Rules) []*adversary {
	tb.Helper()
	p, all := gate(tb, r), shelltest.Shells(tb)
	var list []*adversary
	for _, class := range []string{shelltest.Posix, shelltest.Fish, shelltest.Csh, "unknown"} {
		a := &adversary{policy: p, class: class, only: append(slices.Clone(shelltest.Programs), "env"), exact: true}
		for _, s := range all {
			if s.Class == class || class == "unknown" {
				a.shells = append(a.shells, s)
			}
		}
		list = append(list, a)
	}
	return list
}

// wrapped is an adversary with rules that also allow programs that run others.
func wrapped(tb testing.TB) *adversary {
	tb.Helper()
	r := harmless()
	r.Allow = append(
		r.Allow,
		rules("allow", "sh -c *", "env *", "eval *", "command *", "nice *", "xargs *", "timeout *")...)
	a := classes(tb, r)[0]
	a.exact = false
	return a
}

// links are the programs that shells find besides the recorders.
var links = map[string]string{"env": "env", "sh": "dash", "nice": "nice", "xargs": "xargs", "timeout": "timeout"}

// wrap lets another program run a line, in one of the ways of wrapped.
func wrap(rnd *rand.Rand, line string) string {
	quoted, err := quote.Word(quote.Posix, line)
	if err != nil {
		return line
	}
	switch rnd.IntN(8) {
	case 0:
		return "sh -c " + quoted
	case 1:
		return "eval " + quoted
	case 2:
		return "env zz=1 sh -c " + quoted + " show"
	case 3:
		return "echo " + quoted + " | xargs " + line
	case 4:
		return "xargs <in " + line
	case 5:
		return "timeout 60 nice " + line
	case 6:
		return "echo " + quoted + " | sh"
	}
	return "command " + line
}

// judge asks the policy. It returns the line that runs, or "" for a denied
// line. The error is a panic of the policy.
func (a *adversary) judge(ctx context.Context, line string) (runs string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("class %s: the policy, asked about %.300q, panics: %v", a.class, line, r)
		}
	}()
	action := sshExec(line)
	action.FarSide = func(context.Context) string { return a.class }
	ruling, denied := a.policy.Rule(ctx, action)
	switch {
	case denied != nil:
		return "", nil
	case ruling.Command != "":
		return ruling.Command, nil
	}
	return line, nil
}

// try gives an allowed line to each shell, and returns the first unwanted
// effect.
func (a *adversary) try(ctx context.Context, w *shelltest.World, line string) error {
	runs, err := a.judge(ctx, line)
	if err != nil {
		return err
	}
	if runs == "" || shelltest.Harmful(runs) || len(runs) > 100<<10 { // the system accepts no longer line
		return nil
	}
	var must, may []run
	var files []string
	if a.exact {
		p, err := readPrinted(runs, a.class)
		if err != nil {
			for _, s := range a.shells { // worse effects come first
				if err := a.tryShell(ctx, w, s, runs, nil); err != nil {
					return err
				}
			}
			return fmt.Errorf("class %s: what runs is outside of the closed grammar: %.300q: %w", a.class, runs, err)
		}
		must, may = p.expect()
		files = p.writes
	}
	for _, s := range a.shells {
		err := a.tryShell(ctx, w, s, runs, func(r shelltest.Record) error {
			if !a.exact {
				return nil
			}
			return faithful(w.Home(), r, must, may, files)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tryShell runs a line in a shell, and checks that only allowed programs ran.
func (a *adversary) tryShell(
	ctx context.Context,
	w *shelltest.World,
	s shelltest.Shell,
	runs string,
	check func(shelltest.Record) error,
) error {
	r, err := w.Run(ctx, s, runs)
	if err != nil {
		return err
	}
	if err := a.allowed(r); err != nil {
		return fmt.Errorf("class %s: %s, given %.300q, %w", a.class, s.Name, runs, err)
	}
	if check == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the end of the time is no finding
	}
	if r.Hung {
		return fmt.Errorf("class %s: %s, given %.300q, does not end", a.class, s.Name, runs)
	}
	if err := check(r); err != nil {
		return fmt.Errorf("class %s: %s, given %.300q, %w; it printed %.200q", a.class, s.Name, runs, err, r.Out)
	}
	return nil
}

func (a *adversary) allowed(r shelltest.Record) error {
	for _, ran := range r.Ran {
		if !slices.Contains(a.only, ran[0]) {
			return fmt.Errorf("ran %.200q, which no rule allows", ran)
		}
	}
	return nil
}

// faithful compares the effects in a shell with the printed line.
func faithful(home string, r shelltest.Record, must, may []run, files []string) error {
	must, may = slices.Clone(must), slices.Clone(may)
	loose := func(args []string) bool {
		return slices.ContainsFunc(may, func(m run) bool { return m.loose && m.args[0] == args[0] })
	}
	take := func(list *[]run, args []string) bool {
		i := slices.IndexFunc(*list, func(m run) bool { return !m.loose && slices.Equal(m.args, args) })
		if i >= 0 {
			*list = slices.Delete(*list, i, i+1)
		}
		return i >= 0
	}
	for _, ran := range r.Ran {
		for i, arg := range ran {
			if rest, ok := strings.CutPrefix(arg, home); ok {
				ran[i] = ownHome + rest
			}
		}
		if !take(&must, ran) && !take(&may, ran) && !loose(ran) {
			return fmt.Errorf("ran %.300q, which the line does not say", ran)
		}
	}
	if len(must) > 0 {
		return fmt.Errorf("did not run %.300q", must[0].args)
	}
	for _, name := range r.Files {
		if !slices.Contains(files, name) {
			return fmt.Errorf("wrote the file %q, which the line does not say", name)
		}
	}
	return nil
}

// TestAdversary searches for a line that the policy allows and that has another
// effect in a real shell than the printed line says.
func TestAdversary(t *testing.T) {
	seed := *adversarySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	}
	limit := *adversaryTime
	if limit == 0 {
		limit = 5 * time.Second
		if os.Getenv("PTYCTL_LONG") != "" {
			limit = time.Hour
		}
	}
	const mostFound = 10
	list := append(classes(t, harmless()), wrapped(t))
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	var judged, accepted, found atomic.Int64
	var workers sync.WaitGroup
	for n := range runtime.GOMAXPROCS(0) {
		w := shelltest.NewWorld(t, links)
		lines := shelltest.Lines{
			Rand:  rand.New(rand.NewPCG(seed, uint64(n))),
			Seeds: seedLines(t),
		} //nolint:gosec // no secret
		workers.Go(func() {
			for ctx.Err() == nil && found.Load() < mostFound {
				line := lines.Next()
				for _, a := range list {
					if !a.exact {
						line = wrap(lines.Rand, line)
					}
					judged.Add(1)
					if runs, err := a.judge(ctx, line); runs == "" && err == nil {
						continue
					}
					accepted.Add(1)
					if err := a.try(ctx, w, line); err != nil && ctx.Err() == nil {
						found.Add(1)
						line := shelltest.Minimize(line, 300, func(l string) bool {
							shorter := a.try(ctx, w, l)
							if shorter != nil && ctx.Err() == nil {
								err = shorter
							}
							return shorter != nil && ctx.Err() == nil
						})
						t.Errorf("the policy allows %.300q: %v", line, err)
						break
					}
				}
			}
		})
	}
	workers.Wait()
	t.Logf("-adversary.seed %d: %d lines judged, %d of them allowed and run", seed, judged.Load(), accepted.Load())
	if accepted.Load() < 20 && found.Load() == 0 {
		t.Errorf("of %d lines only %d were allowed, which tests nothing", judged.Load(), accepted.Load())
	}
}

// TestBypasses runs lines that once ran a command that no rule allows, in every
// shell.
func TestBypasses(t *testing.T) {
	for _, a := range classes(t, harmless()) {
		t.Run(a.class, func(t *testing.T) {
			t.Parallel()
			w := shelltest.NewWorld(t, links)
			for name, lines := range shelltest.Bypasses {
				for _, line := range lines {
					if err := a.try(t.Context(), w, line); err != nil {
						t.Errorf("%s: the policy allows %q: %v", name, line, err)
					}
				}
			}
		})
	}
}

// FuzzShells searches for such a line, guided by the coverage of the policy.
func FuzzShells(f *testing.F) {
	for _, line := range seedLines(f) {
		f.Add(line)
	}
	lines := shelltest.Lines{Rand: rand.New(rand.NewPCG(1, 1))} //nolint:gosec // no secret
	for range 300 {
		f.Add(lines.Next())
	}
	list := classes(f, harmless())
	w := shelltest.NewWorld(f, links)
	f.Fuzz(func(t *testing.T, line string) {
		for _, a := range list {
			if err := a.try(t.Context(), w, line); err != nil && t.Context().Err() == nil {
				t.Fatalf("the policy allows %.300q: %v", line, err)
			}
		}
	})
}

// TestShellsRecord checks that the effects of shells are recorded. Without it
// the other tests could pass by accident.
func TestShellsRecord(t *testing.T) {
	w := shelltest.NewWorld(t, nil)
	for _, s := range shelltest.Shells(t) {
		r, err := w.Run(t.Context(), s, `show 'a b' "" >out; canary c'd' | list a*`)
		if err != nil {
			t.Fatal(err)
		}
		if err := faithful(w.Home(), r, []run{
			{args: []string{"show", "a b", ""}},
			{args: []string{"canary", "cd"}},
			{args: []string{"list", "a1", "a2"}},
		}, nil, []string{"out"}); err != nil ||
			len(r.Files) != 1 {
			t.Errorf("%s: %v; it wrote %q and printed %q", s.Name, err, r.Files, r.Out)
		}
		if r, err := w.Run(t.Context(), s, "show\n"); err != nil || len(r.Ran) != 1 || len(r.Files) != 0 {
			t.Errorf("%s did not begin in a clean folder: %+v, %v", s.Name, r, err)
		}
	}
}
