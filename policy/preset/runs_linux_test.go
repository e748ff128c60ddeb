package preset

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/policy/grammar"
)

// A folder runs the lines of a preset. It records each change of a file, and
// each run of a program that a line could only name. It contains the folder for
// top's settings, which top would create.
type folder struct {
	dir, mark string
	env       []string
	before    map[string]string
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{dir: t.TempDir(), mark: filepath.Join(t.TempDir(), "mark")}
	bin := filepath.Join(t.TempDir(), "bin")
	setup := "mkdir -p " + bin + " sub .config/procps && printf 'a b\\nc:d\\n' >list && cp list other && echo '{\"a\": " +
		"[1]}' >x.json && md5sum list >sums && cp list sub/ && " +
		"git init -q . && git add list && git -c user.name=x -c user.email=x@y commit -qm x"
	script := "#!/bin/sh\n: >'" + f.mark + "'\n"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", setup)
	cmd.Dir = f.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the folder of the test cannot be made: %v %s", err, out)
	}
	for _, name := range []string{
		filepath.Join(bin, "canary"), filepath.Join(f.dir, "canary"), filepath.Join(bin, "1"),
		filepath.Join(bin, "list"), filepath.Join(bin, "a"),
	} {
		if err := os.WriteFile(name, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	f.env = []string{
		"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"HOME=" + f.dir,
		"TMPDIR=" + f.dir,
		"TERM=xterm",
		"LC_ALL=C.UTF-8",
	}
	f.before = f.state(t)
	return f
}

// state returns each file with its size, mode, owner, time and text. Git may
// update its index, which is a cache, and rpm makes an empty database in the home
// folder where the system has none, as on Debian.
func (f *folder) state(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(f.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == filepath.Join(f.dir, ".git") || name == filepath.Join(f.dir, ".git", "index") {
			return err
		}
		if d.IsDir() && name == filepath.Join(f.dir, ".rpmdb") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprint(info.Size(), info.Mode(), info.ModTime())
		if d.IsDir() {
			text = fmt.Sprint(info.Mode())
		} else if data, err := os.ReadFile(name); err == nil { // of the test
			text += string(data)
		}
		out[name] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run starts a program, and ends it with all processes that it started.
func (f *folder) run(t *testing.T, limit time.Duration, words ...string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = f.dir, f.env, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // many options cannot be combined
}

// unchanged checks that no file has changed and that no program ran that a line
// only names.
func (f *folder) unchanged(t *testing.T, line string) {
	t.Helper()
	if _, err := os.Stat(f.mark); err == nil {
		t.Errorf("%s ran another program, want none", line)
		_ = os.Remove(f.mark)
	}
	if after := f.state(t); !maps.Equal(after, f.before) {
		for name := range maps.Keys(after) {
			if f.before[name] != after[name] {
				t.Errorf("%s changed %s, want no change", line, name)
			}
		}
		if len(after) < len(f.before) {
			t.Errorf("%s removed a file, want no change", line)
		}
		f.before = after
	}
}

// TestPresetRuns runs each line of the preset in bash.
func TestPresetRuns(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, line := range presetLines(t, "read-only-linux") {
		if line[0] == '+' {
			f.run(t, 700*time.Millisecond, "bash", "-c", line[2:])
			f.unchanged(t, line[2:])
		}
	}
}

// remote holds programs that would contact other machines.
var remote = grammar.SetOf(
	"ping ping6 traceroute traceroute6 tracepath dig host nslookup arp resolvectl chronyc sleep lastb cd exit ulimit umask type command true false :",
)

// candidates are values and operands: some are meaningful, others would be run
// or written by a careless program.
var candidates = []string{
	"list",
	"1",
	"canary",
	"./canary",
	"|canary",
	"!canary",
	"$(canary)",
	"`canary`",
	"other",
	"a",
	"sub",
	"+%s",
	"new",
	".",
	"HEAD",
	"status",
	"1,2p",
	"{print $1}",
	"%s",
	"list;canary",
	"a=canary",
	"x.json",
}

// TestPresetOptions runs each installed program with each of its options, and
// then with random ones.
func TestPresetOptions(t *testing.T) {
	t.Parallel()
	p, err := Named("read-only-linux")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // no secret
	t.Logf("seed %d", seed)
	pick := func() string { return candidates[rnd.IntN(len(candidates))] }
	f := newFolder(t)
	ran, programs := 0, map[string]bool{}
	run := func(words []string) {
		if ok, _ := p.Allows(words); !ok {
			return
		}
		path, err := exec.LookPath(words[0])
		if err != nil {
			return
		}
		f.run(t, 150*time.Millisecond, append([]string{path}, words[1:]...)...)
		f.unchanged(t, fmt.Sprintf("%q", words))
		ran++
		programs[words[0]] = true
	}
	option := func(name string, opt presetOption) []string {
		switch {
		case opt.value == valueAttached && rnd.IntN(2) == 0 && strings.HasPrefix(name, "--"):
			return []string{name + "=" + pick()}
		case opt.value == valueRequired && opt.values == 1 && strings.HasPrefix(name, "--"):
			return []string{name + "=" + pick()}
		case opt.value == valueRequired:
			words := []string{name}
			for range opt.values {
				words = append(words, pick())
			}
			return words
		}
		return []string{name}
	}
	var all []func()
	var visit func(prefix []string, nodes map[string]*presetNode)
	visit = func(prefix []string, nodes map[string]*presetNode) {
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			node, words := nodes[name], append(slices.Clip(prefix), name)
			if remote[words[0]] {
				continue
			}
			if node.spec.operands.kind == operandsSub {
				visit(words, node.sub)
			}
			names := slices.Sorted(maps.Keys(node.spec.options))
			line := func(chosen []string) []string {
				line := slices.Clone(words)
				for _, o := range chosen {
					line = append(line, option(o, node.spec.options[o])...)
				}
				for range rnd.IntN(3) {
					line = append(line, pick())
				}
				return line
			}
			required := node.spec.required[:min(1, len(node.spec.required))]
			for _, o := range names {
				all = append(all, func() { run(line(append(slices.Clip(required), o))) })
			}
			for range 1 + len(names)/3 {
				all = append(all, func() {
					chosen := slices.Clone(required)
					for range rnd.IntN(4) {
						if len(names) > 0 {
							chosen = append(chosen, names[rnd.IntN(len(names))])
						}
					}
					run(line(chosen))
				})
			}
		}
	}
	visit(nil, p.programs)
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	limit := 8 * time.Second
	if os.Getenv("PTYCTL_LONG") != "" {
		limit = 100 * time.Second
	}
	begun := time.Now()
	for i := 0; (time.Since(begun) < limit || ran < 100) && (i < len(all) || limit > time.Minute); i++ {
		all[i%len(all)]()
	}
	t.Logf("%d lines of %d programs were run", ran, len(programs))
	if ran < 100 {
		t.Errorf("only %d lines of %d programs were run", ran, len(programs))
	}
}
