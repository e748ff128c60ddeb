//go:build long

package shells

// allPrompts makes the tests run every row of their tables.
const allPrompts = true
