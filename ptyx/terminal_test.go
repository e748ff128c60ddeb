//go:build unix

package ptyx_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/ptyx"
	"ptyctl/term"
)

func TestTerminal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := openWith(t, ptyx.Host{}, term.Target{
		PTY: term.PTY{Cols: 93, Rows: 17, Term: "vt100"},
		Local: term.LocalOptions{
			Argv: []string{
				"sh",
				"-c",
				`test -t 0 && test -t 1 && test -t 2 && stty size && pwd && echo $TERM $X; read l; echo "got $l"; exit 7`,
			},
			Dir:   dir,
			Env:   []term.EnvVar{{Name: "X", Value: "a b"}},
			Title: "a title",
		},
	})
	until(t, tr, "17 93\r\n"+dir+"\r\nvt100 a b\r\n")
	if _, err := tr.Write([]byte("näh\r")); err != nil {
		t.Fatal(err)
	}
	if got, want := rest(t, tr), "näh\r\ngot näh\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e := exitOf(t, tr)
	if !e.Started || e.Code != 7 || e.Signal != "" || e.Usage.CPU <= 0 {
		t.Errorf("exit %+v", e)
	}
	d := tr.Describe()
	if p := d.Process; !d.PTY || p.PID < 2 || p.Dir != dir || p.Title != "a title" || len(p.Argv) != 3 {
		t.Errorf("described as %+v, %+v", d, p)
	}
}

