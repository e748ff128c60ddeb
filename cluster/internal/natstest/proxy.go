package natstest

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy passes connections on to a server until the test ends. While cut is set, no byte passes in either direction,
// and new connections get no answer. Bytes that were held back pass afterwards.
func Proxy(tb testing.TB, to string, cut *atomic.Bool) (url string) {
	tb.Helper()
	to = strings.TrimPrefix(to, "nats://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	pass := func(to, from net.Conn) {
		defer to.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			for cut.Load() && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			if err != nil {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				_, _ = io.Copy(io.Discard, from)
				return
			}
		}
	}
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			context.AfterFunc(ctx, func() { near.Close(); far.Close() })
			wg.Go(func() { pass(far, near) })
			wg.Go(func() { pass(near, far) })
		}
	})
	tb.Cleanup(func() {
		cancel()
		l.Close()
		wg.Wait()
	})
	return "nats://" + l.Addr().String()
}

// Eventually waits until ok, which is called again and again. The test fails if that takes a minute.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("after a minute, still not: %s", what)
		}
	}
}
