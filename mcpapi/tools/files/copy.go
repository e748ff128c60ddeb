package files

import (
	"context"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
)

// fsCopyOut is the result of action copy. DoneReason and ExecID belong to a copy that goes on, when little else is
// known.
type fsCopyOut struct {
	Action     string             `json:"action"`
	DoneReason session.DoneReason `json:"done_reason,omitempty" is:"listed"`
	SessionID  string             `json:"session_id,omitempty" is:"listed"` // of exec_id
	ExecID     string             `json:"exec_id,omitempty" is:"listed"`

	FromSession string `json:"from_session_id,omitempty"` // if the call named its host, as the next
	ToSession   string `json:"to_session_id,omitempty"`

	To         string    `json:"to,omitempty"` // the path of the copy, if the call has not given it
	Bytes      int64     `json:"bytes" compact:"keep"`
	TotalBytes int64     `json:"total_bytes,omitempty"` // while it goes on
	Files      int       `json:"files,omitempty"`       // of a tree, as all that follow up to skipped_count
	Folders    int       `json:"folders,omitempty"`     // made
	Unchanged  int       `json:"unchanged,omitempty"`   // brought by an earlier copy
	Failed     int       `json:"failed,omitempty"`      // of those skipped, because of an error
	Skipped    []skipOut `json:"skipped,omitempty"`     // the first of them
	SkippedAll int       `json:"skipped_count,omitempty"`
	ResumedAt  int64     `json:"resumed_at,omitempty"`
	Created    bool      `json:"created,omitempty"`
	Changed    bool      `json:"source_changed,omitempty"` // while it was copied
	Verified   *bool     `json:"verified,omitempty" is:"listed"`
	SHA256     string    `json:"sha256,omitempty" is:"listed"`
	Name       string    `json:"far_name,omitempty"` // with via: name of the file, from the far side
	Errors     int       `json:"errors,omitempty"`   // with via: blocks and answers that were sent again
	DurationMS int64     `json:"duration_ms"`
	Warnings   []string  `json:"warnings,omitempty"`
}

// skipOut is an entry of a tree that was not copied.
type skipOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// copyCompact is a separate type, so that it has no Compact method.
type copyCompact fsCopyOut

// reported is the shortest duration of a copy that a compact result includes, in milliseconds.
const reported = 1000

// Compact leaves out the marks of an ordinary copy: that it made a new file, was verified, and took no time.
func (out *fsCopyOut) Compact() any {
	c := copyCompact(*out)
	if c.Verified != nil && *c.Verified {
		c.Verified = nil
	}
	c.Action, c.Created = "", false
	if c.DurationMS < reported {
		c.DurationMS = 0
	}
	return c
}

// newCopyOut is the wire form of r. to is the path that the call has named.
func newCopyOut(ctx context.Context, r session.CopyResult, to string) *fsCopyOut {
	out := &fsCopyOut{Action: "copy"}
	out.fill(ctx, r, to)
	return out
}

// fill adds r to the result. to is the path that the call has named.
func (out *fsCopyOut) fill(ctx context.Context, r session.CopyResult, to string) {
	out.Bytes, out.DurationMS = r.Bytes, r.Duration.Milliseconds()
	if r.ID != "" {
		out.DoneReason, out.SessionID, out.ExecID = session.DoneRunning, r.Session, r.ID
		out.Bytes, out.TotalBytes = r.Moved, r.Total
		return
	}
	out.ResumedAt, out.Created, out.Changed, out.SHA256 = r.Resumed, r.Created, r.Changed, r.SHA256
	out.Verified = &r.Verified
	out.Warnings = append(out.Warnings, out.overTerminal(r.Modem)...)
	if r.To != to {
		out.To = r.To
	}
	if r.Tree {
		out.Files, out.Folders, out.Unchanged, out.Failed = r.Files, r.Folders, r.Same, r.Failed
		out.SkippedAll = r.Skips
		for _, s := range r.Skipped {
			why := s.Why
			if s.Err != nil {
				why = wire.NewFailure(ctx, s.Err).Message
			}
			out.Skipped = append(out.Skipped, skipOut{s.Path, why})
		}
	}
}

// showCopy returns the function that shows the end of a copy to the callers that wait for its exec_id: its result on
// one line, as the call itself would have had it.
func showCopy(ctx context.Context, to string) func(session.CopyResult, error) []byte {
	return func(r session.CopyResult, err error) []byte {
		var v any = newCopyOut(ctx, r, to)
		if err != nil {
			v = wire.NewFailure(ctx, err)
		}
		text, err := wire.Compact(v)
		if err != nil {
			return nil
		}
		return append(text, '\n')
	}
}
