// Command screen shows a full-screen program as a person would see it, first whole, then the changes after a key:
//
//	go run ./examples/screen run 'F10Quit' '\x1bOB' htop
//	go run ./examples/screen replay FILE 5000
//
// The first starts a program on a local terminal, prints its screen as soon as that shows a text, types keys, and
// prints the rows that are new when the output rests. The second prints the screen after the first 5,000 bytes of a
// recording, and how it differs at the end; script(1) makes one.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"ptyctl/ptyx"
	"ptyctl/screen"
	"ptyctl/term"
)

const (
	cols, rows = 80, 24
	rest       = 300 * time.Millisecond // output that pauses for so long has drawn its picture
)

func main() {
	err := errors.New("usage: screen run TEXT KEYS COMMAND [ARGUMENT...] | screen replay FILE BYTES")
	switch args := os.Args[1:]; {
	case len(args) >= 4 && args[0] == "run":
		err = run(context.Background(), os.Stdout, args[1], args[2], args[3:])
	case len(args) == 3 && args[0] == "replay":
		err = replay(os.Stdout, args[1], args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		os.Exit(1)
	}
}

// replay prints the screen after the first n bytes of a recording, and the rows that the remaining bytes change.
func replay(out io.Writer, file, n string) error {
	recording, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(n)
	if err != nil || at < 0 || at > len(recording) {
		return fmt.Errorf("%s is no offset in %s, which has %d bytes", n, file, len(recording))
	}
	s := screen.New(cols, rows)
	s.Write(recording[:at])
	first := s.Snapshot()
	fmt.Fprint(out, first.Render(screen.Options{}))
	s.Write(recording[at:])
	changes := s.Diff(first.Version)
	fmt.Fprint(out, changes.Render(screen.Options{}))
	return nil
}

// run prints the screen of a program once it shows text, types keys, and prints the rows that they change.
func run(ctx context.Context, out io.Writer, text, keys string, argv []string) error {
	typed, err := strconv.Unquote(`"` + strings.ReplaceAll(keys, `"`, `\"`) + `"`)
	if err != nil {
		return fmt.Errorf("%s has an escape that Go does not know: %w", keys, err)
	}
	terminal, err := ptyx.Host{}.Open(ctx, term.Target{
		PTY:   term.PTY{Term: "xterm-256color", Cols: cols, Rows: rows},
		Local: term.LocalOptions{Argv: argv},
	}, nil, nil)
	if err != nil {
		return err
	}
	output := make(chan []byte)
	go func() {
		defer close(output)
		for {
			piece := make([]byte, 32<<10)
			n, err := terminal.Read(piece)
			if n > 0 {
				output <- piece[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		_ = terminal.Close()
		for range output { // ends with the terminal
		}
	}()

	s := screen.New(cols, rows)
	first := s.Snapshot()
	for !strings.Contains(first.Text(), text) {
		piece, ok := <-output
		if !ok {
			return fmt.Errorf("%s has ended without %q on its screen", argv[0], text)
		}
		if err := draw(s, terminal, piece); err != nil {
			return err
		}
		first = s.Snapshot()
	}
	fmt.Fprint(out, first.Render(screen.Options{}))

	if _, err := io.WriteString(terminal, typed); err != nil {
		return err
	}
	var rested <-chan time.Time // once the program has answered the keys
	for {
		select {
		case piece, ok := <-output:
			if ok {
				if err := draw(s, terminal, piece); err != nil {
					return err
				}
				rested = time.After(rest)
				continue
			}
		case <-rested:
		}
		changes := s.Diff(first.Version)
		fmt.Fprint(out, changes.Render(screen.Options{}))
		return nil
	}
}

// draw brings the screen up to date, and answers the program's questions about its terminal: without an answer some
// programs wait.
func draw(s *screen.Screen, terminal io.Writer, piece []byte) error {
	s.Write(piece)
	if replies := s.Replies(); len(replies) > 0 {
		if _, err := terminal.Write(replies); err != nil {
			return err
		}
	}
	return nil
}
