package lab

import "os"

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
