package xmodem_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"ptyctl/session/tap"
)

// The faults say how often a byte on its way is spoilt: one of so many; 0: none.
type faults struct {
	flip, lose, double int
	delay              time.Duration // of all bytes
	mask               byte          // bits that get lost; 0: none
}

// A wire carries bytes in one direction.
type wire struct {
	faults
	rand *rand.Rand
	to   *tap.Tap
	in   chan []byte
	done chan struct{}

	mu   sync.Mutex // guards the following
	hurt int        // bytes that were spoilt
	sent []byte
}

func newWire(seed uint64, f faults) *wire {
	w := &wire{
		faults: f, rand: rand.New(rand.NewPCG(seed, 1)), to: tap.New(func([]byte) {}), in: make(chan []byte, 64),
		done: make(chan struct{}),
	}
	_ = w.to.Open()
	go func() {
		defer close(w.done)
		for p := range w.in {
			time.Sleep(w.delay)
			w.to.Write(w.spoil(p))
		}
	}()
	return w
}

// spoil returns p as it arrives.
func (w *wire) spoil(p []byte) (out []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, p...)
	hit := func(oneOf int) bool {
		if oneOf == 0 || w.rand.IntN(oneOf) != 0 {
			return false
		}
		w.hurt++
		return true
	}
	for _, b := range p {
		b &^= w.mask
		switch {
		case hit(w.lose):
			continue
		case hit(w.flip):
			b ^= 1 << w.rand.IntN(8)
		case hit(w.double):
			out = append(out, b)
		}
		out = append(out, b)
	}
	return out
}

// spoilt returns how many bytes were.
func (w *wire) spoilt() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hurt
}

// carried returns all bytes that were sent.
func (w *wire) carried() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.sent)
}

// A station is one end of a line.
type station struct {
	in, out *wire

	mu   sync.Mutex // guards the following
	text []byte
}

func (s *station) Read(ctx context.Context, p []byte, wait time.Duration) (int, error) {
	return s.in.to.Read(ctx, p, wait)
}

func (s *station) Write(_ context.Context, p []byte) error {
	s.out.in <- bytes.Clone(p)
	return nil
}

func (s *station) Cancel(ctx context.Context, p []byte) { _ = s.Write(ctx, p) }

func (s *station) Text(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
}

func (s *station) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// says sends text as the far side.
func (s *station) says(text string) { _ = s.Write(context.Background(), []byte(text)) }

// line makes two stations with a line between them, which has faults in each direction.
func line(t *testing.T, seed uint64, there, back faults) (near, far *station) {
	a, b := newWire(seed, there), newWire(seed+1, back)
	t.Cleanup(func() {
		close(a.in)
		close(b.in)
		<-a.done
		<-b.done
	})
	return &station{in: b, out: a}, &station{in: a, out: b}
}
