package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// A follower is a stream of the page's server, as the page reads it.
type follower struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Reader
	taken int            // bytes
	full  map[string]int // full frames, by session
	shown map[string]map[string]string
}

// visit exchanges the ticket of a link.
func visit(t *testing.T, link string) (base, token string) {
	t.Helper()
	base, fragment, _ := strings.Cut(link, "/#")
	given, err := url.ParseQuery(fragment)
	if err != nil {
		t.Fatal(err)
	}
	status, text, _ := ask(t, http.MethodPost, base+"/api/login", `{"ticket":"`+given.Get("ticket")+`"}`,
		"Origin", base, "Content-Type", "application/json")
	var answer struct{ Token string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Token == "" {
		t.Fatalf("the ticket = %d %s, want a token", status, text)
	}
	return base, answer.Token
}

// follow opens a stream, until leave is called. One that is slow has a small buffer in the system.
func follow(t *testing.T, base, token string, slow bool) (f *follower, leave func()) {
	t.Helper()
	var dialer net.Dialer
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok && slow {
				err = tcp.SetReadBuffer(256 << 10)
			}
			return conn, err
		},
	}}
	ctx, stop := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	f = &follower{t: t, body: res.Body, full: make(map[string]int), shown: make(map[string]map[string]string)}
	f.lines = bufio.NewReader(res.Body)
	leave = func() {
		stop()
		_ = res.Body.Close()
		client.CloseIdleConnections()
	}
	t.Cleanup(leave)
	return f, leave
}

// until reads until the screens of all sessions show a text.
func (f *follower) until(ids []string, text string) {
	f.t.Helper()
	over := time.AfterFunc(lab.Patience, func() { _ = f.body.Close() })
	defer over.Stop()
	for missing := ids; ; {
		var rest []string
		for _, id := range missing {
			if !f.shows(id, text) {
				rest = append(rest, id)
			}
		}
		if missing = rest; len(missing) == 0 {
			return
		}
		f.line(missing, text)
	}
}

// line takes one line.
func (f *follower) line(missing []string, text string) {
	f.t.Helper()
	line, err := f.lines.ReadBytes('\n')
	if err != nil {
		f.t.Fatalf("the stream ended with %v before %d sessions showed %q, among them %s: %v",
			err, len(missing), text, missing[0], f.shown[missing[0]])
	}
	f.taken += len(line)
	var got struct {
		M struct {
			Screen *struct {
				S string
				P struct {
					Full bool
					L    map[string]json.RawMessage
				}
			}
		}
	}
	if err := json.Unmarshal(line, &got); err != nil {
		f.t.Fatalf("the line %s is no JSON: %v", line, err)
	}
	s := got.M.Screen
	if s == nil {
		return
	}
	if s.P.Full {
		f.full[s.S]++
		delete(f.shown, s.S)
	}
	if f.shown[s.S] == nil {
		f.shown[s.S] = make(map[string]string)
	}
	for row, parts := range s.P.L {
		f.shown[s.S][row] = string(parts)
	}
}

func (f *follower) shows(id, text string) bool {
	for _, row := range f.shown[id] {
		if strings.Contains(row, text) {
			return true
		}
	}
	return false
}

// connections counts the open sockets of a process.
func connections(t *testing.T, pid int) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink(dir + "/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// Forty sessions are watched by twenty. One that comes late gets each screen once, as it is. One that does not read
// while megabytes pass costs no memory, and skips to the newest frame. Those that vanish leave nothing.
func TestManyWatchers(t *testing.T) {
	const sessions, watchers, slow, floods = 40, 20, 5, 4
	h := lab.NewHome(t)
	c := h.Connect(t)
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = openLocal(t, c, "sh", "-c", "stty -echo; echo be''gun; while read x; do eval \"$x\"; done")
	}
	types := func(id, line string) {
		t.Helper()
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id, line+"\r")
	}
	p := startPage(t, h)
	base, token := visit(t, p.link())
	first, leave := follow(t, base, token, false)
	first.until(ids, "begun")
	for _, id := range ids[:floods] {
		types(id, "seq 1 300000; echo warm-up") // their buffers are full from here on
	}
	first.until(ids[:floods], "warm-up")
	before := connections(t, c.PID)
	pagesBefore := connections(t, p.cmd.Process.Pid)
	var leaves []func()
	all := []*follower{first}
	for i := 1; i < watchers; i++ {
		f, leave := follow(t, base, token, i <= slow)
		leaves, all = append(leaves, leave), append(all, f)
	}
	for _, f := range all[1:] {
		f.until(ids[floods:], "begun")
	}
	for i, f := range all[1:] {
		for _, id := range ids {
			if f.full[id] > 1 {
				t.Errorf("watcher %d, who came late, gets %d full frames of %s, want one", i+1, f.full[id], id)
			}
		}
	}
	lab.Eventually(t, "all watchers are there", func() bool { return connections(t, c.PID) >= before+watchers-1 })
	memory := map[int]int64{c.PID: peak(t, c.PID), p.cmd.Process.Pid: peak(t, p.cmd.Process.Pid)}
	for _, id := range ids[:floods] {
		types(id, "seq 1 2000000; echo all-done") // 14,888,896 bytes
	}
	for _, f := range all[slow+1:] {
		f.until(ids[:floods], "all-done")
	}
	for pid, was := range memory {
		if grown := peak(t, pid) - was; grown > 48<<20 {
			t.Errorf("process %d has grown by %d bytes while 60 MB passed %d watchers, want at most 48 MiB", pid, grown, watchers)
		}
	}
	for _, f := range all[1 : slow+1] {
		had := f.taken
		f.until(ids[:floods], "all-done")
		if took := f.taken - had; took > 2<<20 {
			t.Errorf("a watcher that did not read gets %d bytes of the flood of 60 MB, want no more than lay in the sockets", took)
		}
	}
	for _, id := range ids {
		types(id, "echo to-all")
	}
	for _, f := range all {
		f.until(ids, "to-all")
	}
	for _, leave := range leaves {
		leave()
	}
	lab.Eventually(t, "those that vanish leave no connection", func() bool {
		return connections(t, c.PID) <= before && connections(t, p.cmd.Process.Pid) <= pagesBefore
	})
	types(ids[0], "echo the first stays")
	first.until(ids[:1], "the first stays")
	leave()
}
