package policy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"ptyctl/internal/bufpipe"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// A shellHost is a far side that runs commands as a shell does, in memory: no program is started, and no file is there.
type shellHost struct {
	io.ReadWriteCloser
	only map[string]bool // programs that may be run; nil: all but "forbidden"
	ran  atomic.Bool     // another one was
}

func (h *shellHost) Resize(int, int) error { return nil }

func (h *shellHost) Exec(ctx context.Context, r term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
	ctx, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	h.script(ctx, r.Command, bytes.NewReader(r.Stdin), stdout, 0)
	return term.Exit{Known: true}, nil
}

// script runs text, and programs that run others as they do.
func (h *shellHost) script(ctx context.Context, text string, in io.Reader, out io.Writer, depth int) {
	if depth > 8 || ctx.Err() != nil {
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return
	}
	nowhere := func(string) error { return fs.ErrNotExist }
	r, err := interp.New(
		interp.Env(expand.ListEnviron("PATH=/bin", "HOME=/home")), interp.StdIO(in, out, io.Discard),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
			return func(ctx context.Context, args []string) error {
				hc := interp.HandlerCtx(ctx)
				h.program(ctx, args, hc.Stdin, hc.Stdout, depth)
				return nil
			}
		}),
		interp.OpenHandler(func(context.Context, string, int, fs.FileMode) (io.ReadWriteCloser, error) { return nothing{}, nil }),
		interp.ReadDirHandler2(func(_ context.Context, p string) ([]fs.DirEntry, error) { return nil, nowhere(p) }),
		interp.StatHandler(func(_ context.Context, p string, _ bool) (fs.FileInfo, error) { return nil, nowhere(p) }),
		interp.AccessHandler(func(_ context.Context, p string, _ interp.AccessMode) error { return nowhere(p) }),
	)
	if err == nil {
		_ = r.Run(ctx, file) // a command that fails is no fault of the host
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error)    { return 0, io.EOF }
func (nothing) Write(p []byte) (int, error) { return len(p), nil }
func (nothing) Close() error                { return nil }

// maxRead is how much a program of the host reads.
const maxRead = 1 << 16

func (h *shellHost) program(ctx context.Context, args []string, in io.Reader, out io.Writer, depth int) {
	if depth++; len(args) == 0 || depth > 8 || ctx.Err() != nil {
		return
	}
	read := func() string {
		if in == nil {
			return ""
		}
		text, _ := io.ReadAll(io.LimitReader(in, maxRead)) // what it got so far is what it has
		return string(text)
	}
	rest := args[1:]
	skip := func(valued string) {
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
			option := rest[0]
			rest = rest[1:]
			if option == "--" {
				return
			}
			if len(option) == 2 && strings.Contains(valued, option[1:]) && len(rest) > 0 {
				rest = rest[1:]
			}
		}
	}
	name := path.Base(args[0])
	if h.only == nil && name == "forbidden" || h.only != nil && !h.only[name] {
		h.ran.Store(true)
		return
	}
	switch name {
	case "cat", "tee":
		_, _ = io.WriteString(out, read())
	case "sh", "bash", "dash", "zsh", "ksh":
		script := false
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && len(rest[0]) > 1 {
			script = script || !strings.HasPrefix(rest[0], "--") && strings.Contains(rest[0], "c")
			rest = rest[1:]
		}
		switch {
		case script && len(rest) > 0:
			h.script(ctx, rest[0], in, out, depth)
		case !script && len(rest) == 0:
			h.script(ctx, read(), nil, out, depth)
		}
	case "env", "sudo":
		skip("uCgp")
		for len(rest) > 0 && strings.Contains(rest[0], "=") {
			rest = rest[1:]
		}
		h.program(ctx, rest, in, out, depth)
	case "nice", "nohup", "setsid", "stdbuf", "doas", "ionice", "busybox", "command", "exec":
		skip("nioeu")
		h.program(ctx, rest, in, out, depth)
	case "timeout", "chroot":
		skip("ks")
		if len(rest) > 1 {
			h.program(ctx, rest[1:], in, out, depth)
		}
	case "ssh", "watch":
		skip("pnl")
		if name == "ssh" && len(rest) > 0 {
			rest = rest[1:]
		}
		h.script(ctx, strings.Join(rest, " "), in, out, depth)
	case "xargs":
		if skip("nPLs"); len(rest) == 0 {
			return // it is echo
		}
		h.program(ctx, append(rest, strings.Fields(read())...), nil, out, depth)
	case "find":
		for i, a := range rest {
			if a == "-exec" || a == "-execdir" || a == "-ok" {
				h.program(ctx, rest[i+1:], nil, out, depth)
			}
		}
	case "docker":
		if len(rest) > 2 && rest[0] == "exec" {
			h.program(ctx, rest[2:], in, out, depth)
		}
	}
}

