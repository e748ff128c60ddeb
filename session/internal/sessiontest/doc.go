// Package sessiontest holds the parts that the tests of sessions and their packages share: terminals in memory, and
// checks of a session's outcome and of its secrets.
package sessiontest
