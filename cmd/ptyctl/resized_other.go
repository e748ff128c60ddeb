//go:build !unix

package main

import "os"

// resized never tells: this system has no signal for it.
func resized() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
