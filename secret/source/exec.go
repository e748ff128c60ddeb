package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"ptyctl/internal/lazyregexp"
	"ptyctl/internal/locked"
)

// A program is a helper with its arguments.
type program struct {
	argv []string
	env  []string
}

// newProgram reads an absolute path and arguments, which blanks separate. There is no quoting: an argument that needs it
// belongs into a script.
func newProgram(line string, o Options) (*program, error) {
	argv := strings.Fields(line)
	if len(argv) == 0 {
		return nil, errors.New("the path of a program is missing")
	}
	path, err := o.absolute(argv[0])
	if err != nil {
		return nil, err
	}
	argv[0] = path
	p := &program{argv: argv}
	for _, name := range o.Env {
		lookup := o.Lookup
		if credential.MatchString(name) {
			lookup = o.Take
		}
		if value, ok := lookup(name); ok {
			p.env = append(p.env, name+"="+value)
		}
	}
	return p, nil
}

// credential matches the names of variables that open a vault by themselves.
var credential = lazyregexp.New(`(?i)token|passw|passphrase|secret|_session(_|$)|_(key|pass|pin)$`)

// errTooLong says that a helper has printed more than a value may be.
var errTooLong = fmt.Errorf("it has printed more than %d bytes, so it was ended", MaxBytes)

// run returns the output of the helper, which gets input. It ends all that the helper has started, also a program that
// keeps the output open, for which it does not wait.
func (p *program) run(ctx context.Context, input []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	out := &bounded{full: cancel}
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Env = append([]string{}, p.env...)
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout = bytes.NewReader(input), out
	cmd.WaitDelay = time.Second
	alone(cmd)
	err := cmd.Run()
	switch exit := (*exec.ExitError)(nil); {
	case out.over:
		err = errTooLong
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("it has not ended within %v; is a vault locked, or a dialog open?", Patience)
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrWaitDelay): // the helper itself has ended well
		_ = cmd.Cancel()
		err = nil
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("there is no such program here; install it, or name its whole path")
	case errors.As(err, &exit):
		err = fmt.Errorf("it has ended with %v; its own message is not shown, it could hold a secret", exit.ProcessState)
	}
	if err != nil {
		clear(out.data)
		return nil, fmt.Errorf("%s: %w", p.argv[0], err)
	}
	return out.data, nil
}

// bounded keeps at most MaxBytes.
type bounded struct {
	data []byte
	over bool
	full func() // more has come
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.data == nil {
		b.data = locked.Bytes(MaxBytes)[:0] // never moved, so that no copy is left behind
	}
	if len(b.data)+len(p) > MaxBytes {
		b.over = true
		b.full()
		return 0, errTooLong
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// execSource is exec:.
type execSource struct{ *program }

func newExec(rest string, o Options) (Source, error) {
	p, err := newProgram(rest, o)
	return execSource{p}, err
}

func (s execSource) Fetch(ctx context.Context) ([]byte, error) {
	out, err := s.run(ctx, nil)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: it has printed nothing", s.argv[0])
	}
	line, err := firstLine(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.argv[0], err)
	}
	return line, nil
}
