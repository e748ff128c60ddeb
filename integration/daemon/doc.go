// Package daemon tests the daemon that keeps sessions, and its shims, as processes: how they start, what they survive,
// and what each client sees.
package daemon
