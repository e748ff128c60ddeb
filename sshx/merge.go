package sshx

import (
	"io"
	"sync"
)

// A mergedReader reads the two output streams of a channel as one, in the order in which they arrive. Each side
// waits until what it brought has been taken, so the channel's own window limits what is under way.
type mergedReader struct {
	pieces chan []byte
	taken  chan struct{}
	rest   []byte
	ended  chan struct{} // the channel is closed on both sides, or Read is no longer called
}

// merge starts reading both streams of ch.
func merge(ch *channel) *mergedReader {
	m := &mergedReader{pieces: make(chan []byte), taken: make(chan struct{}), ended: make(chan struct{})}
	var streams sync.WaitGroup
	streams.Add(2)
	for _, r := range []io.Reader{ch, ch.Stderr()} {
		ch.k.wg.Go(func() {
			defer streams.Done()
			m.pump(r, ch.k.ctx.Done())
		})
	}
	ch.k.wg.Go(func() {
		streams.Wait()
		close(m.ended)
	})
	return m
}

func (m *mergedReader) pump(r io.Reader, over <-chan struct{}) {
	p := make([]byte, 16<<10)
	for {
		n, err := r.Read(p)
		if n > 0 {
			select {
			case m.pieces <- p[:n]:
			case <-over:
				return
			}
			select {
			case <-m.taken:
			case <-over:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Read returns what came first. It has one caller.
func (m *mergedReader) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		select {
		case m.rest = <-m.pieces:
		case <-m.ended:
			return 0, io.EOF
		}
	}
	n := copy(p, m.rest)
	if m.rest = m.rest[n:]; len(m.rest) == 0 {
		select {
		case m.taken <- struct{}{}:
		case <-m.ended:
		}
	}
	return n, nil
}
