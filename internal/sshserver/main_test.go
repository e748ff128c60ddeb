package sshserver

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// Under nohup(1) this process ignores SIGHUP, and its children would too: a program would outlive its terminal.
func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}
