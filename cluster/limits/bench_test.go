package limits_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/limits"
)

// BenchmarkTake measures calls of Take on one server and on three. Nothing is released in between: a session that comes
// when another of its node has just gone may need no write at all.
func BenchmarkTake(b *testing.B) {
	const endless = 1 << 20
	same := func(int) []limits.Use { return []limits.Use{{What: "host", Name: "same", Most: endless}} }
	for _, bb := range []struct {
		name           string
		servers, nodes int
		uses           func(i int) []limits.Use
	}{
		{"one limit", 1, 1, same},
		{"one limit, three servers", 3, 1, same},
		{"one limit, three nodes at once", 1, 3, same},
		{"a new limit each time", 1, 1, func(i int) []limits.Use { return []limits.Use{{What: "host", Name: fmt.Sprint(i), Most: 1}} }},
		{"token, host and jump host", 1, 1, func(int) []limits.Use {
			return []limits.Use{{What: "token", Name: "t", Most: endless}, {What: "host", Name: "h", Most: endless}, {What: "jump", Name: "j", Most: endless}}
		}},
		{"a full limit", 1, 1, func(i int) []limits.Use { return []limits.Use{{What: "host", Name: "full", Most: 1}} }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			urls := natstest.URLs(natstest.Start(b, bb.servers))
			var books []*limits.Book
			for i := range bb.nodes {
				books = append(books, open(b, urls, limits.Options{Node: fmt.Sprint("n", i), Replicas: bb.servers}))
			}
			var mu sync.Mutex
			var all []time.Duration
			var wg sync.WaitGroup
			b.ResetTimer()
			for n, book := range books {
				wg.Go(func() {
					var took []time.Duration
					for i := range b.N/bb.nodes + 1 {
						began := time.Now()
						_, err := book.Take(context.Background(), bb.uses(n*b.N+i)...)
						if err != nil && !errors.As(err, new(*limits.FullError)) {
							b.Error(err)
							return
						}
						took = append(took, time.Since(began))
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, took...)
				})
			}
			wg.Wait()
			b.StopTimer()
			slices.Sort(all)
			if len(all) > 0 {
				b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
			}
		})
	}
}
