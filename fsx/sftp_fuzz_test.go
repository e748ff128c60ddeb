//go:build unix

package fsx

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"testing"
	"time"

	"ptyctl/term"
)

// A liar is a server with answers from a list, in which only the id of the request
// is set. At the end the list starts again.
type liar struct {
	in  *io.PipeReader
	out *io.PipeWriter

	mu      sync.Mutex // guards the following
	request []byte     // the part received so far
	answers [][]byte
	next    int
	first   bool
}

func newLiar(hello []byte, answers [][]byte) *liar {
	l := &liar{answers: answers, first: true}
	l.in, l.out = io.Pipe()
	go func() { _, _ = l.out.Write(hello) }()
	return l
}

func (l *liar) Read(p []byte) (int, error) { return l.in.Read(p) }

func (l *liar) Close() error {
	_ = l.in.Close()
	return l.out.Close()
}

// Write answers each whole request.
func (l *liar) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.request = append(l.request, p...); len(l.request) >= 9; {
		n := 4 + int(binary.BigEndian.Uint32(l.request))
		if len(l.request) < n {
			break
		}
		id := l.request[5:9]
		if !l.first && len(l.answers) > 0 {
			answer := append([]byte(nil), l.answers[l.next%len(l.answers)]...)
			l.next++
			if len(answer) >= 5 {
				copy(answer[1:5], id)
			}
			whole := append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...)
			go func() { _, _ = l.out.Write(whole) }()
		}
		l.first = false
		l.request = l.request[n:]
	}
	return len(p), nil
}

// FuzzSFTP lets a server send any bytes: no call may panic, hang, or return more
// than requested.
func FuzzSFTP(f *testing.F) {
	attrs := func(mode uint32, size uint64) []byte { // an answer to a stat
		p := append([]byte{105, 0, 0, 0, 0}, 0, 0, 0, 5)
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(p, size), mode)
	}
	status := func(code uint32) []byte {
		p := binary.BigEndian.AppendUint32([]byte{101, 0, 0, 0, 0}, code)
		return appendString(appendString(p, "why"), "en")
	}
	handle := append([]byte{102, 0, 0, 0, 0}, appendString(nil, "h")...)
	data := append([]byte{103, 0, 0, 0, 0}, appendString(nil, "some data")...)
	names := append([]byte{104, 0, 0, 0, 0, 0, 0, 0, 1}, appendString(appendString(nil, "name"), "long")...)
	names = append(names, 0, 0, 0, 0)
	join := func(answers ...[]byte) (all []byte) {
		for _, a := range answers {
			all = append(all, byte(len(a)))
			all = append(all, a...)
		}
		return all
	}
	f.Add(uint8(0), join(attrs(0o100644, 9), handle, data, status(1), status(0)))
	f.Add(uint8(1), join(attrs(0o100644, 9), status(0), handle, status(0)))
	f.Add(uint8(2), join(attrs(0o40755, 9), handle, names, status(1), status(0)))
	f.Add(uint8(3), join(attrs(0o120777, 9), names))
	f.Add(uint8(0), join(attrs(0o100644, 1<<63), handle, data))
	f.Add(uint8(4), join(attrs(0o100644, 9), handle, data, status(1), status(4)))
	f.Fuzz(func(t *testing.T, call uint8, script []byte) {
		var answers [][]byte
		for len(script) > 0 && len(answers) < 64 {
			n := min(int(script[0]), len(script)-1)
			answers = append(answers, script[1:1+n])
			script = script[1+n:]
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		files, err := NewSFTP(
			ctx,
			newLiar(version(extRename, extSync, extStatVFS), answers),
			Limits{Read: 100, Write: 100, Entries: 3},
		)
		if err != nil { // the machine was busy
			return
		}
		defer time.AfterFunc(20*time.Second, func() { panic("the call hangs") }).Stop()
		defer func() { _ = files.Close() }()
		stop := context.AfterFunc(ctx, func() { _ = files.channel.Close() }) // earlier than the grace for real servers
		defer stop()
		switch call % 5 {
		case 0:
			if d, _ := files.Read(ctx, term.FileRead{Path: "x", Max: 50}); len(d.Data) > 50 {
				t.Errorf("%d bytes were read", len(d.Data))
			}
		case 1:
			_, _ = files.Write(ctx, term.FileWrite{Path: "x", Data: make([]byte, 60), Append: call >= 128})
		case 2:
			if l, _ := files.List(ctx, term.FileList{Path: "x"}); len(l.Entries) > 3 {
				t.Errorf("%d entries were listed", len(l.Entries))
			}
		case 3:
			_, _ = files.Stat(ctx, "x")
		case 4:
			if source, err := files.Source(ctx, "x", true); err == nil {
				_, _ = source.ReadAt(make([]byte, 50), 0)
			}
		}
	})
}
