package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"ptyctl/internal/sshserver"
)

// The lines that the demonstration has a shell run.
const (
	lineStreams = "echo to stdout; echo to stderr >&2; exit 7"
	lineAnswer  = "echo $((6*7)) is the answer"
	lineEndless = "sh -c 'echo ready; exec sleep 999'"
	lineStatus  = "echo status $?"
	lineSize    = "until stty size | grep '^30 100$'; do sleep 0.1; done"
)

// standIn is the shell of the demonstration where the system has no /bin/sh: it knows the lines of the demonstration
// and no others. Its terminal echoes its input, and Ctrl-C interrupts.
func standIn(ctx context.Context, r *sshserver.Request) sshserver.Exit {
	if !r.Shell {
		if r.Command != lineStreams {
			fmt.Fprintln(r.Stderr, "the demonstration has no such command")
			return sshserver.Exit{Status: 127}
		}
		fmt.Fprintln(r.Stdout, "to stdout")
		fmt.Fprintln(r.Stderr, "to stderr")
		return sshserver.Exit{Status: 7}
	}
	s := &standInShell{out: r.Stdout, keys: make(chan byte), windows: r.Windows}
	if r.PTY != nil {
		s.window = r.PTY.Window
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.read(ctx, r.Stdin) // ends with the channel, which the server closes after this
	s.run(ctx)
	return sshserver.Exit{}
}

// A standInShell is one terminal of standIn.
type standInShell struct {
	out     io.Writer
	keys    chan byte // closed at the end of the input
	windows <-chan sshserver.Window
	window  sshserver.Window
	status  int // of the last command
}

// read passes the keys on.
func (s *standInShell) read(ctx context.Context, in io.Reader) {
	defer close(s.keys)
	for typed := bufio.NewReader(in); ; {
		key, err := typed.ReadByte()
		if err != nil {
			return
		}
		select {
		case s.keys <- key:
		case <-ctx.Done():
			return
		}
	}
}

const ctrlC = 3

// run reads lines, until the input ends.
func (s *standInShell) run(ctx context.Context) {
	var line strings.Builder
	s.print("$ ")
	for {
		key, ok := s.next(ctx, nil)
		switch {
		case !ok:
			return
		case key == '\r' || key == '\n':
			s.print("\r\n")
			if !s.command(ctx, line.String()) {
				return
			}
			line.Reset()
			s.print("$ ")
		case key == ctrlC:
			line.Reset()
			s.print("^C\r\n$ ")
		default:
			line.WriteByte(key)
			s.print(string(rune(key)))
		}
	}
}

// next returns the next key; false: the input has ended, or enough says that the new size of the window is awaited no
// longer.
func (s *standInShell) next(ctx context.Context, enough func() bool) (byte, bool) {
	for enough == nil || !enough() {
		select {
		case key, ok := <-s.keys:
			return key, ok
		case s.window = <-s.windows:
		case <-ctx.Done():
			return 0, false
		}
	}
	return 0, false
}

// command runs a line; false: the input has ended.
func (s *standInShell) command(ctx context.Context, line string) bool {
	was := s.status
	s.status = 0
	switch line {
	case "":
	case lineAnswer:
		s.print("42 is the answer\r\n")
	case lineStatus:
		s.print(fmt.Sprintf("status %d\r\n", was))
	case lineEndless:
		s.print("ready\r\n")
		for key := byte(0); key != ctrlC; {
			var ok bool
			if key, ok = s.next(ctx, nil); !ok {
				return false
			}
		}
		s.print("^C\r\n")
		s.status = 130
	case lineSize:
		resized := func() bool { return s.window.Rows == 30 && s.window.Cols == 100 }
		for !resized() {
			if key, ok := s.next(ctx, resized); ok && key == ctrlC || !ok && !resized() {
				return ok
			}
		}
		s.print("30 100\r\n")
	default:
		s.print("the demonstration has no such command\r\n")
		s.status = 127
	}
	return true
}

// print writes to the terminal. A failure shows as the end of the input, too.
func (s *standInShell) print(text string) { _, _ = io.WriteString(s.out, text) }
