// Package sessiontest is what the tests of sessions and of their parts have in common: terminals in memory, and checks of
// what becomes of a session and of its secrets.
package sessiontest
