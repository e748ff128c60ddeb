package ptyctl_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"ptyctl/screen"
	"ptyctl/screen/picture"
	"ptyctl/session"
)

// The lines of Go that pages show without a function around them. They compile here; the functions that they call are
// tested elsewhere.

var _ = func(output, more []byte) {
	s := screen.New(80, 24)
	s.Write(output)       // cut anywhere
	first := s.Snapshot() // rows, cells with styles, cursor, title, modes
	s.Write(more)
	d := s.Diff(first.Version) // the rows that changed, and the block that moved
	fmt.Print(d.Render(screen.Options{}))
}

var _ = func(file io.Writer, s *screen.Screen) error {
	err := picture.Encode(file, s.Snapshot(), picture.Options{Theme: "light", Height: 16})
	return err
}

var _ = func(ctx context.Context, s *session.Session) {
	now := s.Screen(ctx, 0)
	s.Write(ctx, nil, session.WriteOptions{Key: "arrow_down"})
	s.Read(ctx, session.ReadRequest{Screen: session.ScreenWait{Stable: 300 * time.Millisecond}, Timeout: 5 * time.Second})
	changed := s.Screen(ctx, now.Version)
	fmt.Print(changed.Render(screen.Options{}))
}

// TestDocsGo compares the lines of Go in the documentation with those above; TestDocs keeps whole functions.
func TestDocsGo(t *testing.T) {
	compiled := withoutBlanks(readText(t, "docs_go_test.go"))
	for _, name := range markdown(t) {
		for _, text := range blocks(t, name, "go") {
			if !strings.Contains(text, "\nfunc ") && !strings.Contains(compiled, withoutBlanks(text)) {
				t.Errorf("%s shows Go that docs_go_test.go does not compile:\n%s", name, text)
			}
		}
	}
}

// withoutBlanks returns a text without blanks and tabs, with which gofmt aligns lines.
func withoutBlanks(text string) string { return strings.NewReplacer(" ", "", "\t", "").Replace(text) }
