//go:build !long

package shells

// allPrompts makes the tests run every row of their tables; see long_test.go.
const allPrompts = false
