package tty

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// RawMode makes the terminal f pass on each key as it is pressed, until restore is called. Of another file it does
// nothing.
func RawMode(f *os.File) (restore func(), err error) {
	if !IsTerminal(f) {
		return func() {}, nil
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the terminal: %w", err)
	}
	return func() { _ = term.Restore(int(f.Fd()), before) }, nil
}

// Size returns the size of f's terminal; zeros if f is not a terminal.
func Size(f *os.File) (cols, rows int) {
	cols, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return cols, rows
}

// Keys delivers the input of f until it ends or quit is closed. Its goroutine is not waited for: a read of a terminal
// cannot be interrupted, and the process ends soon after the last key that matters.
func Keys(f *os.File, quit <-chan struct{}) <-chan []byte {
	typed := make(chan []byte)
	go func() {
		defer close(typed)
		for {
			buf := make([]byte, 4096)
			n, err := f.Read(buf)
			if n > 0 {
				select {
				case typed <- buf[:n]:
				case <-quit:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return typed
}
