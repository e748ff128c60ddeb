package limits_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/limits"
)

// BenchmarkTake measures a take and its release, with one server.
func BenchmarkTake(b *testing.B) {
	urls := natstest.URLs(natstest.Start(b, 1))
	for name, n := range map[string]int{"1 node": 1, "3 nodes": 3} {
		b.Run(name, func(b *testing.B) {
			var books []*limits.Book
			for i := range n {
				books = append(books, open(b, urls, limits.Options{Node: fmt.Sprint("n", i)}))
			}
			var mu sync.Mutex
			var all []time.Duration
			var wg sync.WaitGroup
			each := b.N/n + 1
			b.ResetTimer()
			for _, book := range books {
				wg.Go(func() {
					var took []time.Duration
					for range each {
						began := time.Now()
						release, err := book.Take(context.Background(), limits.Use{What: "host", Name: "rack", Most: 1000})
						if err != nil {
							b.Error(err)
							return
						}
						took = append(took, time.Since(began))
						release()
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, took...)
				})
			}
			wg.Wait()
			slices.Sort(all)
			if len(all) > 0 {
				b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
			}
		})
	}
}
