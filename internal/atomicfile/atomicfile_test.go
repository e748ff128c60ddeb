package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file is replaced as a whole, with the mode; a check that fails leaves the old one, and nothing beside it.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "another"} {
		if err := Replace(path, []byte(text), 0o640, nil); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		i, statErr := os.Stat(path)
		if err := errors.Join(err, statErr); err != nil || string(got) != text || i.Mode() != 0o640 {
			t.Fatalf("the file has %q, %v, %v; want %q", got, i, err, text)
		}
	}
	refused := errors.New("refused")
	if err := Replace(path, []byte("no"), 0o600, func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("Replace = %v, want the check's error", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "another" {
		t.Errorf("after a check that failed the file has %q, %v", got, err)
	}
	if beside, err := os.ReadDir(filepath.Dir(path)); err != nil || len(beside) != 1 {
		t.Errorf("beside the file: %v, %v", beside, err)
	}
}
