package tty

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	ptyterm "ptyctl/term"
)

// A Prompter asks the person at the terminal of this process: a ptyterm.Prompter. It shows the answer only if the
// question says so. The terminal is opened by its own name, as ssh(1) does, so that input and output may be redirected.
type Prompter struct {
	tty *os.File
	in  *bufio.Reader // kept from one question to the next: a person may type ahead
}

var _ ptyterm.Prompter = (*Prompter)(nil)

// NewPrompter returns nil if the process has no terminal.
func NewPrompter() *Prompter {
	name := "/dev/tty"
	if runtime.GOOS == "windows" {
		name = "CONIN$"
	}
	tty, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return &Prompter{tty, bufio.NewReader(tty)}
}

// Interface returns p as an interface that is nil if p is.
func (p *Prompter) Interface() ptyterm.Prompter {
	if p == nil {
		return nil
	}
	return p
}

// Close closes the terminal. Of a nil Prompter it does nothing.
func (p *Prompter) Close() {
	if p != nil {
		_ = p.tty.Close()
	}
}

// errInterrupted is the answer of a person who presses ctrl-c or ctrl-d.
var errInterrupted = errors.New("interrupted")

// Prompt asks q and waits for the answer, or for the end of ctx.
func (p *Prompter) Prompt(ctx context.Context, q ptyterm.Prompt) (answer string, err error) {
	raw, err := p.tty.SyscallConn() // Fd would make reads that nothing can interrupt
	if err != nil {
		return "", err
	}
	var was *term.State
	var rawErr error
	err = raw.Control(func(fd uintptr) { was, rawErr = term.MakeRaw(int(fd)) })
	if err := errors.Join(err, rawErr); err != nil {
		return "", fmt.Errorf("the terminal cannot hide the input: %w", err)
	}
	defer func() { _ = raw.Control(func(fd uintptr) { _ = term.Restore(int(fd), was) }) }()
	_ = p.tty.SetReadDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = p.tty.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	text := Plain(q.Text)
	if !strings.HasSuffix(text, " ") {
		text += " "
	}
	if _, err := io.WriteString(p.tty, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		return "", err
	}
	defer func() { _, _ = io.WriteString(p.tty, "\r\n") }()
	line, err := readLine(p.in, p.tty, q.Echo)
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return line, err
}

// readLine reads input from a raw terminal, up to enter.
func readLine(in io.RuneReader, out io.Writer, echo bool) (string, error) {
	var line []rune
	show := func(text string) {
		if echo {
			_, _ = io.WriteString(out, text)
		}
	}
	for {
		r, _, err := in.ReadRune()
		switch {
		case err != nil:
			return "", err
		case r == '\r' || r == '\n':
			return string(line), nil
		case r == 0x03, r == 0x04 && len(line) == 0: // ctrl-c, ctrl-d
			return "", errInterrupted
		case r == 0x15: // ctrl-u
			show(strings.Repeat("\b \b", len(line)))
			line = line[:0]
		case r == 0x7f || r == '\b':
			if len(line) > 0 {
				line = line[:len(line)-1]
				show("\b \b")
			}
		case unicode.IsControl(r):
		default:
			line = append(line, r)
			show(string(r))
		}
	}
}
