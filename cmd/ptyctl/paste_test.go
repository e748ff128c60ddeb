package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file without a line that says something is refused before any session is looked for.
func TestPasteText(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	for text, want := range map[string]string{
		"":                              "nothing to type",
		" \n\r\n\t":                     "nothing to type",
		strings.Repeat("x", maxPaste+1): "give it in parts",
		"\n a\n":                        "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := pasteText(name)
		if want == "" && (err != nil || got != text) {
			t.Errorf("pasteText(%q) = %q, %v; want the text", text, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("pasteText of %d bytes = %v, want an error with %q", len(text), err, want)
		}
	}
}
