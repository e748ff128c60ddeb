//go:build unix

package filecopy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ptyctl/term"
)

// A target that has the bytes of the source is left alone, if it may be looked at.
func TestUnchanged(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	last := bytes.Clone(content)
	last[len(last)-1]++
	for name, tt := range map[string]struct {
		there     []byte // nil: no file
		may       bool
		unchanged bool
	}{
		"the same":             {content, true, true},
		"the same, unread":     {content, false, false},
		"another last byte":    {last, true, false},
		"shorter":              {content[1:], true, false},
		"no file":              {nil, true, false},
		"longer by some bytes": {append(bytes.Clone(content), "more"...), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			from, to := filepath.Join(b.from, "a"), filepath.Join(b.to, "a")
			old := time.Unix(1_000_000_000, 0)
			if err := os.WriteFile(from, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.there != nil {
				if err := errors.Join(os.WriteFile(to, tt.there, 0o640), os.Chtimes(to, old, old)); err != nil {
					t.Fatal(err)
				}
			}
			open := func(context.Context) (term.CopyFiles, error) { return b.here, nil }
			c := Copy{
				From: End{Path: from, Open: open}, To: End{Path: to, Open: open},
				Compare: func(context.Context, string) bool { return tt.may },
			}
			r, err := c.Run(t.Context())
			if err != nil || r.Unchanged != tt.unchanged || r.Size != int64(len(content)) || r.SHA256 == "" || !r.Verified {
				t.Errorf("Run = %+v, %v; want unchanged %t, and the checksum", r, err, tt.unchanged)
			}
			if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, content) {
				t.Errorf("the target has %d bytes, %v; want those of the source", len(got), err)
			}
			if info, err := os.Stat(to); err != nil || info.ModTime().Equal(old) != tt.unchanged {
				t.Errorf("the target has the time %v, %v; want it untouched: %t", info.ModTime(), err, tt.unchanged)
			}
			c.New = true
			if _, err := c.Run(t.Context()); tt.may != (err == nil) {
				t.Errorf("a new file where one with the same bytes is: %v; want an error only where it may not be read", err)
			}
			if err := os.WriteFile(to, []byte("other"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = c.Run(t.Context())
			if e, ok := errors.AsType[*term.Error](err); !ok || e.Reason != term.ReasonExists {
				t.Errorf("a new file where another is: %v; want that it exists", err)
			}
			if got, _ := os.ReadFile(to); string(got) != "other" {
				t.Errorf("the other file has %d bytes now, want it kept", len(got))
			}
		})
	}
}
