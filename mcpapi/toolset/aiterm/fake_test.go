package aiterm_test

import (
	"context"
	"errors"
	"io"

	"ptyctl/term"
)

// limited is a program that reaches its limit at once.
type limited struct {
	over chan struct{}
	exit term.Exit
}

func (p limited) Exec(context.Context, term.ExecRequest, io.Writer, io.Writer) (term.Exit, error) {
	defer close(p.over)
	return p.exit, nil
}

func (p limited) Read([]byte) (int, error)  { <-p.over; return 0, io.EOF }
func (p limited) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (p limited) Resize(int, int) error     { return errors.ErrUnsupported }
func (p limited) Close() error              { return nil }
