package jsonrpc

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 2100), strings.Repeat("x", 2101), strings.Repeat("ä", 4000)} {
		got := Excerpt(s)
		if long := len(s) > 2100; long && !strings.Contains(got, "bytes …]") || !long && got != s {
			t.Errorf("Excerpt(%d bytes) = %d bytes %q, want the text, or its beginning and end", len(s), len(got), got)
		}
		if len(got) > 2100 || strings.Contains(got, "�") {
			t.Errorf("Excerpt(%d bytes) = %d bytes %q, want 2100 at most, and whole characters", len(s), len(got), got)
		}
		if again := Excerpt([]byte(got)); again != got {
			t.Errorf("the excerpt of an excerpt of %d bytes = %q, want the same, %q", len(s), again, got)
		}
	}
}
