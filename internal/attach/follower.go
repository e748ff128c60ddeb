package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"time"

	"ptyctl/control"
	"ptyctl/internal/client"
)

// How the output is followed.
const (
	busyWait = time.Second    // before a read that the server had no room for is tried again
	LongPoll = int64(25_000)  // milliseconds that a read waits at the server for new output
	ReadSize = 64 << 10       // of one read while following, in bytes
	fillSize = 512 << 10      // of one read of the output that is held already, in bytes
	history  = int64(1 << 20) // how many bytes of that output are shown at most

	everything = int64(math.MaxInt64) // in place of history: all output that is held
)

// A follower reads the output of one session. It holds up no other reader: the server keeps nothing for it except a
// read that waits.
type follower struct {
	*Attachment
	cursor string
}

// A piece is a part of the output.
type piece struct {
	data    []byte
	dropped int64 // bytes before it that the server no longer had
	ended   bool  // no further output comes

	start int64 // of data, as a cursor, if it comes from fill
}

// cut cuts data at a cursor. If the server no longer has the beginning of the output, before starts at a line or an
// escape sequence, not within one.
func (p *piece) cut(at int64) (before, since []byte) {
	i := min(max(at-p.start, 0), int64(len(p.data)))
	before, since = p.data[:i], p.data[i:]
	if p.start > 0 {
		before = before[max(bytes.IndexAny(before, "\x1b\n"), 0):]
	}
	return before, since
}

// next waits for new output.
func (f *follower) next(ctx context.Context) (piece, error) { return f.read(ctx, LongPoll, ReadSize) }

func (f *follower) read(ctx context.Context, wait int64, most int) (piece, error) {
	var out client.IOResult
	err := f.Client.Call(
		ctx,
		client.ToolIO,
		client.IOCall{
			Action:    "read",
			SessionID: f.ID,
			Cursor:    f.cursor,
			Encoding:  "base64",
			Timeout:   &wait,
			MaxBytes:  most,
		},
		&out,
	)
	if err != nil {
		switch {
		case client.IsCode(err, "NOT_FOUND"): // it has ended, and is forgotten by now
			return piece{ended: true}, nil
		case errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil:
			// Its ptyctl has removed its socket, as it does at an orderly end, in which its sessions end too.
			return piece{ended: true}, nil
		case client.IsCode(err, "LIMIT_EXCEEDED") && client.Pause(ctx, busyWait): // too many read at once
			return piece{}, nil
		}
		return piece{}, lost(ctx, err)
	}
	data, err := out.Data()
	f.cursor = out.Next
	return piece{data: data, dropped: out.Dropped, ended: out.EOF}, err
}

// lost explains a failed call to a person who watches a session.
func lost(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*control.ToolError)):
		return err
	}
	return fmt.Errorf("the ptyctl that has the session does not answer any more: %w", err)
}

// fill returns the output that the server holds, at most the last most bytes, and continues from there.
func (f *follower) fill(ctx context.Context, most int64) (piece, error) {
	var none int64
	var at client.IOResult
	first := client.IOCall{Action: "read", SessionID: f.ID, Timeout: &none, MaxBytes: 1024}
	if err := f.Client.Call(ctx, client.ToolIO, first, &at); err != nil {
		return piece{}, lost(ctx, err)
	}
	from := max(at.BufferStart, at.BufferEnd-most)
	f.cursor = strconv.FormatInt(from, 10)
	all := piece{start: from}
	for {
		p, err := f.read(ctx, none, fillSize)
		if err != nil {
			return all, err
		}
		if p.dropped > 0 {
			all = piece{start: all.start + int64(len(all.data)) + p.dropped}
		}
		all.data, all.ended = append(all.data, p.data...), p.ended
		if pos, err := strconv.ParseInt(f.cursor, 10, 64); err != nil || p.ended || len(p.data) == 0 ||
			pos >= at.BufferEnd {
			return all, err
		}
	}
}

// tailLines returns the last n lines of data.
func tailLines(data []byte, n int) []byte {
	if n <= 0 {
		return nil
	}
	end := len(data)
	if end > 0 && data[end-1] == '\n' {
		end--
	}
	for i := end - 1; i >= 0; i-- {
		if data[i] == '\n' {
			if n--; n == 0 {
				return data[i+1:]
			}
		}
	}
	return data
}
