// Package daemon tests the daemon that keeps sessions, and its shims, as processes: their start, their survival, and
// the view of each client.
package daemon
