package known

import (
	"context"
	"fmt"
	"log/slog"
)

// LogHandler returns a handler that hides all values of the registry, of all hosts, in the records that it passes to
// next.
func (r *Registry) LogHandler(next slog.Handler) slog.Handler { return &logHandler{&r.all, next} }

type logHandler struct {
	v    *View
	next slog.Handler
}

func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.v, h.next.WithAttrs(h.hide(attrs))}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.v, h.next.WithGroup(name)}
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.v.Any() {
		return h.next.Handle(ctx, r)
	}
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	hidden := slog.NewRecord(r.Time, r.Level, h.v.String(r.Message), r.PC)
	hidden.AddAttrs(h.hide(attrs)...)
	return h.next.Handle(ctx, hidden)
}

// hide returns the attributes with masks. Those that show no value stay as they are.
func (h *logHandler) hide(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		a.Value = a.Value.Resolve()
		switch a.Value.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(h.v.String(a.Value.String()))
		case slog.KindGroup:
			a.Value = slog.GroupValue(h.hide(a.Value.Group())...)
		case slog.KindAny:
			if text := fmt.Sprint(a.Value.Any()); h.v.String(text) != text {
				a.Value = slog.StringValue(h.v.String(text))
			}
		}
		out[i] = a
	}
	return out
}
