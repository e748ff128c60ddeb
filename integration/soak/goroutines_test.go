package soak

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// These are the first line of a goroutine in a stack dump, and the line that names its creator. Goroutine 0 is the stack
// of a thread and no goroutine.
var (
	goroutineHead    = regexp.MustCompile(`(?m)^goroutine [1-9]\d* .*\[`)
	goroutineCreator = regexp.MustCompile(`(?m)^(created by \S+)`)
)

// goroutinesOf ends a program by SIGQUIT, and returns the number of its goroutines by their creators. No other way
// works without support in the program. The runtime's own goroutines are left out.
func goroutinesOf(tb testing.TB, c *lab.Client) map[string]int {
	tb.Helper()
	c.Killed = true
	if err := c.Cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-c.Ended:
	case <-time.After(lab.Patience):
		tb.Fatal("ptyctl does not end by SIGQUIT")
	}
	dump := c.Log.String()
	heads := goroutineHead.FindAllStringIndex(dump, -1)
	if len(heads) == 0 {
		tb.Fatalf("SIGQUIT left no goroutines:\n%s", lab.Tail(dump, 4<<10))
	}
	found := make(map[string]int)
	for i, head := range heads {
		end := len(dump)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		creator := "are main's"
		if m := goroutineCreator.FindStringSubmatch(dump[head[0]:end]); m != nil {
			creator = "were " + m[1]
		}
		if strings.HasPrefix(creator, "were created by runtime.") {
			continue
		}
		found[creator]++
	}
	return found
}