// The last output of a program that ends at once must be read, every time.
func TestLastOutput(t *testing.T) {
	want := strings.Repeat("the last line\r\n", 300)
	for i := range 300 {
		tr := open(t, term.LocalOptions{Argv: []string{"printf", strings.Repeat(`the last line\n`, 300)}})
		if got := rest(t, tr); got != want {
			t.Fatalf("round %d: got %d bytes of %d", i, len(got), len(want))
		}
		if e := exitOf(t, tr); e.Code != 0 {
			t.Fatalf("round %d: %+v", i, e)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSignals(t *testing.T) {
	for name, code := range map[string]int{"INT": 130, "TERM": 143, "HUP": 129, "KILL": 137, "QUIT": 131} {
		tr := open(t, term.LocalOptions{Argv: []string{"sleep", "1000"}})
		if err := tr.Signal(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		rest(t, tr)
		if e := exitOf(t, tr); e.Signal != name || e.Code != code {
			t.Errorf("%s: %+v", name, e)
		}
		_ = tr.Close()
	}
	tr := open(t, sh("cat"))
	if err := tr.Signal(t.Context(), "STOP"); !errors.Is(err, term.InvalidArgument) {
		t.Errorf("a signal that there is not: %v", err)
	}
}

// INT must reach the foreground job of an interactive shell, and the shell must
// continue.
func TestSignalsOfJobs(t *testing.T) {
	tr := open(
		t,
		term.LocalOptions{Argv: []string{"bash", "--norc", "-i"}, Env: []term.EnvVar{{Name: "PS1", Value: "READY> "}}},
	)
	until(t, tr, "READY> ")
	mustWrite(t, tr, "sh -c 'echo on''ce; exec sleep 1000'\r")
	until(t, tr, "once\r\n")
	if err := tr.Signal(t.Context(), "INT"); err != nil {
		t.Fatal(err)
	}
	until(t, tr, "READY> ")
	mustWrite(t, tr, "echo $?\r")
	until(t, tr, "130\r\n")
	if err := tr.Signal(t.Context(), "KILL"); err != nil {
		t.Fatal(err)
	}
	rest(t, tr)
	if e := exitOf(t, tr); e.Signal != "KILL" {
		t.Errorf("exit %+v", e)
	}
}

func mustWrite(tb testing.TB, tr *ptyx.Terminal, text string) {
	tb.Helper()
	if n, err := tr.Write([]byte(text)); err != nil || n != len(text) {
		tb.Fatalf("wrote %d of %d: %v", n, len(text), err)
	}
}

// Resize, Signal and Close must work during a waiting read.
func TestDuringARead(t *testing.T) {
	tr := open(t, sh(`trap 'stty size; echo done' WINCH; echo up; while :; do sleep 0.05; done`))
	until(t, tr, "up\r\n")
	read := make(chan string)
	go func() { read <- until(t, tr, "done\r\n") }()
	if err := tr.Resize(101, 31); err != nil {
		t.Fatal(err)
	}
	if got := <-read; !strings.Contains(got, "31 101") {
		t.Errorf("after the resize: %q", got)
	}
	over := make(chan string)
	go func() { over <- rest(t, tr) }()
	began := time.Now()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	<-over
	if took := time.Since(began); took > patience {
		t.Errorf("Close took %v, want at most %v", took, patience)
	}
	if e := exitOf(t, tr); e.Signal != "HUP" {
		t.Errorf("exit %+v", e)
	}
	if err := tr.Close(); err != nil {
		t.Errorf("the second close: %v", err)
	}
}

// A write to a program that never reads must wait until Close.
func TestWriteThatIsNotTaken(t *testing.T) {
	tr := open(t, sh("stty raw -echo; echo up; exec sleep 1000"))
	until(t, tr, "up")
	done := make(chan error)
	var n int
	go func() {
		var err error
		for range 100 {
			var m int
			m, err = tr.Write(make([]byte, 4096))
			if n += m; err != nil {
				break
			}
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("%d bytes were taken, then %v", n, err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, term.RemoteClosed) {
		t.Errorf("the write ended with %v", err)
	}
}

// A program that closes its terminal, as a daemon does, must not count as ended.
func TestProgramThatClosesItsTerminal(t *testing.T) {
	tr := open(t, sh("echo up; exec >/dev/null 2>&1 </dev/null; sleep 0.3; exit 4"))
	if got := rest(t, tr); got != "up\r\n" {
		t.Errorf("got %q", got)
	}
	if e := exitOf(t, tr); e.Code != 4 {
		t.Errorf("exit %+v", e)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PTYX_SECRET", "hunter2")
	t.Setenv("PTYX_PASSED", "1")
	t.Setenv("LC_TIME", "C")
	t.Setenv("HOME", "/somewhere")
	out, _, _ := run(
		t,
		ptyx.Host{Inherit: []string{"PTYX_PASSED", "LC_*"}},
		job{
			LocalOptions: term.LocalOptions{
				Argv: []string{"env"},
				Env:  []term.EnvVar{{Name: "LANG", Value: "C"}, {Name: "MINE", Value: "x=y"}},
			},
		},
	)
	names := make(map[string]string)
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		names[name] = value
	}
	if names["PTYX_SECRET"] != "" || names["PTYX_PASSED"] != "1" || names["LC_TIME"] != "C" || names["LANG"] != "C" ||
		names["MINE"] != "x=y" ||
		names["HOME"] != "/somewhere" ||
		names["TERM"] != "dumb" ||
		names["PATH"] != os.Getenv("PATH") {
		t.Errorf("the environment is\n%s", out)
	}
	for name := range names {
		if !strings.HasPrefix(name, "LC_") && !strings.Contains(" PATH HOME USER LANG TERM MINE PTYX_PASSED ", " "+name+" ") {
			t.Errorf("%s was passed on", name)
		}
	}
}

// The whole environment may be passed on, except the variable that describes the
// terminal.
func TestWholeEnvironment(t *testing.T) {
	t.Setenv("PTYX_PASSED", "1")
	t.Setenv("TERM", "vt52")
	for _, c := range []struct {
		inherit []string
		want    string
	}{{[]string{"*"}, "1 dumb"}, {[]string{"*", "TERM"}, "1 vt52"}} {
		out, _, _ := run(t, ptyx.Host{Inherit: c.inherit}, job{LocalOptions: sh(`echo "$PTYX_PASSED $TERM"`)})
		if out != c.want+"\n" {
			t.Errorf("%v: %q, want %q", c.inherit, out, c.want)
		}
	}
}

// A bare program must get only the caller's variables and those that the operator
// names, and its file must still be found.
func TestBareEnvironment(t *testing.T) {
	t.Setenv("PTYX_PASSED", "1")
	var h ptyx.Host
	bare := job{LocalOptions: term.LocalOptions{Argv: []string{"env"}, Bare: true}}
	if out, _, _ := run(t, ptyx.Host{Inherit: []string{"PTYX_*"}}, bare); out != "PTYX_PASSED=1\n" {
		t.Errorf("with one to inherit: %q", out)
	}
	for want, env := range map[string][]term.EnvVar{
		"":                             nil,
		"MINE=x\nPATH=/usr/bin:/bin\n": {{Name: "MINE", Value: "x"}, {Name: "PATH", Value: "/usr/bin:/bin"}},
	} {
		o := term.LocalOptions{Argv: []string{"env"}, Env: env, Bare: true}
		if out, _, _ := run(t, h, job{LocalOptions: o}); out != want {
			t.Errorf("without a terminal: %q, want %q", out, want)
		}
		tr := openWith(t, h, term.Target{Local: o})
		if out := strings.ReplaceAll(rest(t, tr), "\r\n", "\n"); out != want {
			t.Errorf("on a terminal: %q, want %q", out, want)
		}
	}
	_, _, _, err := tryRun(
		t.Context(),
		h,
		job{
			LocalOptions: term.LocalOptions{
				Argv: []string{"env"},
				Env:  []term.EnvVar{{Name: "PATH", Value: "/nowhere"}},
				Bare: true,
			},
		},
	)
	if term.KindOf(err) != term.InvalidArgument {
		t.Errorf("in a PATH of its own it is found: %v", err)
	}
}

func TestWrongCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o     term.LocalOptions
		field term.Field
		part  string
	}{
		{term.LocalOptions{}, term.FieldArgv, "no shell is started"},
		{term.LocalOptions{Argv: []string{""}}, term.FieldArgv, "empty"},
		{term.LocalOptions{Argv: []string{"no such program"}}, term.FieldArgv.At(0), "sh"},
		{term.LocalOptions{Argv: []string{"./file"}, Dir: filepath.Dir(file)}, term.FieldArgv.At(0), "permission denied"},
		{term.LocalOptions{Argv: []string{"/"}}, term.FieldArgv.At(0), "cannot be started"},
		{term.LocalOptions{Argv: []string{"sh", "a\x00b"}}, term.FieldArgv.At(1), "NUL"},
		{term.LocalOptions{Argv: []string{"sh", strings.Repeat("x", 1<<17)}}, term.FieldArgv.At(1), "131071"},
		{term.LocalOptions{Argv: make([]string, 5000)}, term.FieldArgv, "empty"},
		{term.LocalOptions{Argv: []string{"sh"}, Dir: "/no/such/folder"}, term.FieldDir, "no such file"},
		{term.LocalOptions{Argv: []string{"sh"}, Dir: file}, term.FieldDir, "not a folder"},
		{term.LocalOptions{Argv: []string{"sh"}, Env: []term.EnvVar{{Name: "A=B"}}}, term.FieldLocalEnv.At(0), "NAME=value"},
		{term.LocalOptions{Argv: []string{"sh"}, Env: []term.EnvVar{{Name: "A", Value: "\x00"}}}, term.FieldLocalEnv.At(0), "NUL"},
	} {
		_, err := ptyx.Host{}.Open(t.Context(), term.Target{Local: c.o}, nil, nil)
		var e *term.Error
		if !errors.As(err, &e) || e.Kind != term.InvalidArgument || term.FactOf[term.ArgumentFault](e).Field != c.field ||
			!strings.Contains(e.Msg, c.part) {
			t.Errorf("%.80s: %v (%+v)", fmt.Sprint(c.o), err, e)
		}
	}
}
