package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"ptyctl/control"
)

const (
	busyWait = time.Second    // before a read that the server had no place for is tried again
	longPoll = int64(25_000)  // milliseconds that a read waits at the server for something new
	readSize = 64 << 10       // of one read while following
	fillSize = 512 << 10      // of one read of what is there already
	history  = int64(1 << 20) // how much of that is looked at, at most

	everything = int64(math.MaxInt64) // that the server has, instead of history
)

// A follower reads the output of one session. It disturbs nobody: the server keeps nothing for it but a read that
// waits, and when it does not read, not even that.
type follower struct {
	on     *control.Client
	id     string
	cursor string
}

// A piece is output, and what stands in the way before it.
type piece struct {
	data    []byte
	dropped int64 // bytes before it that the server no longer had
	ended   bool  // there will be no more
	prompt  *prompt

	start int64 // of data, as a cursor, if it comes from fill
}

// cut cuts data at a cursor. Nothing that the server no longer has all of begins it: a line, or a sequence.
func (p *piece) cut(at int64) (before, since []byte) {
	i := min(max(at-p.start, 0), int64(len(p.data)))
	before, since = p.data[:i], p.data[i:]
	if p.start > 0 {
		before = before[max(bytes.IndexAny(before, "\x1b\n"), 0):]
	}
	return before, since
}

// next waits for output.
func (f *follower) next(ctx context.Context) (piece, error) { return f.read(ctx, longPoll, readSize) }

func (f *follower) read(ctx context.Context, wait int64, most int) (piece, error) {
	var out ioResult
	err := f.on.Call(
		ctx,
		toolIO,
		ioCall{Action: "read", SessionID: f.id, Cursor: f.cursor, Encoding: "base64", Timeout: &wait, MaxBytes: most},
		&out,
	)
	if err != nil {
		switch {
		case isCode(err, "NOT_FOUND"): // it has ended, and is forgotten by now
			return piece{ended: true}, nil
		case isCode(err, "LIMIT_EXCEEDED") && pause(ctx, busyWait): // as many read as may; we are in no hurry
			return piece{}, nil
		}
		return piece{}, lost(ctx, err)
	}
	data, err := out.data()
	f.cursor = out.Next
	return piece{data: data, dropped: out.Dropped, ended: out.EOF, prompt: out.Prompt}, err
}

// lost says what a call's failure means to somebody who looks at a session.
func lost(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*control.ToolError)):
		return err
	}
	return fmt.Errorf("the ptyctl that has the session does not answer any more: %w", err)
}

// fill returns what the server has of the output, or its end if that is more than most bytes, and goes on from there.
func (f *follower) fill(ctx context.Context, most int64) (piece, error) {
	var none int64
	var at ioResult
	if err := f.on.Call(ctx, toolIO, ioCall{Action: "read", SessionID: f.id, Timeout: &none, MaxBytes: 1024}, &at); err != nil {
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
		all.data, all.ended, all.prompt = append(all.data, p.data...), p.ended, p.prompt
		if pos, err := strconv.ParseInt(f.cursor, 10, 64); err != nil || p.ended || len(p.data) == 0 || pos >= at.BufferEnd {
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
