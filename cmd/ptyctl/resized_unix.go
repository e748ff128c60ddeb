//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// resized tells whenever our terminal has another size, until stop is called.
func resized() (changed <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
