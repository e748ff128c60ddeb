// Package faultlog has the logger for callers without one.
//
//	o.Logger = faultlog.Or(o.Logger)
//
// It is silent but for errors. Otherwise a contained panic would leave no trace: callers learn only that there was a
// fault, since the text of a panic may hold anything.
package faultlog

import (
	"context"
	"log/slog"
)

// Or returns log. If log is nil, it returns a logger that passes errors to slog.Default and drops all else.
func Or(log *slog.Logger) *slog.Logger {
	if log != nil {
		return log
	}
	return slog.New(errorsOnly{})
}

// errorsOnly asks for the default logger at each record, because a program may set it later.
type errorsOnly struct {
	with func(slog.Handler) slog.Handler
}

func (e errorsOnly) handler() slog.Handler {
	h := slog.Default().Handler()
	if e.with != nil {
		h = e.with(h)
	}
	return h
}

func (e errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && e.handler().Enabled(ctx, l)
}

func (e errorsOnly) Handle(ctx context.Context, r slog.Record) error {
	return e.handler().Handle(ctx, r)
}

func (e errorsOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return e.then(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

func (e errorsOnly) WithGroup(name string) slog.Handler {
	return e.then(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (e errorsOnly) then(more func(slog.Handler) slog.Handler) slog.Handler {
	if before := e.with; before != nil {
		return errorsOnly{func(h slog.Handler) slog.Handler { return more(before(h)) }}
	}
	return errorsOnly{more}
}
