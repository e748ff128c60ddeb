package tty

import (
	"bytes"
	"io"
	"os"
)

// WithoutReturns returns a writer to w for the output of another terminal, whose lines end with CR LF. Where the terminal
// f adds the CR to each LF by itself, as one outside of raw mode does, the writer leaves it out. Otherwise it returns w.
func WithoutReturns(w io.Writer, f *os.File) io.Writer {
	if !addsReturns(f) {
		return w
	}
	return &withoutReturns{w: w}
}

type withoutReturns struct {
	w    io.Writer
	held bool // the last byte was a CR, which is not written yet
}

// Write implements io.Writer. A CR at the end waits for the byte behind it.
func (o *withoutReturns) Write(p []byte) (int, error) {
	n := len(p)
	if n == 0 {
		return 0, nil
	}
	if o.held {
		p = append([]byte("\r"), p...)
	}
	if o.held = p[len(p)-1] == '\r'; o.held {
		p = p[:len(p)-1]
	}
	if _, err := o.w.Write(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n"))); err != nil {
		return 0, err
	}
	return n, nil
}
