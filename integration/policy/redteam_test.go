package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// The tests in redteam_*_test.go act as a hostile caller: a model that has read hostile text, and knows this program.
// Each test has rules that forbid a canary, and tries to run it through every door. It checks whether the canary ran,
// on the machine in question, and the audit log's account of it.

// A canary is a program that no rule allows. It leaves a mark.
type canary struct{ path, mark string }

// newCanary makes one on this machine, in a folder of its own.
func newCanary(tb testing.TB) canary {
	tb.Helper()
	dir := tb.TempDir()
	c := canary{filepath.Join(dir, "canary"), filepath.Join(dir, "mark")}
	script := []byte("#!/bin/sh\necho \"$0 $*\" >>" + c.mark + "\n")
	if err := os.WriteFile(c.path, script, 0o755); err != nil { //nolint:gosec // it is a program
		tb.Fatal(err)
	}
	return c
}

// ran reports whether the canary ran since it was asked last.
func (c canary) ran(tb testing.TB) bool {
	tb.Helper()
	return os.Remove(c.mark) == nil // in one step: it may run at any time
}

// lateMoment is the time that a shell gets to run a forbidden command late.
const lateMoment = 300 * time.Millisecond

// stays fails the test if the canary runs, now or a moment later.
func (c canary) stays(tb testing.TB, format string, args ...any) {
	tb.Helper()
	time.Sleep(lateMoment)
	if c.ran(tb) {
		tb.Errorf("the canary ran: "+format, args...)
	}
}

// attempt calls a tool and ignores the outcome.
func attempt(tb testing.TB, c lab.Tools, tool, arguments string, values ...any) string {
	tb.Helper()
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		values[i] = string(text)
	}
	return attemptRaw(tb, c, tool, fmt.Sprintf(arguments, values...))
}

func attemptRaw(tb testing.TB, c lab.Tools, tool, arguments string) string {
	tb.Helper()
	a, err := c.CallTool(tb.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		if strings.Contains(err.Error(), "not found") { // of a tool that is not there nothing is learnt
			tb.Errorf("%s %s: %v", tool, arguments, err)
		}
		return err.Error()
	}
	texts := make([]string, len(a.Content))
	for i, part := range a.Content {
		texts[i] = part.Text
	}
	return strings.Join(texts, "\n")
}

// readers is the list of a cautious operator: programs that run no other and write no file.
const readers = `allow = ["echo *", "printf *", "test *", "[ *", "cat *", "ls *"]`

// wantRefusals fails the test unless the audit log has at least so many refusals of an event by the rules.
func wantRefusals(tb testing.TB, h *lab.Home, event string, least int) {
	tb.Helper()
	refused := 0
	for _, n := range lab.AuditLines(tb, h.Audit, event) {
		if n.Refused && n.Outcome == "POLICY_DENIED" {
			refused++
		}
	}
	if refused < least {
		tb.Errorf("the audit log has %d refusals of %s, want %d or more", refused, event, least)
	}
}

// redTeamLines are the bypasses that a table has, about another canary, in order.
func redTeamLines(bypasses map[string][]string, canary string) (lines []string) {
	for _, list := range bypasses {
		for _, line := range list {
			lines = append(lines, aboutCanary(line, canary))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// aboutCanary makes a line about recorders one about real programs. Where a name follows a shell's own sign for one, a
// path would be something else.
func aboutCanary(line, canary string) string {
	for _, name := range []string{"!canary", "~canary", "=canary", "~[canary]", "can?"} {
		if strings.Contains(line, name) {
			return line
		}
	}
	return strings.NewReplacer("canary", canary, "show", "ls", "fail", "[", "<in", "</etc/hostname").Replace(line)
}
