package route

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestRefusals: however many calls a node forges, the log gets a line a second, of bounded length.
func TestRefusals(t *testing.T) {
	var text bytes.Buffer
	log, began := slog.New(slog.NewTextHandler(&text, nil)), time.Now()
	var r refusals
	for i := range 20_000 { // in 2 s
		r.log(log, began.Add(time.Duration(i)*100*time.Microsecond), strings.Repeat("n", 1<<16), errors.New(strings.Repeat("w", 1<<16)))
	}
	r.log(log, began.Add(time.Minute), "b", errors.New("late"))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 3 || text.Len() > 2000 {
		t.Fatalf("%d lines, %d bytes:\n%.2000s", len(lines), text.Len(), text.String())
	}
	for i, want := range []string{"why=www", "not_logged_before=9999", "not_logged_before=9999"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %s, want %q", i, lines[i], want)
		}
	}
}
