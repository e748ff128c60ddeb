// Package cli tests the commands as people call them.
//
// They run at terminals that show what a command left in them, beside an agent that has a session, in tmux, and as
// scripts (testdata/script, see TestScripts). Package lab starts the servers and clients.
package cli
