package sudo

import (
	"bytes"
	"io"
)

// Watch returns a writer for the command's standard error, or its output in a terminal: it finds sudo's questions there,
// takes them out, and passes the rest to w. Flush must follow the last write.
func (c *Command) Watch(w io.Writer) *Watcher { return &Watcher{c: c, w: w} }

// A Watcher is written to by one goroutine at a time.
type Watcher struct {
	c    *Command
	w    io.Writer
	held []byte // the end of the output so far, which may be the start of a question
}

func (w *Watcher) Write(p []byte) (int, error) {
	data := p
	if len(w.held) > 0 {
		data = append(w.held, p...)
		w.held = nil
	}
	for !w.c.Begun() {
		at, mark := w.first(data)
		if mark == "" {
			break
		}
		if err := w.pass(data[:at]); err != nil {
			return 0, err
		}
		data = data[at+len(mark):]
		if mark == w.c.prompt {
			w.c.ask()
		} else {
			w.c.begin()
		}
	}
	keep := 0
	if !w.c.Begun() {
		keep = max(unfinished(data, w.c.prompt), unfinished(data, w.c.began))
	}
	w.held = bytes.Clone(data[len(data)-keep:])
	if err := w.pass(data[:len(data)-keep]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on the bytes held back.
func (w *Watcher) Flush() {
	rest := w.held
	w.held = nil
	_ = w.pass(rest)
}

func (w *Watcher) pass(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := w.w.Write(p)
	return err
}

// first returns the first mark in data, and its place.
func (w *Watcher) first(data []byte) (at int, mark string) {
	for _, m := range []string{w.c.prompt, w.c.began} {
		if i := bytes.Index(data, []byte(m)); m != "" && i >= 0 && (mark == "" || i < at) {
			at, mark = i, m
		}
	}
	return at, mark
}

// unfinished returns how many bytes at the end of data are the start of mark.
func unfinished(data []byte, mark string) int {
	for n := min(len(data), len(mark)-1); n > 0; n-- {
		if string(data[len(data)-n:]) == mark[:n] {
			return n
		}
	}
	return 0
}
