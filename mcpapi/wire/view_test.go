package wire_test

import (
	"testing"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
)

// TestBriefEnd: an entry of a list has its end_code unless the rest of it says how the session has ended.
func TestBriefEnd(t *testing.T) {
	code := 3
	for _, tt := range []struct {
		name  string
		entry wire.ListEntry
		want  string
	}{
		{"closed by a caller", wire.ListEntry{State: session.Closed, EndCode: session.EndClosed}, `"state":"closed"`},
		{"a program closed by a caller", wire.ListEntry{State: session.Closed, EndCode: session.EndClosed, ExitCode: &code}, `"state":"closed","end_code":"closed","exit_code":3`},
		{"a program that has exited", wire.ListEntry{State: session.Closed, EndCode: session.EndExited, ExitCode: &code}, `"state":"closed","exit_code":3`},
		{"killed", wire.ListEntry{State: session.Closed, EndCode: session.EndKilled, ExitSignal: "KILL"}, `"state":"closed","end_code":"killed","exit_signal":"KILL"`},
		{"by the far side", wire.ListEntry{State: session.Closed, EndCode: session.EndRemoteClosed}, `"state":"closed","end_code":"remote_closed"`},
		{"a login that asks", wire.ListEntry{State: session.Authenticating, Waiting: true}, `"state":"authenticating","waiting_for_input":true`},
		{"locked", wire.ListEntry{State: session.Open, LockHolder: "night"}, `"lock_holder":"night"`},
	} {
		tt.entry.SessionID, tt.entry.Host, tt.entry.Protocol = "web1-k3f9q2zd", "web1", "ssh"
		text, err := wire.Compact(tt.entry.Brief())
		if want := `{"session_id":"web1-k3f9q2zd",` + tt.want + `}`; err != nil || string(text) != want {
			t.Errorf("%s: Brief() is %s, %v; want %s", tt.name, text, err, want)
		}
	}
}
