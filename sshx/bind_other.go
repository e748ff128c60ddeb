//go:build !linux

package sshx

import "syscall"

// bindTo is only for Linux; the plan refuses BindInterface elsewhere.
func bindTo(string) func(network, address string, c syscall.RawConn) error { return nil }

const canBindInterface = false
