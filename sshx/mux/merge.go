package mux

import (
	"io"
	"sync"
)

// A mergedReader reads the two output streams of a channel as one, in the order
// of arrival. Each stream waits until its piece has been read, so the channel's
// own window limits the data in transit.
type mergedReader struct {
	pieces chan []byte
	taken  chan struct{}
	over   <-chan struct{} // closed when reading has ended
	ended  chan struct{}   // closed when both streams have ended
	rest   []byte
}

// Merge starts reading both streams, as one in the order of arrival, until over is closed.
func (c *Channel) Merge(over <-chan struct{}) io.Reader {
	m := &mergedReader{pieces: make(chan []byte), taken: make(chan struct{}), over: over, ended: make(chan struct{})}
	var streams sync.WaitGroup
	for _, r := range []io.Reader{c, c.Stderr()} {
		streams.Add(1)
		c.k.wg.Go(func() {
			defer streams.Done()
			m.pump(r)
		})
	}
	c.k.wg.Go(func() {
		streams.Wait()
		close(m.ended)
	})
	return m
}

// pump passes on the data of r, including data that came before the connection
// was lost.
func (m *mergedReader) pump(r io.Reader) {
	p := make([]byte, 16<<10)
	for {
		n, err := r.Read(p)
		if n > 0 {
			select {
			case m.pieces <- p[:n]:
			case <-m.over:
				return
			}
			select {
			case <-m.taken:
			case <-m.over:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Read returns the oldest data. It must have one caller at a time.
func (m *mergedReader) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		select {
		case m.rest = <-m.pieces:
		case <-m.ended:
			return 0, io.EOF
		case <-m.over:
			return 0, io.EOF
		}
	}
	n := copy(p, m.rest)
	// Only a whole piece frees its buffer for the next read of the stream.
	if m.rest = m.rest[n:]; len(m.rest) == 0 {
		select {
		case m.taken <- struct{}{}:
		case <-m.over:
		}
	}
	return n, nil
}
