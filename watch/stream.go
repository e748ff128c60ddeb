package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/term"
)

// A merger writes the lines of several streams into one. A line that a slow browser does not take holds up the process
// that has sent it, which then skips to its newest frame: nothing is queued here.
type merger struct {
	mu sync.Mutex // guards w
	w  http.ResponseWriter
}

// line writes {"p":process,name:value}. It fails when the browser is gone.
func (m *merger) line(process, name string, value json.RawMessage) error {
	key, _ := json.Marshal(process) // a string has no error
	m.mu.Lock()
	defer m.mu.Unlock()
	text := append(append(append([]byte(`{"p":`), key...), `,"`...), name...)
	text = append(append(append(text, `":`...), value...), "}\n"...)
	if _, err := m.w.Write(text); err != nil {
		return err
	}
	return http.NewResponseController(m.w).Flush()
}

// stream passes on the streams of the processes: of all sessions, or of one with p and session in the query.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	query, path := r.URL.Query(), httpserve.WatchPath
	one := query.Get("p")
	if one == "" && s.o.Processes.All() {
		s.streamAll(ctx, w)
		return
	}
	var all client.Processes
	var err error
	if one != "" {
		path += "?session=" + url.QueryEscape(query.Get("session"))
		var p *client.Process
		if p, err = s.dial(ctx, one); err == nil {
			all = client.Processes{p}
		}
	} else {
		if all, _, err = client.Connect(ctx, s.o.Processes); term.KindOf(err) == term.ConnectFailed {
			err = term.Errorf(term.ConnectFailed, "the ptyctl that this page shows has ended, or does not answer; for another "+
				"one start ptyctl watch again (--all shows those that begin later, too)")
		}
	}
	if err != nil {
		failWith(w, err)
		return
	}
	defer all.Close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	m := &merger{w: w}
	var streams sync.WaitGroup
	for _, p := range all {
		s.remember(p)
		if one == "" {
			streams.Go(func() { m.questions(ctx, p) })
		}
		streams.Go(func() {
			if m.follow(ctx, p, path) {
				stop()
			}
		})
	}
	streams.Wait()
}

// remember notes that there is a process.
func (s *Server) remember(p *client.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[keyOf(p.Socket)] = p.Socket
}

// follow passes on the stream of one process. ended reports that it has had one, or that the browser is gone: then all
// streams end, and the page asks again for the list of processes.
func (m *merger) follow(ctx context.Context, p *client.Process, path string) (ended bool) {
	key := keyOf(p.Socket)
	body, err := streamOf(ctx, p, path)
	if err != nil {
		text, _ := json.Marshal(older(p.Socket, err)) // a string has no error
		return ctx.Err() == nil && m.line(key, "down", text) != nil
	}
	defer body.Close()
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil || m.line(key, "m", text[:len(text)-1]) != nil {
			return true
		}
	}
}

// streamOf opens the stream of a process. Programs that the process has started are refused.
func streamOf(ctx context.Context, p *client.Process, path string) (io.ReadCloser, error) {
	if err := MayWatch(ctx, p); err != nil {
		return nil, err
	}
	return p.Stream(ctx, path)
}

// older says why a process has no stream.
func older(at control.Socket, err error) string {
	return "ptyctl " + keyOf(at) + " cannot be watched; it may be older than this one: " + err.Error()
}
