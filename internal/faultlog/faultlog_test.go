package faultlog_test

import (
	"bytes"
	"log/slog"
	"testing"

	"ptyctl/internal/faultlog"
)

func TestOr(t *testing.T) {
	given := slog.New(slog.DiscardHandler)
	if faultlog.Or(given) != given {
		t.Error("Or replaces a logger")
	}
	before := slog.Default()
	defer slog.SetDefault(before)
	log := faultlog.Or(nil).With("session", "s1").WithGroup("where")
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ // set after Or
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	log.Warn("quiet")
	log.Error("panic", "value", "boom")
	if want := "level=ERROR msg=panic session=s1 where.value=boom\n"; out.String() != want {
		t.Errorf("logged %q, want %q", out.String(), want)
	}
}
