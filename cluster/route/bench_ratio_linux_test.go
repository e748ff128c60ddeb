package route_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
)

// sliceCalls are the calls of a slice of BenchmarkRatio.
const sliceCalls = 400

// BenchmarkRatio alternates between slices of calls at the node of their sessions and of the same calls through another
// node, so that both see the same load of the machine. ratio is the median of what two slices that follow each other
// have of calls a second, forwarded by local; best is that of the fastest slices. cpu is the processor time of a call in
// this process, with the client, and server that in the NATS server, in microseconds, the medians of the slices.
func BenchmarkRatio(b *testing.B) {
	owner, entry, server := benchNodes(b)
	var ids []string
	for _, over := range transports(b, owner, entry) {
		var at [2][]asker
		for i := range 64 {
			at[0], at[1] = append(at[0], over.connect(owner)), append(at[1], over.connect(entry))
			if len(ids) == i {
				ids = append(ids, shell(b, at[0][i]))
			}
		}
		for i, what := range benchCalls("") {
			if i == 1 { // these sessions have not said so much
				continue
			}
			for _, clients := range []int{benchClients, len(ids)} {
				b.Run(fmt.Sprintf("%s/%s/%d", over.name, what.name, clients), func(b *testing.B) {
					var rates, cpus, servers [2][]float64
					var ratios []float64
					for b.Loop() {
						for j := range at {
							began, used, of := time.Now(), processor(b), serverProcessor(b, server)
							callsEach(b, at[j][:clients], ids, i, sliceCalls)
							rates[j] = append(rates[j], sliceCalls/time.Since(began).Seconds())
							cpus[j] = append(cpus[j], micros(processor(b)-used)/sliceCalls)
							servers[j] = append(servers[j], micros(serverProcessor(b, server)-of)/sliceCalls)
						}
						ratios = append(ratios, rates[1][len(ratios)]/rates[0][len(ratios)])
					}
					b.ReportMetric(median(ratios), "ratio")
					b.ReportMetric(slices.Max(rates[1])/slices.Max(rates[0]), "best")
					for j, name := range []string{"local", "forwarded"} {
						b.ReportMetric(slices.Max(rates[j]), name+"-calls/s")
						b.ReportMetric(median(cpus[j]), name+"-cpu-µs")
						b.ReportMetric(median(servers[j]), name+"-server-µs")
					}
				})
			}
		}
	}
}

// callsEach has clients make n calls of benchCalls in all, each to its session.
func callsEach(b *testing.B, clients []asker, ids []string, which, n int) {
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	var working sync.WaitGroup
	for i, client := range clients {
		c := benchCalls(ids[i])[which]
		working.Go(func() {
			for range work {
				callAt(b, client, c.tool, c.arguments)
			}
		})
	}
	working.Wait()
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverProcessor returns the processor time that a server has used.
func serverProcessor(b *testing.B, server *natstest.Server) (all time.Duration) {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", server.PID()))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range threads { // the first number, in nanoseconds
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		first, _, _ := bytes.Cut(text, []byte(" "))
		n, err := strconv.ParseInt(string(first), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		all += time.Duration(n)
	}
	return all
}
