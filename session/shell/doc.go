// Package shell knows the kinds of program that read a line typed into a terminal.
//
// A [Class] says which syntax reads the line; a [Shell] adds the program's name if it is known. Both are found without
// asking a network device, for which a question could be a command: from the program of a local terminal, or from the
// answer to "echo $SHELL" on another channel.
//
// The package does no I/O.
package shell
