// Package shells tests commands and programs in terminals of real shells.
//
// It runs awkward commands in eight shells, and programs that ask, draw or wait. Package lab starts the servers and
// clients.
package shells
