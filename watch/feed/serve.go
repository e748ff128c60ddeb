package feed

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// A hello is the first line of a stream.
type hello struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Mode    string `json:"mode"` // see Options.Mode
	Now     int64  `json:"now"`  // Unix ms
}

// ServeHTTP streams to one watcher until the request's context ends.
func (f *Feed) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		rw.Header().Set("Allow", http.MethodGet)
		http.Error(rw, "use GET", http.StatusMethodNotAllowed)
		return
	}
	w := f.newWatcher(r.URL.Query().Get("session"))
	defer f.join(w)()
	rw.Header().Set("Content-Type", "application/x-ndjson")
	rw.Header().Set("Cache-Control", "no-store")
	mode := ""
	if f.o.Mode != nil {
		mode = f.o.Mode(r.Context())
	}
	out := appendLine(nil, "hello", hello{os.Getpid(), f.o.Version, mode, time.Now().UnixMilli()})
	flusher := http.NewResponseController(rw)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		began := time.Now()
		changed := w.take(began)
		for _, id := range slices.Sorted(maps.Keys(changed)) {
			out = w.look(out, id, changed[id], began)
		}
		drawn := time.Since(began)
		if len(out) > 0 {
			if _, err := rw.Write(out); err != nil {
				return
			}
			if err := flusher.Flush(); err != nil {
				return
			}
		}
		if out = out[:0]; cap(out) > 1<<20 {
			out = nil
		}
		// Drawing takes at most a quarter of the time, however large the screens are.
		timer.Reset(max(least-time.Since(began), 3*drawn))
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		if !w.rest(r, timer) {
			return
		}
	}
}

// rest waits for a change. It returns false when the watcher is gone.
func (w *watcher) rest(r *http.Request, timer *time.Timer) bool {
	var due <-chan time.Time
	if len(w.again) > 0 {
		next := slices.MinFunc(slices.Collect(maps.Values(w.again)), time.Time.Compare)
		timer.Reset(max(0, time.Until(next)))
		due = timer.C
	}
	select {
	case <-w.wake:
		return true
	case <-due:
		return true
	case <-r.Context().Done():
		return false
	}
}

// appendLine appends {"name":value} and a line feed.
func appendLine(dst []byte, name string, value any) []byte {
	dst = append(append(append(dst, `{"`...), name...), `":`...)
	return append(appendJSON(dst, value), "}\n"...)
}

func appendJSON(dst []byte, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // of a value that is not ours
		return append(dst, "null"...)
	}
	return append(dst, text...)
}

// An info is a session as watchers get it.
type info struct {
	ID       string   `json:"id"`
	Protocol string   `json:"protocol"`
	Host     string   `json:"host"`
	User     string   `json:"user,omitempty"`
	Device   string   `json:"device,omitempty"`
	State    string   `json:"state"`
	End      string   `json:"end,omitempty"`
	Created  int64    `json:"created"` // as all times, in Unix milliseconds
	Cols     int      `json:"cols,omitempty"`
	Rows     int      `json:"rows,omitempty"`
	PTY      bool     `json:"pty,omitempty"`
	Typed    bool     `json:"typed,omitempty"` // something was typed
	Output   bool     `json:"output,omitempty"`
	Running  []string `json:"running,omitempty"` // commands
	Holder   string   `json:"holder,omitempty"`
	Person   bool     `json:"person,omitempty"` // the holder is one
	Epoch    uint64   `json:"epoch,omitempty"`  // of the lock
	Expires  int64    `json:"expires,omitempty"`
	Owner    string   `json:"owner,omitempty"`
	Asks     *asks    `json:"asks,omitempty"`
}

// asks is a question.
type asks struct {
	Login bool   `json:"login,omitempty"` // of a login, which only an answer ends
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Who   string `json:"who,omitempty"`
	Echo  bool   `json:"echo,omitempty"` // the answer may be seen
}

func infoOf(s *session.Session) info {
	i := s.Info()
	out := info{
		ID: i.ID, Protocol: i.Protocol, Host: i.Host, User: i.User, Device: i.Device, State: string(i.State),
		End: i.End.Reason, Created: i.Created.UnixMilli(), Cols: i.PTY.Cols, Rows: i.PTY.Rows,
		PTY: !i.PTY.Disabled && i.About.NoTerminal == "", Typed: i.Typed, Output: i.BytesIn > 0, Running: i.Running,
		Owner: i.Owner.Principal.Shim,
	}
	if l := i.Lease; l != nil {
		out.Holder, out.Person, out.Epoch = l.Holder.String(), l.Holder.Attached(), l.Epoch
		out.Expires = l.Expires.UnixMilli()
	}
	switch q := i.Prompt; {
	case q != nil:
		who := q.Host
		if q.User != "" {
			who = q.User + "@" + who
		}
		out.Asks = &asks{Login: true, Kind: string(q.Kind), Text: q.Text, Who: who, Echo: q.Echo}
	case i.State == session.Open:
		if w := s.Waiting(); w != nil && asksPerson(w) {
			out.Asks = &asks{Kind: w.Kind, Text: w.Text}
		}
	}
	return out
}

// asksPerson reports whether a question may need a person.
func asksPerson(w *term.Waiting) bool {
	switch w.Kind {
	case "password", "yes_no", "login", "host_key":
		return true
	}
	return false
}
