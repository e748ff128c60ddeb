package limits_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/limits"
)

// short is the TTL of most of these tests.
const short = 2 * time.Second

// nodeEnv tells this test program to be a node that can be killed.
const nodeEnv = "LIMITS_TEST_NODE"

// TestMain also runs the nodes.
func TestMain(m *testing.M) {
	text := os.Getenv(nodeEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var c struct {
		Servers string
		Takes   int
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	nc, err := nats.Connect(c.Servers, nats.ReconnectBufSize(-1))
	if err == nil {
		var b *limits.Book
		b, err = limits.Open(context.Background(), limits.Options{Conn: nc, Node: "k", TTL: short, Timeout: time.Minute})
		for i := 0; i < c.Takes && err == nil; i++ {
			_, err = b.Take(context.Background(), host)
		}
	}
	fmt.Println("taken:", err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

// host is the limit of most tests.
var host = limits.Use{What: "host", Name: "rack 1", Most: 5}

// open opens a node's book, and closes it with the test.
func open(tb testing.TB, urls []string, o limits.Options) *limits.Book {
	tb.Helper()
	nc, err := nats.Connect(strings.Join(urls, ","), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(5*time.Second), nats.IgnoreDiscoveredServers())
	if err != nil {
		tb.Fatal(err)
	}
	o.Conn = nc
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := limits.Open(ctx, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = b.Close(ctx) // the servers may be gone
		nc.Close()
	})
	return b
}

// take takes, and fails the test if that fails.
func take(tb testing.TB, b *limits.Book, uses ...limits.Use) (release func()) {
	tb.Helper()
	release, err := b.Take(context.Background(), uses...)
	if err != nil {
		tb.Fatal(err)
	}
	return release
}

// full fails the test unless the limit is reached by these nodes.
func full(tb testing.TB, b *limits.Book, u limits.Use, want map[string]int) {
	tb.Helper()
	_, err := b.Take(context.Background(), u)
	e, ok := errors.AsType[*limits.FullError](err)
	if !ok || e.What != u.What || e.Name != u.Name || e.Most != u.Most || !maps.Equal(e.Nodes, want) {
		tb.Fatalf("Take = %v, want that %s %q is full with %v", err, u.What, u.Name, want)
	}
}

// used waits until the servers have these counts.
func used(tb testing.TB, b *limits.Book, u limits.Use, want map[string]int) {
	tb.Helper()
	var got map[string]int
	var err error
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if got, err = b.Used(context.Background(), u.What, u.Name); err == nil && maps.Equal(got, want) {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("the servers have %v (%v), want %v", got, err, want)
		}
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 1))
	a, b := open(t, urls, limits.Options{Node: "a"}), open(t, urls, limits.Options{Node: "b"})
	token := limits.Use{What: "token", Name: "rack 1", Most: 3} // the same name, of another kind
	first := take(t, a, token, host)
	take(t, b, token, host, limits.Use{What: "jump", Name: "free"}) // without a limit
	take(t, b, token)
	full(t, a, token, map[string]int{"a": 1, "b": 2})
	if _, err := a.Take(t.Context(), host, token); !errors.As(err, new(*limits.FullError)) { // and host is given back
		t.Errorf("Take of two = %v", err)
	}
	used(t, a, host, map[string]int{"a": 1, "b": 1})
	first()
	first() // without effect
	used(t, a, host, map[string]int{"b": 1})
	used(t, a, limits.Use{What: "jump", Name: "free"}, map[string]int{})
	take(t, a, token)
	full(t, b, limits.Use{What: "token", Name: "rack 1", Most: 2}, map[string]int{"a": 1, "b": 2}) // this node's limit is lower

	if _, err := a.Take(t.Context(), limits.Use{What: "Token", Most: 1}); err == nil {
		t.Error("a kind with a capital letter was taken")
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	used(t, a, token, map[string]int{"a": 1})
	if _, err := b.Take(t.Context(), host); err == nil || b.Alive() || b.Close(t.Context()) != nil {
		t.Errorf("after Close: Take = %v, Alive = %v", err, b.Alive())
	}
}

// TestRace: three nodes race. The limit is never passed, and in the end it is reached exactly.
func TestRace(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 3))
	var books []*limits.Book
	for _, node := range []string{"a", "b", "c"} {
		books = append(books, open(t, urls, limits.Options{Node: node, Replicas: 3, Timeout: time.Minute}))
	}
	u := limits.Use{What: "jump", Name: "bastion", Most: 20}
	race := func(takes int, keep func() bool) (releases []func()) {
		var taken atomic.Int64
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range takes {
			wg.Go(func() {
				release, err := books[i%len(books)].Take(context.Background(), u)
				if err != nil {
					e, ok := errors.AsType[*limits.FullError](err)
					if !ok || total(e.Nodes) != u.Most {
						t.Errorf("a call was refused with %v", err)
					}
					return
				}
				if n := taken.Add(1); n > int64(u.Most) {
					t.Errorf("%d sessions are taken", n)
				}
				mu.Lock()
				defer mu.Unlock()
				if keep() {
					releases = append(releases, release)
					return
				}
				taken.Add(-1)
				release()
			})
		}
		wg.Wait()
		return releases
	}
	kept := race(500, func() bool { return true })
	if len(kept) != u.Most {
		t.Errorf("%d of 500 calls have taken, want %d", len(kept), u.Most)
	}
	for _, release := range kept {
		release()
	}
	used(t, books[0], u, map[string]int{})
	random := rand.New(rand.NewPCG(28, 28))
	kept = race(500, func() bool { return random.IntN(10) == 0 })
	natstest.Eventually(t, "the servers have what was kept", func() bool {
		nodes, err := books[0].Used(context.Background(), u.What, u.Name)
		return err == nil && total(nodes) == len(kept)
	})
}

