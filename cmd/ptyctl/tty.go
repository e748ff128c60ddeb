package main

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// rawMode hands each key to us as it is pressed, and takes back what the terminal does with keys. Outside of a terminal
// it does nothing.
func rawMode(f *os.File) (restore func(), err error) {
	if !isTerminal(f) {
		return func() {}, nil
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the terminal: %w", err)
	}
	return func() { _ = term.Restore(int(f.Fd()), before) }, nil
}

// size returns the size of the terminal; zeros if there is none.
func size(f *os.File) (cols, rows int) {
	cols, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return cols, rows
}

// keys delivers what is typed, until the input ends or quit is closed. Nobody waits for the goroutine that reads: a read
// of a terminal cannot be called back, and the process ends soon after the last key that counts.
func keys(f *os.File, quit <-chan struct{}) <-chan []byte {
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
