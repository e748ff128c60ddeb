package leaktest

import (
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package, and searches their outputs for their secrets. It
// returns the status for os.Exit.
func Main(m *testing.M) int {
	folder := os.Getenv(Folder)
	if folder == "" {
		var err error
		if folder, err = os.MkdirTemp("", "leaktest-"); err != nil {
			fmt.Fprintln(os.Stderr, "leaktest:", err)
			return 1
		}
		defer os.RemoveAll(folder)
	}
	if err := keep.open(folder); err != nil {
		fmt.Fprintln(os.Stderr, "leaktest:", err)
		return 1
	}
	// A leak fails the run even if all tests pass.
	status := m.Run()
	if err := keep.close(); err != nil {
		fmt.Fprintln(os.Stderr, "leaktest:", err)
		return 1
	}
	report, err := search([]string{keep.file.Name()}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, "leaktest:", err)
		return 1
	}
	for _, l := range report.Leaks {
		fmt.Fprintln(os.Stderr, "leaktest:", l)
		status = 1
	}
	return status
}