// total returns the sum of the counts of all nodes.
func total(nodes map[string]int) (sum int) {
	for _, n := range nodes {
		sum += n
	}
	return sum
}

// The share of a process that was killed is given back when its time is over.
func TestKilled(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 1))
	a := open(t, urls, limits.Options{Node: "a", TTL: short})
	text, err := json.Marshal(map[string]any{"Servers": urls[0], "Takes": 4})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	if _, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "taken: <nil>\n" {
		t.Errorf("the node says %q", line)
	}
	take(t, a, host)
	full(t, a, host, map[string]int{"a": 1, "k": 4})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	full(t, a, host, map[string]int{"a": 1, "k": 4})
	natstest.Eventually(t, "the share of the process is free", func() bool {
		_, err := a.Take(t.Context(), host)
		return err == nil
	})
	used(t, a, host, map[string]int{"a": 2})
}

// A node that was cut off for longer than the TTL takes no sessions, and its share is free. When it is back, its
// sessions count again, and no node gets more until enough have ended.
func TestPartition(t *testing.T) {
	t.Parallel()
	urls := natstest.URLs(natstest.Start(t, 3))
	var through []string
	var cut atomic.Bool
	for _, u := range urls {
		through = append(through, natstest.Proxy(t, u, &cut))
	}
	b := open(t, urls, limits.Options{Node: "b", TTL: short, Replicas: 3})
	a := open(t, through, limits.Options{Node: "a", TTL: short, Replicas: 3})
	release := take(t, a, host)
	take(t, a, host)
	take(t, a, host)
	take(t, b, host)
	quiet := limits.Use{What: "jump", Name: "bastion", Most: 5} // never full, so no process looks for dead ones
	take(t, a, quiet)
	cut.Store(true)
	release()
	natstest.Eventually(t, "a knows that it is cut off", func() bool { return !a.Alive() })
	if _, err := a.Take(t.Context(), host); !errors.As(err, new(*limits.UnavailableError)) {
		t.Errorf("behind the cut: Take = %v", err)
	}
	var releases []func()
	natstest.Eventually(t, "b has all", func() bool {
		if release, err := b.Take(t.Context(), host); err == nil {
			releases = append(releases, release)
		}
		return len(releases) == host.Most-1
	})
	full(t, b, host, map[string]int{"b": host.Most})
	cut.Store(false)
	natstest.Eventually(t, "a is back", a.Alive)
	used(t, b, host, map[string]int{"a": 2, "b": host.Most})
	used(t, b, quiet, map[string]int{"a": 1})
	full(t, a, host, map[string]int{"a": 2, "b": host.Most})
	releases[0]()
	releases[1]()
	used(t, b, host, map[string]int{"a": 2, "b": host.Most - 2})
	full(t, b, host, map[string]int{"a": 2, "b": host.Most - 2})
	releases[2]()
	used(t, b, host, map[string]int{"a": 2, "b": host.Most - 3})
	take(t, a, host)
	full(t, b, host, map[string]int{"a": 3, "b": host.Most - 3})
}

// TestCuts: while the connections of three nodes to the servers are cut again and again, answers are lost. The limit is
// never passed, and in the end the servers and the nodes have the same counts.
func TestCuts(t *testing.T) {
	t.Parallel()
	const seed = 28
	urls := natstest.URLs(natstest.Start(t, 1))
	u := limits.Use{What: "host", Name: "rack", Most: 10}
	var taken, done, failed atomic.Int64
	var takers, cutters sync.WaitGroup
	stop := make(chan struct{})
	var books []*limits.Book
	for i := range 3 {
		cut := new(atomic.Bool)
		b := open(t, []string{natstest.Proxy(t, urls[0], cut)}, limits.Options{Node: fmt.Sprint("n", i), Timeout: time.Second})
		books = append(books, b)
		cutters.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for run, longest := true, 0; run; {
				cut.Store(!cut.Load())
				if longest = 100; cut.Load() {
					longest = 1500
				}
				select {
				case <-time.After(time.Duration(random.IntN(longest)) * time.Millisecond):
				case <-stop:
					run = false
				}
			}
			cut.Store(false)
		})
		for j := range 8 {
			takers.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i*100+j)))
				var releases []func()
				for range 200 {
					if len(releases) > 0 && random.IntN(2) == 0 {
						taken.Add(-1)
						releases[0]()
						releases = releases[1:]
						continue
					}
					release, err := b.Take(context.Background(), u)
					if errors.As(err, new(*limits.UnavailableError)) {
						failed.Add(1)
					}
					if err != nil {
						continue
					}
					if n := taken.Add(1); n > int64(u.Most) {
						t.Errorf("%d sessions are taken", n)
					}
					done.Add(1)
					releases = append(releases, release)
				}
				for _, release := range releases[min(1, len(releases)):] { // one may stay
					taken.Add(-1)
					release()
				}
			})
		}
	}
	takers.Wait()
	close(stop)
	cutters.Wait()
	natstest.Eventually(t, "the servers have what is taken", func() bool {
		nodes, err := books[0].Used(context.Background(), u.What, u.Name)
		return err == nil && int64(total(nodes)) == taken.Load()
	})
	if done.Load() == 0 || failed.Load() == 0 {
		t.Error("the cuts have no effect, or nothing else")
	}
	t.Logf("%d calls have taken, %d had no answer in time, %d are taken", done.Load(), failed.Load(), taken.Load())
}
