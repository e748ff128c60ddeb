// Package rivals compares package screen with other emulators for Go. It is a module of its own, so that those who
// import ptyctl never see them.
package rivals
