package watch

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/mcpapi/httpserve"
)

// rejoin is the time from the end of a stream until its process is asked for another: mostly the process has ended.
const rejoin = time.Second

// A crowd is every process of the user, for one stream: those that begin later join it, and those that end leave it.
type crowd struct {
	server *Server
	to     *merger
	gone   chan string // gets the key of a process when its stream has ended
	follow sync.WaitGroup

	// The following belong to the goroutine of the stream.
	members map[string]context.CancelFunc // by their key; each says that the socket of one is gone
	told    []string                      // keys, as the page has them
}

// streamAll passes on the streams of all processes, until the browser is gone. The page gets the keys of the running
// processes as {"p":"","all":[...]}, at first and when they have changed.
func (s *Server) streamAll(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	c := &crowd{
		server: s, to: &merger{w: w}, gone: make(chan string), members: make(map[string]context.CancelFunc),
	}
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		c.follow.Wait()
	}()
	var changed <-chan struct{}
	coming, err := control.NewComing(s.o.Processes.Configured)
	if err != nil { // then those that are there now are shown, and others when one of them ends
		s.o.Logger.Warn("processes that begin later are not noticed", "error", err)
	} else {
		defer coming.Close()
		changed = coming.C
	}
	later := time.NewTimer(0)
	defer later.Stop()
	for {
		select {
		case <-later.C:
			c.join(ctx)
		case <-changed:
			c.join(ctx)
		case key := <-c.gone:
			delete(c.members, key)
			later.Reset(rejoin)
		case <-ctx.Done():
			return
		}
		if c.tell() != nil {
			return
		}
	}
}

// join begins to follow the processes that are not followed yet, and drops those without a socket. A process that does
// not answer is asked again when the next one begins or ends.
func (c *crowd) join(ctx context.Context) {
	sockets, err := c.server.o.Processes.Sockets()
	if err != nil {
		c.server.o.Logger.Warn("the processes are not known", "error", err)
	}
	found := make(client.Processes, len(sockets))
	var dialing sync.WaitGroup
	left := maps.Clone(c.members)
	for i, at := range sockets {
		delete(left, keyOf(at))
		if c.members[keyOf(at)] == nil {
			dialing.Go(func() { found[i], _ = client.Dial(ctx, at, c.server.o.Processes.Options) })
		}
	}
	dialing.Wait()
	for _, leave := range left {
		leave()
	}
	for _, p := range found {
		if p == nil {
			continue
		}
		c.server.remember(p)
		there, leave := context.WithCancel(ctx)
		c.members[keyOf(p.Socket)] = leave
		c.follow.Go(func() {
			defer leave()
			c.pass(ctx, there, p)
		})
	}
}

// pass passes on one process, until it ends or the browser is gone. One that cannot be watched is named once, and stays
// for as long as its socket is there.
func (c *crowd) pass(ctx, there context.Context, p *client.Process) {
	defer p.Close()
	asks, enough := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { c.to.questions(asks, p) })
	if !c.to.follow(ctx, p, httpserve.WatchPath) {
		<-there.Done()
	}
	enough()
	asking.Wait()
	select {
	case c.gone <- keyOf(p.Socket):
	case <-ctx.Done():
	}
}

// tell sends the keys of the processes, if they have changed. It fails when the browser is gone.
func (c *crowd) tell() error {
	keys := slices.AppendSeq(make([]string, 0, len(c.members)), maps.Keys(c.members))
	slices.Sort(keys)
	if c.told != nil && slices.Equal(keys, c.told) {
		return nil
	}
	c.told = keys
	text, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return c.to.line("", "all", text)
}
