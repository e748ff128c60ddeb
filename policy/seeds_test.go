//go:build unix

package policy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/shelltest"
)

// seedLines returns lines for a generator to change: known bypasses, and the
// rows of the tables of verdicts.
func seedLines(tb testing.TB) []string {
	tb.Helper()
	table, err := os.ReadFile("verdict_test.go")
	if err != nil {
		tb.Fatal(err)
	}
	var list []string
	for _, lines := range shelltest.Bypasses {
		list = append(list, lines...)
	}
	for row := range strings.SplitSeq(string(table), "\n") {
		if strings.HasPrefix(row, "+ ") || strings.HasPrefix(row, "- ") {
			list = append(list, seedNames.Replace(row[2:]))
		}
	}
	slices.Sort(list)
	return list
}

// seedNames replaces the programs in rows of tables by the recorders.
var seedNames = strings.NewReplacer(
	`␤`,
	"\n",
	`␀`,
	"",
	`␍`,
	"\r",
	`␉`,
	"\t",
	"rm -rf /",
	"canary",
	"/bin/rm",
	"canary",
	"rm",
	"canary",
	"grep",
	"show",
	"wc",
	"list",
	"/etc/passwd",
	"out",
	"/tmp/x",
	"out",
	"/tmp/",
	"",
	"/tmp",
	"out",
	"/var/log/",
	"",
	"/opt/",
	"",
	"/home/",
	"",
	"sudo ",
	"",
	"kill",
	"show",
)
