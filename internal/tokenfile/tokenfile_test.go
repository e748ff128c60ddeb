package tokenfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ptyctl/config"
)

// Tokens come and go; comments and the others stay as they are, and no value is in the file.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	expires := time.Date(2099, 1, 2, 3, 4, 5, 0, time.UTC)
	value, err := Add(path, "ci", "read", expires)
	if err != nil || len(value) != 43 {
		t.Fatalf("Add = %q, %v", value, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), value) {
		t.Fatalf("the file has %q, %v", text, err)
	}
	if i, err := os.Stat(path); err != nil || i.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", i.Mode(), err)
	}
	entry := strings.TrimSpace(string(text))
	const others = "# of people\n  ann:watch:0123456789abcdef  bob:operate:0123456789abcdee\nold:write:0123456789abcded"
	if err := os.WriteFile(path, []byte(others), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(path, "old", "read", time.Time{}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second token of a name: %v", err)
	}
	if _, err := Add(path, "x", "admin", time.Time{}); err == nil || !strings.Contains(err.Error(), "another role") {
		t.Errorf("a role that there is not: %v", err)
	}
	if _, err := Add(path, "new", "write", time.Time{}); err != nil {
		t.Fatal(err)
	}
	list, err := List(path)
	if err != nil || len(list) != 4 || list[3].Name != "new" || list[3].Digest == nil || !list[3].Expires.IsZero() {
		t.Errorf("List = %+v, %v", list, err)
	}
	for _, name := range []string{"new", "bob", "old"} {
		if err := Revoke(path, name); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(path); string(text) != "# of people\nann:watch:0123456789abcdef\n" {
		t.Errorf("the file has %q", text)
	}
	if err := Revoke(path, "new"); err == nil || !strings.Contains(err.Error(), "no token new") {
		t.Errorf("a token that is not there: %v", err)
	}
	got, err := config.ParseTokens(entry)
	if err != nil || len(got) != 1 || !got[0].Expires.Equal(expires) {
		t.Errorf("%q is read as %+v, %v", entry, got, err)
	}
	if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(path, "x", "read", time.Time{}); err == nil || !strings.Contains(err.Error(), "has no name and role") {
		t.Errorf("a broken file: %v", err)
	}
}

// All of several that add a token at a time have it in the file, also where there was no folder. No lock is left.
func TestAddTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "tokens")
	const n = 12
	var all sync.WaitGroup
	failures := make([]error, n)
	for i := range n {
		all.Go(func() { _, failures[i] = Add(path, fmt.Sprintf("n%d", i), "read", time.Time{}) })
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	if tokens, err := List(path); err != nil || len(tokens) != n {
		t.Errorf("the file has %d tokens, %v, want %d", len(tokens), err, n)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 && runtime.GOOS != "windows" {
		t.Errorf("the folder has %v", names)
	}
}
