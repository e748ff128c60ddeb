package route_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/route"
	"ptyctl/control"
	"ptyctl/mcpapi/peers"
)

// benchPair starts two nodes and a session of the first, and returns clients of both: local reaches the session at its
// node, forwarded through the other.
func benchPair(b *testing.B) (local, forwarded []*control.Client, id string) {
	b.Helper()
	url := natstest.Start(b, 1)[0].URL
	all := &directory{keys: make(map[string]ed25519.PublicKey)}
	owner, _ := start(b, all, connect(b, url), "fra1")
	entry, _ := start(b, all, connect(b, url), "ams2")
	for range benchClients {
		local, forwarded = append(local, client(b, owner)), append(forwarded, client(b, entry))
	}
	id = ok(b, local[0], "ptyctl_session", `{"action":"open","protocol":"local","argv":["sh"]}`).SessionID
	ok(b, local[0], "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"seq -f %063g 1 2048"}`) // 128 KiB to read
	return local, forwarded, id
}

// benchClients are the clients at a time of BenchmarkCalls.
const benchClients = 8

// benchCalls are the calls that are measured.
func benchCalls(id string) []struct{ name, tool, arguments string } {
	return []struct{ name, tool, arguments string }{
		{"read", "ptyctl_session_io", `{"action":"read","session_id":"` + id + `","cursor":"0","timeout_ms":0,"max_bytes":256}`},
		{"read64KiB", "ptyctl_session_io", `{"action":"read","session_id":"` + id + `","cursor":"0","timeout_ms":0,"max_bytes":65536}`},
		{"exec", "ptyctl_session_exec", `{"session_id":"` + id + `","cmd":"true"}`},
	}
}

// BenchmarkForward alternates between a call at the node of its session and the same call through another node, so that
// both see the same load. p50 and p99 are in microseconds; over is what the other node adds.
func BenchmarkForward(b *testing.B) {
	local, forwarded, id := benchPair(b)
	for _, c := range benchCalls(id) {
		b.Run(c.name, func(b *testing.B) {
			var times [2][]time.Duration
			for b.Loop() {
				for i, at := range []*control.Client{local[0], forwarded[0]} {
					began := time.Now()
					ok(b, at, c.tool, c.arguments)
					times[i] = append(times[i], time.Since(began))
				}
			}
			var p50, p99 [2]float64
			for i, t := range times {
				slices.Sort(t)
				p50[i], p99[i] = micros(t[len(t)/2]), micros(t[len(t)*99/100])
			}
			b.ReportMetric(p50[0], "local-p50-µs")
			b.ReportMetric(p50[1], "forwarded-p50-µs")
			b.ReportMetric(p50[1]-p50[0], "over-p50-µs")
			b.ReportMetric(p99[0], "local-p99-µs")
			b.ReportMetric(p99[1], "forwarded-p99-µs")
		})
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// BenchmarkCalls measures the calls a second of eight clients at a time.
func BenchmarkCalls(b *testing.B) {
	local, forwarded, id := benchPair(b)
	c := benchCalls(id)[0]
	for _, at := range []struct {
		name    string
		clients []*control.Client
	}{{"local", local}, {"forwarded", forwarded}} {
		b.Run(at.name, func(b *testing.B) {
			work := make(chan struct{})
			var working sync.WaitGroup
			for _, client := range at.clients {
				working.Go(func() {
					for range work {
						if _, err := call(b, client, c.tool, c.arguments); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			working.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// silent is a route.Server with sessions that have said nothing.
type silent struct{}

func (silent) ServePeer(context.Context, peers.Call, peers.Client) (json.RawMessage, error) {
	return json.RawMessage(`{"content":[{"type":"text","text":"{\"next_cursor\":\"0\"}"}]}`), nil
}

// BenchmarkIdleMemory measures the heap of the entry node that a session of another node costs after its last call: the
// difference before and after calls about many sessions.
func BenchmarkIdleMemory(b *testing.B) {
	url := natstest.Start(b, 1)[0].URL
	all := &directory{keys: make(map[string]ed25519.PublicKey)}
	entry, _ := start(b, all, connect(b, url), "ams2")
	// What has the sessions is in another process, as it were: it keeps nothing.
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	all.keys["fra1"] = public
	owner, err := route.New(route.Options{Conn: connect(b, url), Node: "fra1", Key: key, Nodes: all})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- owner.Serve(ctx, silent{}) }()
	defer func() {
		stop()
		<-served
		owner.Close()
	}()
	at := client(b, entry)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	asks := func(n int, what string) {
		for i := range n {
			ok(b, at, "ptyctl_session_io", fmt.Sprintf(`{"action":"read","session_id":"%s-%08d@fra1","timeout_ms":0}`, what, i))
		}
	}
	natstest.Eventually(b, "the other node serves", func() bool {
		_, err := call(b, at, "ptyctl_session_io", `{"action":"read","session_id":"s@fra1"}`)
		return err == nil
	})
	asks(1000, "warm")
	const sessions = 10_000
	for b.Loop() {
		before := heap()
		asks(sessions, "s")
		after := heap()
		b.ReportMetric(max(0, float64(after)-float64(before))/sessions, "B/session")
	}
}