// runOn runs a line on such a host, through a session whose Gate the policy is, and reports whether it ran "forbidden", or
// what is not among only.
func runOn(tb testing.TB, p *policy.Policy, line string, only map[string]bool) (ran bool, err error) {
	tb.Helper()
	near, far := bufpipe.New(0)
	defer far.Close()
	h := &shellHost{ReadWriteCloser: near, only: only}
	s := session.New(h, session.Options{Gate: p.Gate()})
	defer s.Close(tb.Context(), session.CloseOptions{Force: true})
	_, err = s.Exec(tb.Context(), session.ExecRequest{Command: line, Lane: session.LaneChannel, Timeout: time.Second})
	return h.ran.Load(), err
}

// seeds run "forbidden", each in another way.
var seeds = []string{
	"forbidden", "ls; forbidden", "ls\nforbidden x", "echo $(forbidden)", "echo `forbidden`", "cat <<E\n$(forbidden)\nE", "f() { forbidden; }; f",
	"sh -c 'forbidden x'", "eval 'forb'idden", "env A=b forbidden", "sudo -u x forbidden", "echo x | xargs forbidden", "find . -exec forbidden {} +",
	"/bin/forbidden", "f'orbid'den", `f\orbidden`, "echo forbidden | sh", "sh <<< forbidden", "x=forbidden; $x", "${x:-forbidden}", "timeout 5 nice -n 3 forbidden",
	"ssh h 'ls; forbidden'", "if :; then forbidden; fi", "for x in forbidden; do $x; done", "case x in x) forbidden;; esac", "! forbidden", "{ forbidden; }", "(forbidden)",
	"alias a=forbidden", "trap forbidden EXIT", "exec forbidden", "command forbidden", "A=b forbidden", "time forbidden", ">x forbidden", "true && forbidden || forbidden",
	"docker exec c forbidden", "busybox forbidden", "bash -ec \"forbidden\"", "echo ${x:-$(forbidden)}", "cat <(forbidden)", "while forbidden; do break; done", "watch forbidden",
	"printf forbidden | bash", "echo forbidden > x; . ./x", "e=eval; $e forbidden", "\"for\"\"bidden\"", "for\\\nbidden", "{forbidden,x}", "echo $((`forbidden`))", "declare -x y=$(forbidden)",
}

// TestHostRuns: the host of the fuzzer is one that a denied command could be run on.
func TestHostRuns(t *testing.T) {
	open := gate(t, policy.Rules{})
	shut := gate(t, policy.Rules{Deny: rules("deny", "forbidden")})
	ran := 0
	for _, line := range seeds {
		if got, err := runOn(t, open, line, nil); got {
			ran++
		} else {
			t.Logf("not run: %q (%v)", line, err)
		}
		if got, err := runOn(t, shut, line, nil); got || err == nil {
			t.Errorf("%q: run %t, %v", line, got, err)
		}
	}
	if ran < 40 {
		t.Errorf("only %d of %d seeds run on the host", ran, len(seeds))
	}
}

// FuzzExec looks for a line that passes the Gate and runs what it denies.
func FuzzExec(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	p := gate(f, policy.Rules{Deny: rules("deny", "forbidden")})
	fuzz(f, p, nil)
}

// FuzzAllowed looks for a line that passes the Gate and runs what no rule allows.
func FuzzAllowed(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
		f.Add(strings.ReplaceAll(s, "forbidden", "ls"))
		f.Add("ls; sh -c '" + s + "'")
	}
	p := gate(f, policy.Rules{Allow: rules("allow", "ls *", "cat *", "echo *", "sh -c *", "xargs *", "find *", "nice *", "eval *", "command *", "> *", "x=*")})
	fuzz(f, p, map[string]bool{"ls": true, "cat": true, "sh": true, "xargs": true, "find": true, "nice": true})
}

func fuzz(f *testing.F, p *policy.Policy, only map[string]bool) {
	f.Fuzz(func(t *testing.T, line string) {
		if strings.TrimSpace(line) == "" || len(line) > 4096 {
			return
		}
		ran, err := runOn(t, p, line, only)
		if ran {
			t.Fatalf("%q ran what is denied (%v)", line, err)
		}
		if err != nil && !errors.Is(err, term.PolicyDenied) && !errors.Is(err, term.InvalidArgument) {
			t.Fatalf("%q: %v", line, err)
		}
	})
}
