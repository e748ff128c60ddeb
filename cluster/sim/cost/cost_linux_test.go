package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/natstest"
)

const bucket = "cost"

// value has the size of the value of a lease (cluster/lease, value.go).
var value = []byte(`{"v":1,"device":"console-fra-000123","id":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","token":1234567,"pid":31337,` +
	`"socket":"/run/user/1000/ptyctl/31337.sock","session":"s-1234567@node-123","started":"2026-11-29T10:00:00Z","node":"node-123"}`)

// layouts are the servers of most of the benchmarks.
var layouts = []struct {
	name     string
	servers  int
	replicas int
	storage  jetstream.StorageType
}{
	{"R1-file", 1, 1, jetstream.FileStorage},
	{"R3-file", 3, 3, jetstream.FileStorage},
	{"R3-memory", 3, 3, jetstream.MemoryStorage},
}

// A rig is servers with a bucket, and a client of the server that leads it.
type rig struct {
	servers []*natstest.Server // the leader first
	nc      *nats.Conn
	kv      jetstream.KeyValue
}

// each runs a benchmark with each layout.
func each(b *testing.B, f func(b *testing.B, r *rig)) {
	for _, l := range layouts {
		b.Run(l.name, func(b *testing.B) {
			r := &rig{servers: natstest.Start(b, l.servers)}
			nc := connect(b, r.servers...)
			js, err := jetstream.New(nc)
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
			defer cancel()
			for {
				r.kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
					Bucket: bucket, TTL: time.Hour, Replicas: l.replicas, Storage: l.storage, LimitMarkerTTL: time.Hour,
				})
				if err == nil {
					break
				}
				if ctx.Err() != nil {
					b.Fatal(err)
				}
			}
			if l.servers > 1 {
				leader := natstest.Leader(b, r.servers, "KV_"+bucket)
				r.servers = append([]*natstest.Server{leader}, slices.DeleteFunc(r.servers, func(s *natstest.Server) bool { return s == leader })...)
			}
			r.nc = connect(b, r.servers[0])
			for _, s := range r.servers { // until each knows of the leader's subscription
				for nc := connect(b, s); ; {
					if _, err := nc.Request("$KV."+bucket+".ready", nil, time.Second); err == nil {
						nc.Close()
						break
					}
					if ctx.Err() != nil {
						b.Fatal("a server takes no write for the bucket")
					}
				}
			}
			f(b, r)
		})
	}
}

func connect(b *testing.B, servers ...*natstest.Server) *nats.Conn {
	b.Helper()
	nc, err := nats.Connect(strings.Join(natstest.URLs(servers), ","), nats.IgnoreDiscoveredServers())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	return nc
}

// measure times f, which makes b.N requests, and reports their cost to the servers.
func (r *rig) measure(b *testing.B, f func() []time.Duration) {
	b.Helper()
	before := make([]time.Duration, len(r.servers))
	traffic := make([]natstest.Traffic, len(r.servers))
	for i, s := range r.servers {
		before[i], traffic[i] = s.CPU(b), s.Traffic(b)
	}
	b.ResetTimer()
	began := time.Now()
	took := f()
	whole := time.Since(began)
	b.StopTimer()
	n := float64(b.N)
	var others time.Duration
	for i, s := range r.servers {
		used, now := s.CPU(b)-before[i], s.Traffic(b)
		if i > 0 {
			others += used
			continue
		}
		b.ReportMetric(float64(used.Nanoseconds())/1e3/n, "us/op-leader")
		b.ReportMetric(float64(now.InBytes-traffic[i].InBytes)/n, "Bin/op-leader")
		b.ReportMetric(float64(now.OutBytes-traffic[i].OutBytes)/n, "Bout/op-leader")
		b.ReportMetric(float64(now.InMsgs-traffic[i].InMsgs+now.OutMsgs-traffic[i].OutMsgs)/n, "msgs/op-leader")
	}
	if len(r.servers) > 1 {
		b.ReportMetric(float64(others.Nanoseconds())/1e3/n/float64(len(r.servers)-1), "us/op-others")
	}
	b.ReportMetric(n/whole.Seconds(), "ops/s")
	if len(took) > 0 {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
	}
}

// one makes one request after the other.
func one(b *testing.B, request func(i int)) []time.Duration {
	took := make([]time.Duration, b.N)
	for i := range took {
		began := time.Now()
		request(i)
		took[i] = time.Since(began)
	}
	return took
}

// renewal is the message that renews a lease: cluster/lease, request.go.
func renewal(key string, revision uint64) *nats.Msg {
	m := nats.NewMsg("$KV." + bucket + "." + key)
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(revision, 10))
	m.Data = value
	return m
}

