//go:build !linux

package app

// threadsLeft reports false: no limit is known.
func threadsLeft() (n int, limited bool) { return 0, false }
