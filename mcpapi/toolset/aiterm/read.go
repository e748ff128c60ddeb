package aiterm

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// readOut is the result of pty_read.
type readOut struct {
	Chunks    []chunkOut `json:"chunks" is:"listed"`
	Closed    bool       `json:"closed" is:"listed"`    // the program has ended, and this is the end of its output
	Truncated bool       `json:"truncated" is:"listed"` // output before the first chunk is lost; its numbers are missing
	meta
}

// A chunkOut is a chunk in the result of pty_read.
type chunkOut struct {
	Seq    uint64 `json:"seq"`
	Stream string `json:"stream"` // always "stdout": a terminal has one stream
	Data   []byte `json:"data"`   // base64 in JSON
	TS     string `json:"ts"`     // when its first byte came
}

// Defaults of pty_read, as in the service.
const (
	readBytes = 64 << 10
	readWait  = 1000 // milliseconds
)

// ptyRead returns the chunks after since_seq and waits for the first one. Every
// reader has its own position, so any number of readers may read the same terminal.
func (s *Set) ptyRead(ctx context.Context, c *call, in *readArgs) (*readOut, error) {
	o := c.Limits()
	bytes, wait := cmp.Or(in.MaxBytes, min(readBytes, int64(o.MaxReadBytes))), min(readWait, o.MaxWait.Milliseconds())
	if in.TimeoutMS != nil {
		wait = *in.TimeoutMS
	}
	t, n, err := s.terminal(ctx, c, term.VerbRead, in.ID)
	if err != nil {
		return nil, err
	}
	cursor, last, ok := n.after(in.SinceSeq)
	if !ok {
		return nil, c.Invalid("since_seq", fmt.Sprintf("since_seq is %d, but the last chunk returned is %d; "+
			"pass the seq of your last chunk, or 0 for all kept output", in.SinceSeq, last))
	}
	c.Waits("output of "+in.ID, t)
	r := session.ReadRequest{
		Cursor:   cursor,
		MaxBytes: int(c.lower("max_bytes", bytes, int64(o.MaxReadBytes), "limits.max_read_bytes")),
	}.Within(c.wait("timeout_ms", wait))
	k, given, lost, err := c.chunks(ctx, t, n, in.SinceSeq, r)
	if err != nil {
		return nil, err
	}
	out := &readOut{
		Chunks:    make([]chunkOut, 0, len(given)),
		Truncated: lost,
		Closed:    k.EOF && (len(given) == 0 || given[len(given)-1].to == k.Next),
	}
	for _, g := range given {
		part := k.Part(g.from, g.to)
		if in.StripANSI {
			part.Data, _ = part.Clean()
		}
		out.Chunks = append(
			out.Chunks,
			chunkOut{
				Seq:    g.seq,
				Stream: "stdout",
				Data:   append([]byte{}, part.Data...),
				TS:     time.Unix(0, g.at).UTC().Format(stamp),
			},
		)
	}
	return out, nil
}

// chunks reads once and returns the output with the chunks after seq in it. It reads
// again if another call has made a longer chunk final in the meantime.
func (c *call) chunks(
	ctx context.Context,
	t *session.Session,
	n *numbering,
	seq uint64,
	r session.ReadRequest,
) (k session.Chunk, given []part, lost bool, err error) {
	for {
		k = t.Read(ctx, r)
		switch k.Reason {
		case session.ReasonLimit:
			return k, nil, false, t.TooManyReads()
		case session.ReasonCanceled:
			return k, nil, false, &term.Error{
				Session: t.ID(),
				Kind:    term.Canceled,
				Msg:     term.CanceledMsg(ctx, "the call was canceled; nothing is lost: read again with the same since_seq"),
			}
		}
		var needs int64
		given, lost, needs = n.give(seq, k)
		switch {
		case needs == 0:
			return k, given, lost, nil
		case needs > int64(r.MaxBytes):
			return k, nil, false, c.Invalid("max_bytes", fmt.Sprintf("max_bytes is %d, but the next chunk is final "+
				"and needs %d; pass at least that", r.MaxBytes, needs))
		}
		// Another call has received the chunk after it grew: all of it is in the buffer now.
	}
}
