// Package arm64 tries the program for linux/arm64 on another machine. qemu runs it, and also the programs that it
// starts: the test registers their file format in a user and mount namespace of its own (Linux 6.7), and nothing for
// the machine.
//
//	task test:platforms:arm64
package arm64
