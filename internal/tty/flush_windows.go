package tty

import (
	"os"

	"golang.org/x/sys/windows"
)

// Flush drops the unread input of a terminal: keys that were meant for an earlier question.
func Flush(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
