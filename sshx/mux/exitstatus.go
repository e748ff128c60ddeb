package mux

import (
	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// signals are the numbers of the signals of RFC 4254 section 6.10, for the exit
// code 128 + n of shells.
var signals = map[string]int{
	"ABRT": 6, "ALRM": 14, "FPE": 8, "HUP": 1, "ILL": 4, "INT": 2, "KILL": 9,
	"PIPE": 13, "QUIT": 3, "SEGV": 11, "TERM": 15, "USR1": 10, "USR2": 12,
	"BUS": 7, "SYS": 31, "TRAP": 5, "XCPU": 24, "XFSZ": 25,
}

// maxSignal is the most bytes shown of the name of a signal.
const maxSignal = 64

// exitOf reads the end of a program from a channel request (RFC 4254 section
// 6.10). ok is false for any other request.
func exitOf(r *ssh.Request) (exit term.Exit, ok bool) {
	switch r.Type {
	case "exit-status":
		var m struct{ Status uint32 }
		if ssh.Unmarshal(r.Payload, &m) != nil {
			return term.Exit{}, false
		}
		return term.Exit{Known: true, Code: int(m.Status)}, true
	// The message and its language are for people and are not used.
	case "exit-signal":
		var m struct {
			Signal     string
			CoreDumped bool
			Message    string
			Language   string
		}
		if ssh.Unmarshal(r.Payload, &m) != nil {
			return term.Exit{}, false
		}
		return term.Exit{Known: true, Code: 128 + signals[m.Signal], Signal: term.ForeignLine(m.Signal, maxSignal)}, true
	}
	return term.Exit{}, false
}
