// Package cli tests the commands as people call them.
//
// They check terminals after a command has left them, commands beside an agent with a session, tmux, and scripts
// (testdata/script, see TestScripts). Package lab starts the servers and clients.
package cli
