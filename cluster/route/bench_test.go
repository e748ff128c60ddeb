package route_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/route"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/stdio"
)

// A speaker is a client over the transport of stdio: it writes and reads lines, as the clients of agents do.
type speaker struct {
	in  io.Writer
	out *bufio.Reader
}

// speak connects a speaker to a node.
func speak(b *testing.B, n *node) *speaker {
	b.Helper()
	requests, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, answers, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- stdio.Serve(b.Context(), n.server, requests, answers, stdio.Options{}) }()
	b.Cleanup(func() {
		_ = in.Close()
		if err := <-served; err != nil {
			b.Error(err)
		}
		_, _, _ = requests.Close(), answers.Close(), out.Close()
	})
	s := &speaker{in: in, out: bufio.NewReaderSize(out, 1<<20)}
	s.ask(b, initialize)
	return s
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"bench","version":"1"}}}`

// An asker is a client of one node.
type asker interface {
	// ask sends a request and returns the message that answers it, which is good until the next one. It may be called by any
	// goroutine.
	ask(b *testing.B, request string) []byte
}

// ask implements asker.
func (s *speaker) ask(b *testing.B, request string) []byte {
	b.Helper()
	if _, err := io.WriteString(s.in, request+"\n"); err != nil {
		b.Error(err)
		return nil
	}
	line, err := s.out.ReadSlice('\n')
	if err != nil {
		b.Error(err)
		return nil
	}
	return line
}

// callAt calls a tool, and fails the benchmark if that has failed.
func callAt(b *testing.B, at asker, tool, arguments string) []byte {
	b.Helper()
	line := at.ask(b, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`)
	if !bytes.Contains(line, []byte(`"result":{"content":[{"type":"text"`)) || bytes.Contains(line, []byte(`"isError":true`)) {
		b.Errorf("%s %.200s = %.500s", tool, arguments, line)
	}
	return line
}

// benchPair starts two nodes: sessions of the first are reached at their node, or through the other.
func benchPair(b *testing.B) (owner, entry *node) {
	b.Helper()
	owner, entry, _ = benchNodes(b)
	return owner, entry
}

// benchNodes is benchPair, and returns the NATS server, too.
func benchNodes(b *testing.B) (owner, entry *node, server *natstest.Server) {
	b.Helper()
	server = natstest.Start(b, 1)[0]
	url := server.URL
	all := &directory{keys: make(map[string][]byte)}
	owner, _ = start(b, all, connect(b, url), "fra1")
	entry, _ = start(b, all, connect(b, url), "ams2")
	return owner, entry, server
}

// shell opens a session and returns its id.
func shell(b *testing.B, at asker) string {
	b.Helper()
	line := callAt(b, at, "ptyctl_session", `{"action":"open","protocol":"local","argv":["sh"]}`)
	m := sessionID.FindSubmatch(line)
	if m == nil {
		b.Fatalf("open = %.500s", line)
	}
	return string(m[1])
}

var sessionID = regexp.MustCompile(`\\?"session_id\\?":\\?"([^"\\]+)`)

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
// both see the same load. p50 and p99 are in microseconds; over is the difference that the other node makes.
func BenchmarkForward(b *testing.B) {
	owner, entry := benchPair(b)
	local, forwarded := speak(b, owner), speak(b, entry)
	id := shell(b, local)
	callAt(b, local, "ptyctl_session_exec", `{"session_id":"`+id+`","cmd":"seq -f %063g 1 2048"}`) // 128 KiB to read
	for _, c := range benchCalls(id) {
		b.Run(c.name, func(b *testing.B) {
			var times [2][]time.Duration
			var answer []byte
			for b.Loop() {
				for i, at := range []asker{local, forwarded} {
					began := time.Now()
					answer = callAt(b, at, c.tool, c.arguments)
					times[i] = append(times[i], time.Since(began))
				}
			}
			var p50, p99 [2]float64
			for i, t := range times {
				slices.Sort(t)
				p50[i], p99[i] = micros(t[len(t)/2]), micros(t[len(t)*99/100])
			}
			b.ReportMetric(float64(len(answer)), "B/answer")
			b.ReportMetric(p50[0], "local-p50-µs")
			b.ReportMetric(p50[1], "forwarded-p50-µs")
			b.ReportMetric(p50[1]-p50[0], "over-p50-µs")
			b.ReportMetric(p99[0], "local-p99-µs")
			b.ReportMetric(p99[1], "forwarded-p99-µs")
		})
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// A transport connects clients to a node.
type transport struct {
	name    string
	connect func(n *node) asker
}

// transports returns those that clients of two nodes have.
func transports(b *testing.B, owner, entry *node) []transport {
	atOwner, atEntry := serveHTTP(b, owner), serveHTTP(b, entry)
	return []transport{
		{"http", func(n *node) asker {
			if n == owner {
				return post(b, atOwner)
			}
			return post(b, atEntry)
		}},
		{"stdio", func(n *node) asker { return speak(b, n) }},
	}
}

// BenchmarkCalls measures the calls a second of eight clients at a time, each with a session of its own.
func BenchmarkCalls(b *testing.B) {
	owner, entry := benchPair(b)
	for _, over := range transports(b, owner, entry) {
		var local, forwarded []asker
		var ids []string
		for range benchClients {
			local, forwarded = append(local, over.connect(owner)), append(forwarded, over.connect(entry))
			ids = append(ids, shell(b, local[len(local)-1]))
		}
		for i, what := range benchCalls("") {
			if i == 1 { // these sessions have not said so much
				continue
			}
			b.Run(over.name+"/"+what.name+"/local", func(b *testing.B) { callsOf(b, local, ids, i) })
			b.Run(over.name+"/"+what.name+"/forwarded", func(b *testing.B) { callsOf(b, forwarded, ids, i) })
		}
	}
}

// callsOf has clients make a call of benchCalls as fast as they get answers, each to its session.
func callsOf(b *testing.B, clients []asker, ids []string, which int) {
	work := make(chan struct{})
	var working sync.WaitGroup
	for i, client := range clients {
		c := benchCalls(ids[i])[which]
		working.Go(func() {
			for range work {
				callAt(b, client, c.tool, c.arguments)
			}
		})
	}
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	working.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
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
	all := &directory{keys: make(map[string][]byte)}
	entry, _ := start(b, all, connect(b, url), "ams2")
	// The node with the sessions keeps nothing, as if it were in another process.
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	all.keys["fra1"] = key.PublicKey().Bytes()
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
