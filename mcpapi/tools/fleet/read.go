package fleet

import (
	"context"
	"encoding/base64"
	"time"
	"unicode/utf8"

	"ptyctl/fleet"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
	"ptyctl/vt"
)

// A Read reads the output of one host of a run, as a tool for sessions shows it.
type Read struct {
	FleetID, Host string
	Stream        string // "stderr", or stdout
	Cursor        int64
	MaxBytes      int
	Wait          time.Duration // for the end of the command
	Raw           bool          // as it came; otherwise without colours
	Base64        bool
}

// A Chunk is a part of the output.
type Chunk struct {
	Text     string
	Encoding string // "utf-8" or "base64"
	Next     int64  // where the next read begins
	Total    int64
	Dropped  int64 // bytes before the chunk that are not kept
	EOF      bool
	Over     bool     // the command has ended
	Failure  *Failure // of a host without an exit code
	Removed  vt.Sanitized
}

// A Failure says why a host has no exit code.
type Failure struct {
	ErrorCode string `json:"error_code"`
	Reason    string `json:"reason,omitempty"`
}

// Do reads. It waits for the end of the command, at most as long as r and the call allow.
func (r Read) Do(ctx context.Context, c *toolset.Call) (out Chunk, err error) {
	run, err := toolset.Runs(c).Get(ctx, r.FleetID)
	if err != nil {
		return out, err
	}
	stream, stderr := run.Streams(r.Host)
	if r.Stream == "stderr" {
		stream = stderr
	}
	if r.Host == "" {
		return out, c.Invalid("host", "host is missing: name the host of the run whose output is read")
	}
	if stream == nil {
		return out, c.Invalid("host", "host is none of the run: give it as the run shows it, with its user and port if it has them")
	}
	c.Waits("the command on "+term.ForeignLine(r.Host, 100), nil)
	timer := time.NewTimer(max(min(r.Wait, c.Left()), 0))
	defer timer.Stop()
	over := false
	select {
	case <-run.Ended(r.Host):
		over = true
	default:
		select {
		case <-run.Ended(r.Host):
			over = true
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if out = r.chunk(stream, over); over {
		if res := run.Result(r.Host); res.Code != "" {
			out.Failure = &Failure{res.Code, res.Reason}
		}
	}
	return out, nil
}

// An Awaited is a run, or one host of it, that a wait for several things is for.
type Awaited struct {
	run  *fleet.Run
	host string // empty: the whole run
}

// Await returns the Awaited run or host, and a channel that is closed at its end. field is the argument of the host.
func Await(ctx context.Context, c *toolset.Call, id, host, field string) (a Awaited, over <-chan struct{}, err error) {
	run, err := toolset.Runs(c).Get(ctx, id)
	if err != nil {
		return a, nil, err
	}
	if over = run.Done(); host != "" {
		if over = run.Ended(host); over == nil {
			return a, nil, c.Invalid(field, field+" is none of the run: give it as the run shows it")
		}
	}
	return Awaited{run, host}, over, nil
}

// An Ending is the outcome of a host or a run, for the result of a wait.
type Ending struct {
	FleetID, Host string
	Stdout        Chunk  // its end
	ExitCode      *int   // nil: not known, or of a whole run
	Reason        string // why a host has none
}

// Ending describes the end.
func (a Awaited) Ending(most int, raw bool) Ending {
	e := Ending{FleetID: a.run.ID(), Host: a.host}
	if a.host == "" {
		return e
	}
	switch res := a.run.Result(a.host); res.State {
	case fleet.Exited:
		e.ExitCode = &res.Exit.Code
	default:
		e.Reason = res.Code
	}
	stdout, _ := a.run.Streams(a.host)
	e.Stdout = Read{Cursor: max(stdout.Total()-int64(most), 0), MaxBytes: most, Raw: raw}.chunk(stdout, true)
	return e
}

// chunk gives a part of a stream its form.
func (r Read) chunk(s *fleet.Stream, over bool) Chunk {
	part := s.From(r.Cursor, r.MaxBytes)
	text := part.Data
	if n := partial(text); !part.EOF && n > 0 && n < len(text) && utf8.Valid(text[:len(text)-n]) { // the rest of a rune follows
		text = text[:len(text)-n]
	}
	out := Chunk{
		Encoding: "utf-8", Next: part.Start + int64(len(text)), Total: part.Total, Dropped: part.Dropped, EOF: part.EOF, Over: over,
	}
	switch {
	case r.Base64 || !utf8.Valid(text):
		out.Text, out.Encoding = base64.StdEncoding.EncodeToString(text), "base64"
	case r.Raw:
		out.Text = string(text)
	default:
		var clean []byte
		clean, out.Removed = vt.WithoutSGR(nil, text, !part.EOF)
		out.Text = string(clean)
	}
	return out
}

// partial returns the length of an incomplete rune at the end of text.
func partial(text []byte) int {
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if at := text[len(text)-n:]; utf8.RuneStart(at[0]) {
			if utf8.FullRune(at) {
				return 0
			}
			return n
		}
	}
	return 0
}
