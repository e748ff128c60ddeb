// Package arm64 tries the program for linux/arm64 on a machine that is none. qemu runs it, and also what it starts
// itself: the format of its file is registered in a user and mount namespace of the test's own (Linux 6.7), and nothing
// for the machine.
//
//	task test:platforms:arm64
package arm64
