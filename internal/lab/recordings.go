package lab

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"ptyctl/record"
)

// checkRecordings checks the recordings in a folder that were made by some processes. If the processes have ended as they
// should, the recordings are complete, however their sessions ended. It returns all of their text.
func checkRecordings(tb testing.TB, folder string, madeBy func(pid int) bool, complete bool) string {
	tb.Helper()
	if folder == "" {
		return ""
	}
	var text strings.Builder
	err := record.List(folder, func(s record.Stored) bool {
		if !madeBy(s.Header.About.PID) || strings.HasSuffix(s.Path, ".age") { // only the test knows the key
			return true
		}
		if complete {
			if rep, err := record.Verify(s.Path, nil); err != nil || !rep.Ended {
				tb.Errorf("the recording %s is not complete: %+v, %v", s.Path, rep, err)
			}
		}
		if err := record.Plain(&text, s.Path); err != nil {
			tb.Error(err)
		}
		return true
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Error(err)
	}
	return text.String()
}

// Long reports whether the tests run that take hours (task test:long).
func Long() bool { return os.Getenv("PTYCTL_LONG") != "" }

// Sample returns every n-th of rows, from the one with the index first%n on, or all of them if the tests may take hours.
// Calls with consecutive first share all rows out among themselves.
func Sample[T any](rows []T, n, first int) []T {
	if Long() {
		return rows
	}
	var some []T
	for i := first % n; i < len(rows); i += n {
		some = append(some, rows[i])
	}
	return some
}
