package lab

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/audit"
	"ptyctl/record"
)

// CheckAudit checks the chain of an audit log, its rotated files included, and returns all of its text. A program that
// was never started well has none.
func CheckAudit(tb testing.TB, path string) string {
	tb.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		tb.Fatal(err)
	}
	if len(names) == 0 {
		return ""
	}
	r, err := audit.Verify("", names...)
	if err != nil {
		tb.Errorf("the audit log is broken: %v", err)
	}
	for _, n := range r.Recordings {
		if _, err := os.Stat(filepath.Dir(n.Path)); err != nil {
			continue // in a namespace that is gone
		}
		if _, err := record.Check(record.Note{
			Path: n.Path, Seal: record.Seal{Number: n.Seal, Hash: n.SHA256, Bytes: n.Bytes, End: n.End},
			FileBytes: n.FileBytes, FileSHA256: n.FileSHA256,
		}); err != nil {
			tb.Errorf("a recording is not what the audit log says: %v", err)
		}
	}
	if r.Lost > 0 {
		tb.Errorf("the audit log has lost %d lines", r.Lost)
	}
	var all strings.Builder
	for _, name := range names {
		p, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			tb.Fatal(err)
		}
		all.Write(p)
	}
	return all.String()
}

// AuditLines returns the lines of an audit log that are of one event.
func AuditLines(tb testing.TB, path, event string) []audit.Entry {
	tb.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var found []audit.Entry
	for line := range strings.Lines(string(p)) {
		var n audit.Entry
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			tb.Fatalf("%v: %s", err, line)
		}
		if n.Event == event {
			found = append(found, n)
		}
	}
	return found
}
