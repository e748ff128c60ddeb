package ptyx_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/ptyx"
	"ptyctl/term"
)

// system lists the folders that almost every program must read.
var system = []string{"/usr", "/bin", "/lib", "/lib64", "/etc"}

// Files outside must be unreadable and unchangeable, for the program and its
// children; files inside must be usable.
func TestSandbox(t *testing.T) {
	const own = "what was there"
	inside, outside := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "kept")
	for _, path := range []string{kept, filepath.Join(inside, "mine"), filepath.Join(outside, "program")} {
		if err := os.WriteFile(path, []byte(own), 0o700); err != nil { //nolint:gosec // one of them is run
			t.Fatal(err)
		}
	}
	if err := os.Symlink(kept, filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	writes, reads := ptyx.Sandbox{Write: []string{inside}}, ptyx.Sandbox{Read: append(system, inside)}
	both := ptyx.Sandbox{Read: system, Write: []string{inside}}
	for name, c := range map[string]struct {
		box     ptyx.Sandbox
		command string
		fails   bool
	}{
		"write inside":          {writes, `echo new > new && mkdir d && mv new d/new && rm -r d`, false},
		"write outside":         {writes, `echo x > $OUT/kept`, true},
		"append outside":        {writes, `echo x >> $OUT/kept`, true},
		"truncate outside":      {writes, `truncate -s 0 $OUT/kept`, true},
		"make outside":          {writes, `echo x > $OUT/new`, true},
		"remove outside":        {writes, `rm -f $OUT/kept`, true},
		"move out":              {writes, `cp mine new && mv new $OUT/new`, true},
		"move in":               {writes, `mv $OUT/kept .`, true},
		"link out of":           {writes, `ln $OUT/kept hard && echo x > hard`, true},
		"by a symbolic link":    {writes, `echo x > link`, true},
		"by a child":            {writes, `env sh -c 'setsid sh -c "echo x > $OUT/kept"'`, true},
		"by python":             {writes, `/usr/bin/python3 -c 'import os; os.truncate(os.environ["OUT"] + "/kept", 0)'`, true},
		"read outside, free":    {writes, `cat $OUT/kept`, false},
		"devices":               {writes, `echo x > /dev/null && head -c 4 /dev/urandom > four`, false},
		"read inside":           {reads, `cat mine && ls .`, false},
		"read outside":          {reads, `cat $OUT/kept`, true},
		"list outside":          {reads, `ls $OUT`, true},
		"read by a link":        {reads, `cat link`, true},
		"write where one reads": {reads, `echo x > mine`, true},
		"both: inside":          {both, `cat mine > copy && rm copy`, false},
		"both: outside":         {both, `cat $OUT/kept`, true},
		"run from outside":      {both, `$OUT/program`, true},
	} {
		for kind, limits := range map[string]term.Limits{"": {}, " with limits": {Processes: 50, OpenFiles: 30}} {
			t.Run(name+kind, func(t *testing.T) {
				env := []term.EnvVar{{Name: "OUT", Value: outside}}
				_, errs, e := run(t, ptyx.Host{Sandbox: c.box}, job{LocalOptions: term.LocalOptions{
					Argv: []string{"sh", "-c", c.command}, Dir: inside, Env: env, Limits: limits,
				}})
				if !e.Known || e.Code == 127 || (e.Code != 0) != c.fails {
					t.Errorf("exit %+v: %s", e, errs)
				}
			})
		}
	}
	left, err := os.ReadDir(outside)
	if text, _ := os.ReadFile(kept); err != nil || len(left) != 2 || string(text) != own {
		t.Errorf("outside there are %v now, and %q", left, text)
	}
}

// A terminal must work in the sandbox, too.
func TestSandboxedTerminal(t *testing.T) {
	inside := t.TempDir()
	tr := openWith(
		t,
		ptyx.Host{Sandbox: ptyx.Sandbox{Read: system, Write: []string{inside}}},
		term.Target{Local: term.LocalOptions{
			Argv: []string{
				"sh",
				"-c",
				`echo x > /dev/tty && test -t 1 && stty size && echo y > here && ! cat /proc/self/status && echo done`,
			}, Dir: inside,
		}},
	)
	if out := until(t, tr, "done"); !strings.Contains(out, "40 120") {
		t.Errorf("output = %q, want the size 40 120", out)
	}
}

// The terminals of other programs must not be accessible.
func TestSandboxedFromOtherTerminals(t *testing.T) {
	other := open(t, term.LocalOptions{Argv: []string{"sh", "-c", "tty; exec sleep 1000"}})
	name := strings.TrimSpace(until(t, other, "\n"))
	if !strings.HasPrefix(name, "/dev/pts/") {
		t.Fatalf("the other terminal is %q", name)
	}
	box := ptyx.Sandbox{Write: []string{t.TempDir()}}
	_, errs, e := run(
		t,
		ptyx.Host{Sandbox: box},
		job{LocalOptions: term.LocalOptions{Argv: []string{"sh", "-c", "echo forged > " + name}}},
	)
	if e.Code == 0 || !strings.Contains(errs, "ermission denied") {
		t.Errorf("%+v: %s", e, errs)
	}
	tr := openWith(
		t,
		ptyx.Host{Sandbox: box},
		term.Target{Local: term.LocalOptions{Argv: []string{"sh", "-c", `echo mine > "$(tty)"; echo done`}}},
	)
	if out := until(t, tr, "done"); !strings.Contains(out, "mine") {
		t.Errorf("its own terminal: %q", out)
	}
}

// Problems with a sandbox must be reported before a program starts.
func TestSandboxCheck(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if err := (ptyx.Sandbox{}).Check(); err != nil {
		t.Errorf("no sandbox: %v", err)
	}
	err := ptyx.Sandbox{Write: []string{t.TempDir(), none}}.Check()
	if term.KindOf(err) != term.IOError || !strings.Contains(err.Error(), none) {
		t.Errorf("a folder that is not there: %v", err)
	}
	// A path that a program can replace must not be a boundary for the next
	// program.
	folder := t.TempDir()
	inner, link := filepath.Join(folder, "inner"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(inner, 0o700), os.Symlink(inner, link)); err != nil {
		t.Fatal(err)
	}
	for _, box := range []ptyx.Sandbox{
		{Write: []string{folder, inner}},
		{Read: []string{inner}, Write: []string{folder}},
		{Read: []string{link}, Write: []string{folder}},
	} {
		if err := box.Check(); term.KindOf(err) != term.InvalidArgument ||
			!strings.Contains(err.Error(), "is inside "+folder) {
			t.Errorf("%+v: %v", box, err)
		}
	}
	within := ptyx.Sandbox{Read: []string{filepath.Dir(folder)}, Write: []string{folder, folder + "-none"}}
	if err := within.Check(); err == nil ||
		strings.Contains(err.Error(), "is inside") {
		t.Errorf("a folder in one that is read: %v", err)
	}
	_, err = ptyx.Host{
		Sandbox: ptyx.Sandbox{Read: []string{t.TempDir()}},
	}.Open(
		t.Context(),
		term.Target{Local: term.LocalOptions{Argv: []string{"sh"}}},
		nil,
		nil,
	)
	if err == nil || !strings.Contains(err.Error(), "readable folders") {
		t.Errorf("a program outside: %v", err)
	}
}
