package client_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/control"
	"ptyctl/internal/app/apptest"
	"ptyctl/internal/client"
)

// connect connects to the app at a socket.
func connect(t *testing.T, socket string) client.Processes {
	t.Helper()
	all, unreached, err := client.Connect(
		t.Context(), client.Options{Path: socket, Options: control.Options{Version: "test"}},
	)
	if err != nil || unreached != nil {
		t.Fatalf("Connect(%q) = %v, %v; want no error", socket, unreached, err)
	}
	t.Cleanup(all.Close)
	return all
}

// open opens a local session.
func open(t *testing.T, p *client.Process, argv ...string) string {
	t.Helper()
	var out struct {
		SessionID string `json:"session_id"`
	}
	call := map[string]any{"action": "open", "protocol": "local", "argv": argv}
	if err := p.Call(t.Context(), client.ToolSession, call, &out); err != nil {
		t.Fatalf("open %q: %v", argv, err)
	}
	return out.SessionID
}

func TestFind(t *testing.T) {
	all := connect(t, apptest.Start(t))
	cat, other, sh := open(t, all[0], "cat"), open(t, all[0], "cat"), open(t, all[0], "sh")
	for id, want := range map[string]string{
		cat:                  cat,
		other:                other,
		sh:                   sh,
		"sh-":                sh,
		cat[:len(cat)-1]:     cat, // the beginnings of the two may differ in their last letter alone
		other[:len(other)-1]: other,
	} {
		if strings.HasPrefix(cat, id) && strings.HasPrefix(other, id) {
			continue
		}
		s, err := all.Find(t.Context(), id)
		if err != nil || s.SessionID != want || s.Process != all[0] || s.Protocol != "local" {
			t.Errorf("Find(%q) = %+v, %v; want session %s", id, s, err, want)
		}
	}
	for id, want := range map[string]string{
		"cat-":         "is the beginning of",
		"nothing":      "there is no session nothing",
		"\x1b[2Jthing": "there is no session thing",
	} {
		if s, err := all.Find(t.Context(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%q) = %+v, %v; want an error with %q", id, s, err, want)
		}
	}
}

func TestConnect(t *testing.T) {
	socket := apptest.Start(t)
	missing := filepath.Join(t.TempDir(), "none.sock")
	own := filepath.Join(t.TempDir(), "run") // with no socket; one that is open to others would be passed over
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", own)
	tests := []struct {
		o    client.Options
		want []string // paths
		err  string
	}{
		{client.Options{Path: socket}, []string{socket}, ""},
		{client.Options{Configured: socket}, []string{socket}, ""},
		{client.Options{Configured: missing}, nil, "no ptyctl of yours is running"},
		{client.Options{}, nil, "no ptyctl of yours is running"},
		{client.Options{Path: missing}, nil, missing},
		{client.Options{Path: missing, Configured: socket}, nil, missing}, // Path is the only one that is meant
	}
	for _, tt := range tests {
		all, unreached, err := client.Connect(t.Context(), tt.o)
		var paths []string
		for _, p := range all {
			paths = append(paths, p.Path)
		}
		if !slices.Equal(paths, tt.want) || unreached != nil || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Connect(%+v) = %q, %v, %v; want %q, nil, %q", tt.o, paths, unreached, err, tt.want, tt.err)
		}
		all.Close()
	}
}

func TestOne(t *testing.T) {
	first := &client.Process{Socket: control.Socket{PID: 17, Path: "/run/17.sock"}}
	second := &client.Process{Socket: control.Socket{Path: "/run/second.sock"}}
	if p, err := (client.Processes{first}).One(""); p != first || err != nil {
		t.Errorf("One of one = %v, %v; want it", p, err)
	}
	p, err := (client.Processes{first, second}).One(", or take --all")
	want := "2 ptyctl processes run (17, /run/second.sock); choose one with --pid or --socket, or take --all"
	if p != nil || err == nil || err.Error() != want {
		t.Errorf("One of two = %v, %v; want %q", p, err, want)
	}
}

// Status must count the sessions, and read the metrics without their buckets.
func TestStatus(t *testing.T) {
	p := connect(t, apptest.Start(t))[0]
	id := open(t, p, "cat")
	lock := client.SessionCall{Action: "lock", SessionID: id, TaskID: "a", LockTTL: 60_000}
	if err := p.Call(t.Context(), client.ToolSession, lock, nil); err != nil {
		t.Fatal(err)
	}
	s, err := p.Status(t.Context())
	if err != nil || s.Sessions["open"] != 1 || s.Locked != 1 || s.Asking != 0 {
		t.Errorf("Status = %+v, %v; want one open session, which is locked", s, err)
	}
	if len(s.Metrics) == 0 {
		t.Error("Status has no metrics")
	}
	for name := range s.Metrics {
		if !strings.HasPrefix(name, "ptyctl_") || strings.Contains(name, "_bucket") {
			t.Errorf("Status has the metric %q", name)
		}
	}
	if q, err := (client.Processes{p}).Questions(t.Context()); len(q) != 0 || err != nil {
		t.Errorf("Questions = %+v, %v; want none", q, err)
	}
}

// A stuck process must not block the others.
func TestDialEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if p, err := client.Dial(ctx, control.Socket{Path: apptest.Start(t)}, control.Options{}); err == nil {
		p.Close()
		t.Error("Dial with a context that has ended = nil, want an error")
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		text, encoding, want string
		ok                   bool
	}{
		{"abc", "", "abc", true},
		{"abc", "utf-8", "abc", true},
		{"/wA=", "base64", "\xff\x00", true},
		{"?", "base64", "", false},
	} {
		got, err := client.Decode(tt.text, tt.encoding)
		if string(got) != tt.want || (err == nil) != tt.ok {
			t.Errorf("Decode(%q, %q) = %q, %v; want %q", tt.text, tt.encoding, got, err, tt.want)
		}
	}
}
