package client

import (
	"context"
	"time"
)

// A PasteCall holds the arguments of ToolIO that type lines.
type PasteCall struct {
	Action    string    `json:"action"`
	SessionID string    `json:"session_id"`
	TaskID    string    `json:"task_id,omitempty"`
	Lines     string    `json:"lines"`
	Pace      PastePace `json:"pace"`
	Timeout   *int64    `json:"timeout_ms,omitempty"`
}

// A PastePace says how lines are typed.
type PastePace struct {
	Mode        string `json:"mode,omitempty"`
	LineDelay   int64  `json:"line_delay_ms,omitempty"`
	CharDelay   int64  `json:"char_delay_ms,omitempty"`
	StopOnError bool   `json:"stop_on_error"`
}

// A PasteWait holds the arguments of ToolExec that wait for lines.
type PasteWait struct {
	SessionID string `json:"session_id"`
	ExecID    string `json:"exec_id"`
	Wait      *int64 `json:"wait_ms,omitempty"`
	Cancel    bool   `json:"cancel,omitempty"`
}

// A Pasted says how far lines went; see ptyctl_session_io.
type Pasted struct {
	Lines     int    `json:"lines"`
	Taken     int    `json:"taken"`
	Typed     int    `json:"typed,omitempty"`
	Stopped   string `json:"stopped,omitempty"`
	StoppedAt int    `json:"stopped_at,omitempty"`
	Line      string `json:"line,omitempty"`
	Answer    string `json:"answer,omitempty"`
	HalfTyped bool   `json:"half_typed,omitempty"`
	Refused   int    `json:"refused,omitempty"`
	Error     *struct {
		ErrorCode string `json:"error_code"`
		Message   string `json:"message"`
	} `json:"error,omitempty"`
}

// A pasteResult is the result of both calls, as far as the command needs it.
type pasteResult struct {
	Pasted     Pasted
	DoneReason string `json:"done_reason"`
	ExecID     string `json:"exec_id"`
	Stdout     string // of ToolExec: the answers since
}

// Paste types lines one by one, and waits until all are answered or something has stopped them. progress is called
// every so often with its progress, and with the answers that have come since. When ctx ends, the lines are stopped.
func (s Session) Paste(
	ctx context.Context, call PasteCall, every time.Duration, progress func(Pasted, string),
) (Pasted, error) {
	ms := every.Milliseconds()
	none := int64(1)
	call.Action, call.SessionID, call.Timeout = "write", s.SessionID, &none
	var first struct {
		pasteResult
		Pasted struct {
			Pasted
			Answers []struct{ Sent, Answer string }
		}
	}
	if err := s.Process.Call(ctx, ToolIO, call, &first); err != nil {
		return Pasted{}, err
	}
	res, id, said := first.pasteResult, first.ExecID, ""
	res.Pasted = first.Pasted.Pasted
	for _, a := range first.Pasted.Answers {
		said += a.Sent + "\n" + a.Answer + "\n"
	}
	progress(res.Pasted, said)
	for res.DoneReason == "running" {
		wait := PasteWait{SessionID: s.SessionID, ExecID: id, Wait: &ms}
		next := pasteResult{}
		if err := s.Process.Call(ctx, ToolExec, wait, &next); err != nil {
			if ctx.Err() == nil {
				return res.Pasted, err
			}
			stop := PasteWait{SessionID: s.SessionID, ExecID: id, Cancel: true}
			err = s.Process.Call(context.WithoutCancel(ctx), ToolExec, stop, &next)
			return next.Pasted, err
		}
		res = next
		progress(res.Pasted, res.Stdout)
	}
	return res.Pasted, nil
}
