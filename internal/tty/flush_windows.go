package tty

import (
	"os"

	"golang.org/x/sys/windows"
)

// Flush drops what was typed at a terminal and not yet read: keys that were meant for an earlier question.
func Flush(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