// confirmed returns the revision that a server has confirmed; 0 and the code of the error otherwise.
func confirmed(b *testing.B, data []byte) (revision uint64, code int) {
	var a struct {
		Seq   uint64 `json:"seq"`
		Error *struct {
			Code int `json:"err_code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		b.Errorf("the answer is %q", data)
	}
	if a.Error != nil {
		return 0, a.Error.Code
	}
	return a.Seq, 0
}

func keyOf(i int) string { return fmt.Sprintf("dev.Y29uc29sZS1mcmEt%06d", i) }

// BenchmarkCreate makes keys, one after the other.
func BenchmarkCreate(b *testing.B) {
	each(b, func(b *testing.B, r *rig) {
		r.measure(b, func() []time.Duration {
			return one(b, func(i int) {
				if _, err := r.kv.Create(context.Background(), keyOf(i), value); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
}

// BenchmarkRenew renews one lease again and again.
func BenchmarkRenew(b *testing.B) {
	each(b, func(b *testing.B, r *rig) {
		revision, code := uint64(0), 0
		refused := 0
		r.measure(b, func() []time.Duration {
			return one(b, func(int) {
				for {
					m, err := r.nc.RequestMsg(renewal(keyOf(0), revision), 10*time.Second)
					if err != nil {
						b.Fatal(err)
					}
					var next uint64
					if next, code = confirmed(b, m.Data); code == 0 {
						revision = next
						return
					}
					if refused++; code != 10164 {
						b.Fatalf("a renewal is refused with %d", code)
					}
				}
			})
		})
		b.ReportMetric(float64(refused), "refused-10164")
	})
}

// BenchmarkRenewAll renews many leases, 512 at a time, as fast as the servers can.
func BenchmarkRenewAll(b *testing.B) {
	const keys, flying = 2048, 512
	each(b, func(b *testing.B, r *rig) {
		revisions := make([]uint64, keys)
		inbox := r.nc.NewInbox()
		answers := make(chan *nats.Msg, 2*keys)
		sub, err := r.nc.ChanSubscribe(inbox+".*", answers)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		send := func(i int) {
			m := renewal(keyOf(i), revisions[i])
			m.Reply = inbox + "." + strconv.Itoa(i)
			if err := r.nc.PublishMsg(m); err != nil {
				b.Fatal(err)
			}
		}
		refused := 0
		all := func(n int) {
			sent, next := 0, 0
			waiting := make([]int, 0, keys) // for their turn
			for i := range keys {
				waiting = append(waiting, i)
			}
			for done := 0; done < n; {
				for sent-done < flying && sent < n {
					send(waiting[next%keys])
					sent++
					next++
				}
				m := <-answers
				i, err := strconv.Atoi(strings.TrimPrefix(m.Subject, inbox+"."))
				if err != nil {
					b.Fatal(err)
				}
				revision, code := confirmed(b, m.Data)
				if code != 0 { // of another write under way: again
					refused++
					if code != 10164 {
						b.Fatalf("a renewal is refused with %d", code)
					}
					send(i)
					continue
				}
				revisions[i] = revision
				done++
			}
		}
		all(keys) // make them
		refused = 0
		r.measure(b, func() []time.Duration { all(b.N); return nil })
		b.ReportMetric(float64(refused), "refused-10164")
	})
}

// BenchmarkRenewNodes renews leases over 200 connections, spread over the servers, each with one renewal under way: the
// servers cannot take many messages of one connection at once.
func BenchmarkRenewNodes(b *testing.B) {
	const nodes = 200
	each(b, func(b *testing.B, r *rig) {
		var all []*nats.Conn
		for i := range nodes {
			all = append(all, connect(b, r.servers[i%len(r.servers)]))
		}
		var left atomic.Int64
		left.Store(int64(b.N))
		r.measure(b, func() []time.Duration {
			var wg sync.WaitGroup
			took := make([][]time.Duration, nodes)
			for i, nc := range all {
				wg.Go(func() {
					revision := uint64(0)
					for left.Add(-1) >= 0 {
						began := time.Now()
						m, err := nc.RequestMsg(renewal(keyOf(i), revision), 10*time.Second)
						if err != nil {
							b.Error(err)
							return
						}
						took[i] = append(took[i], time.Since(began))
						if next, code := confirmed(b, m.Data); code == 0 {
							revision = next
						}
					}
				})
			}
			wg.Wait()
			return slices.Concat(took...)
		})
	})
}

// BenchmarkGet reads the last write of a key at the leader.
func BenchmarkGet(b *testing.B) {
	each(b, func(b *testing.B, r *rig) {
		if _, err := r.kv.Create(b.Context(), keyOf(0), value); err != nil {
			b.Fatal(err)
		}
		body := []byte(`{"last_by_subj":"$KV.` + bucket + "." + keyOf(0) + `"}`)
		r.measure(b, func() []time.Duration {
			return one(b, func(int) {
				if _, err := r.nc.Request("$JS.API.STREAM.MSG.GET.KV_"+bucket, body, 10*time.Second); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
}

// BenchmarkCall is a request that another node answers, through one server, and through two.
func BenchmarkCall(b *testing.B) {
	for _, servers := range []int{1, 3} {
		for _, size := range []int{64, 64 << 10} {
			b.Run(fmt.Sprintf("%d-servers-%d-bytes", servers, size), func(b *testing.B) {
				r := &rig{servers: natstest.Start(b, servers)}
				r.nc = connect(b, r.servers[0])
				other := connect(b, r.servers[servers-1])
				answer := make([]byte, size)
				if _, err := other.Subscribe("node.call", func(m *nats.Msg) { _ = m.Respond(answer) }); err != nil {
					b.Fatal(err)
				}
				if err := other.Flush(); err != nil {
					b.Fatal(err)
				}
				for { // until the other server knows of the subscription
					if _, err := r.nc.Request("node.call", nil, time.Second); err == nil {
						break
					}
				}
				r.measure(b, func() []time.Duration {
					return one(b, func(int) {
						if _, err := r.nc.Request("node.call", make([]byte, 64), 10*time.Second); err != nil {
							b.Fatal(err)
						}
					})
				})
			})
		}
	}
}

// BenchmarkCallAll is BenchmarkCall with 512 calls under way, as fast as the servers can.
func BenchmarkCallAll(b *testing.B) {
	const flying = 512
	for _, servers := range []int{1, 3} {
		b.Run(fmt.Sprintf("%d-servers", servers), func(b *testing.B) {
			r := &rig{servers: natstest.Start(b, servers)}
			r.nc = connect(b, r.servers[0])
			other := connect(b, r.servers[servers-1])
			answer := make([]byte, 2048)
			if _, err := other.Subscribe("node.call", func(m *nats.Msg) { _ = m.Respond(answer) }); err != nil {
				b.Fatal(err)
			}
			if err := other.Flush(); err != nil {
				b.Fatal(err)
			}
			for {
				if _, err := r.nc.Request("node.call", nil, time.Second); err == nil {
					break
				}
			}
			inbox := r.nc.NewInbox()
			answers := make(chan *nats.Msg, flying)
			sub, err := r.nc.ChanSubscribe(inbox, answers)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = sub.Unsubscribe() }()
			r.measure(b, func() []time.Duration {
				for done, sent := 0, 0; done < b.N; done++ {
					for ; sent < b.N && sent-done < flying; sent++ {
						if err := r.nc.PublishRequest("node.call", inbox, make([]byte, 256)); err != nil {
							b.Fatal(err)
						}
					}
					<-answers
				}
				return nil
			})
		})
	}
}

// BenchmarkFanOut writes a key that 100 watchers follow, as nodes do, and waits until all of them know.
func BenchmarkFanOut(b *testing.B) {
	const watchers = 100
	each(b, func(b *testing.B, r *rig) {
		reports := make(chan uint64, 2*watchers)
		for i := range watchers { // on connections of their own, as nodes
			js, err := jetstream.New(connect(b, r.servers[i%len(r.servers)]))
			if err != nil {
				b.Fatal(err)
			}
			kv, err := js.KeyValue(b.Context(), bucket)
			if err != nil {
				b.Fatal(err)
			}
			w, err := kv.Watch(b.Context(), "dev.*", jetstream.UpdatesOnly())
			if err != nil {
				b.Fatal(err)
			}
			go func() { // until the connection is closed
				for u := range w.Updates() {
					if u != nil {
						reports <- u.Revision()
					}
				}
			}()
		}
		r.measure(b, func() []time.Duration {
			return one(b, func(int) {
				revision, err := r.kv.Put(context.Background(), keyOf(0), value)
				if err != nil {
					b.Fatal(err)
				}
				for left := watchers; left > 0; {
					if <-reports == revision {
						left--
					}
				}
			})
		})
	})
}

// BenchmarkMemory is the memory of a server for each key, connection and subscription.
func BenchmarkMemory(b *testing.B) {
	grown := func(b *testing.B, unit string, n int, f func(b *testing.B, s *natstest.Server)) {
		b.Run(unit, func(b *testing.B) {
			s := natstest.Start(b, 1)[0]
			before := s.Memory(b)
			f(b, s)
			b.ReportMetric(float64(s.Memory(b)-before)/float64(n), "B/"+unit)
			b.ReportMetric(float64(n), unit+"s")
		})
	}
	const keys, connections, subscriptions = 100_000, 1000, 20_000
	grown(b, "key", keys, func(b *testing.B, s *natstest.Server) {
		nc := connect(b, s)
		js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(100))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := js.CreateKeyValue(b.Context(), jetstream.KeyValueConfig{Bucket: bucket, TTL: time.Hour, LimitMarkerTTL: time.Hour}); err != nil {
			b.Fatal(err)
		}
		for i := range keys {
			if _, err := js.PublishAsync("$KV."+bucket+"."+keyOf(i), value, jetstream.WithStallWait(time.Minute)); err != nil {
				b.Fatal(err)
			}
		}
		<-js.PublishAsyncComplete()
	})
	grown(b, "connection", connections, func(b *testing.B, s *natstest.Server) {
		for range connections {
			connect(b, s)
		}
	})
	grown(b, "subscription", subscriptions, func(b *testing.B, s *natstest.Server) {
		nc := connect(b, s)
		for i := range subscriptions {
			if _, err := nc.SubscribeSync(fmt.Sprintf("node.%d.call", i)); err != nil {
				b.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			b.Fatal(err)
		}
	})
}
