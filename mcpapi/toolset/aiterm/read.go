package aiterm

import (
	"context"
	"fmt"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

type readOut struct {
	Chunks    []chunkOut `json:"chunks"`
	Closed    bool       `json:"closed"`    // the program has ended, and this is the end of its output
	Truncated bool       `json:"truncated"` // output before the first chunk is lost: its numbers are missing
	meta
}

type chunkOut struct {
	Seq    uint64 `json:"seq"`
	Stream string `json:"stream"`
	Data   []byte `json:"data"`
	TS     string `json:"ts"`
}

// What a call gets that does not say.
const (
	readBytes = 64 << 10
	readWait  = 1000 // milliseconds
)

func (s *Set) ptyRead(ctx context.Context, c *call) (result, error) {
	in := struct {
		ID        string
		SinceSeq  uint64 `json:"since_seq"`
		MaxBytes  int64  `json:"max_bytes"`
		TimeoutMS int64  `json:"timeout_ms"`
		StripANSI bool   `json:"strip_ansi"`
	}{MaxBytes: min(readBytes, int64(c.Options().MaxReadBytes)), TimeoutMS: min(readWait, c.Options().MaxWait.Milliseconds())}
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	t, n, err := s.terminal(ctx, c, term.VerbRead, in.ID)
	if err != nil {
		return nil, err
	}
	cursor, last, ok := n.after(in.SinceSeq)
	if !ok {
		return nil, c.Invalid("since_seq", fmt.Sprintf("since_seq is %d, and the last chunk that was returned is %d; pass the seq of the last chunk that you have, or 0 for all that is kept", in.SinceSeq, last))
	}
	c.Waits("output of "+in.ID, t)
	k := t.Read(ctx, session.ReadRequest{
		Cursor: cursor, MaxBytes: int(c.lower("max_bytes", in.MaxBytes, int64(c.Options().MaxReadBytes), "limits.max_read_bytes")), Timeout: c.wait("timeout_ms", in.TimeoutMS),
	})
	switch k.Reason {
	case session.ReasonLimit:
		return nil, t.TooManyReads()
	case session.ReasonCanceled:
		return nil, &term.Error{Session: in.ID, Kind: term.Canceled, Msg: "the call was canceled; nothing is lost: read again with the same since_seq"}
	}
	given, lost, needs := n.give(in.SinceSeq, k)
	if needs > 0 {
		return nil, c.Invalid("max_bytes", fmt.Sprintf("max_bytes is %d, and the next chunk, which was returned before and stays as it was then, needs %d; pass at least that", in.MaxBytes, needs))
	}
	out := &readOut{Chunks: make([]chunkOut, 0, len(given)), Truncated: lost, Closed: k.EOF && (len(given) == 0 || given[len(given)-1].to == k.Next)}
	for _, g := range given {
		part := session.Chunk{Data: k.Data[g.from-k.Start : g.to-k.Start], Start: g.from, Next: g.to}
		if in.StripANSI {
			part.Data, _ = t.Clean(part)
		}
		out.Chunks = append(out.Chunks, chunkOut{Seq: g.seq, Stream: "stdout", Data: append([]byte{}, part.Data...), TS: time.Unix(0, g.at).UTC().Format(stamp)})
	}
	return out, nil
}
