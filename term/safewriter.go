package term

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A WriterPanic reports that the writer of a caller panicked.
type WriterPanic struct {
	Value any // of the panic; nil if the writer ended its goroutine
}

// Error implements error.
func (e *WriterPanic) Error() string {
	return fmt.Sprintf("the caller's writer for the output panicked (%v), so the command was stopped", e.Value)
}

// WriterFailure returns the error of a command if a SafeWriter ended its context, else nil.
func WriterFailure(ctx context.Context) error {
	if e, ok := errors.AsType[*WriterPanic](context.Cause(ctx)); ok {
		return &Error{Op: "exec", Kind: Internal, Msg: e.Error(), Err: e}
	}
	return nil
}

// A safeWriter is the result of SafeWriter.
type safeWriter struct {
	w      io.Writer // io.Discard from the first failure on
	failed func(error)
}

// SafeWriter returns a writer for a command's output that hands it on to w, which is the caller's
// of Exec. It never fails, because output that is not read blocks the command: nothing is handed on
// if w is nil, and nothing more after an error of w. If w panics, or ends its goroutine, failed is
// called with a *WriterPanic, and should stop the command.
//
// It is for one goroutine at a time.
func SafeWriter(w io.Writer, failed func(error)) io.Writer {
	if w == nil {
		return io.Discard
	}
	return &safeWriter{w: w, failed: failed}
}

// Write hands p on to the caller's writer.
func (s *safeWriter) Write(p []byte) (int, error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		s.w = io.Discard
		s.failed(&WriterPanic{Value: recover()})
	}()
	_, err := s.w.Write(p)
	returned = true
	if err != nil {
		s.w = io.Discard
	}
	return len(p), nil
}
