//go:build unix

package tty

import (
	"os"
	"os/signal"
	"syscall"
)

// Resized sends whenever the terminal of this process has another size, until stop is called.
func Resized() (changed <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
