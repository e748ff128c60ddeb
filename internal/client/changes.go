package client

import "context"

// A SnapshotCall holds the arguments of the action snapshot of ToolConfig.
type SnapshotCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	Name      string `json:"name"`
	ExecID    string `json:"exec_id,omitempty"`
}

// A DiffCall holds the arguments of the action diff of ToolConfig.
type DiffCall struct {
	Action    string `json:"action"`
	SessionID string `json:"session_id"`
	From      string `json:"from"`
	To        string `json:"to,omitempty"`
	ExecID    string `json:"exec_id,omitempty"`
}

// A Going is a command that goes on after the call that has begun it.
type Going struct {
	ExecID     string                       `json:"exec_id"`
	WaitingFor *struct{ Kind, Text string } `json:"waiting_for"`
}

// A Snapshot is the result of Session.Snapshot.
type Snapshot struct {
	Command      string
	Lines, Bytes int
	Warnings     []string
	Going
}

// A Difference is the result of Session.Diff.
type Difference struct {
	Equal                    bool
	TooDifferent             bool `json:"too_different"`
	Diff                     string
	Added, Removed, Volatile int
	More                     int `json:"more_lines"`
	Warnings                 []string
	Going
}

// Snapshot has the process keep the configuration of the session's device under a name. It waits for the device as
// long as that takes, and stops at a question.
func (s Session) Snapshot(ctx context.Context, name string) (res Snapshot, err error) {
	for call := (SnapshotCall{Action: "snapshot", SessionID: s.SessionID, Name: name}); ; {
		res = Snapshot{}
		err = s.Process.Call(ctx, ToolConfig, call, &res)
		if call.ExecID = res.ExecID; err != nil || call.ExecID == "" || res.WaitingFor != nil {
			return res, err
		}
	}
}

// Diff compares two snapshots, or one with the configuration now, if to is empty. It waits as Snapshot does.
func (s Session) Diff(ctx context.Context, from, to string) (res Difference, err error) {
	for call := (DiffCall{Action: "diff", SessionID: s.SessionID, From: from, To: to}); ; {
		res = Difference{}
		err = s.Process.Call(ctx, ToolConfig, call, &res)
		if call.ExecID = res.ExecID; err != nil || call.ExecID == "" || res.WaitingFor != nil {
			return res, err
		}
	}
}
