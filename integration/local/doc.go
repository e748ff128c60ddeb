// Package local tests local terminals and programs.
//
// It checks how ptyctl_run and local sessions start, bound, confine and end a program, and how much a program can learn
// about ptyctl. Package lab starts the servers and clients.
package local
