package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
)

// asked sends a line to a server with these options, and returns its answer.
func asked(t *testing.T, o Options, line string) (answer string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		s := NewServer(o)
		s.started = time.Unix(1767366245, 0).UTC()
		go func() { ended <- s.Run(ctx, l) }()
		near, far := bufpipe.New(1 << 16)
		l.conns <- far
		if _, err := io.WriteString(near, line+"\n"); err != nil {
			t.Fatal(err)
		}
		var err error
		if answer, err = bufio.NewReader(near).ReadString('\n'); err != nil {
			t.Fatalf("the answer to %s is %q, %v; want a line", line, answer, err)
		}
		_ = near.Close()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v after the end of its context, want nil", err)
		}
	})
	return answer
}

// The request list and its answer have one form in all versions: this test must not change.
func TestListForm(t *testing.T) {
	o := Options{
		Build: "1.4.0",
		Listed: func() []Listed {
			return []Listed{
				{"web1-k3f9q2zd", "ssh", "web1", "open", 1767366245000, 1767366246000, "agent", "/srv", true},
				{SessionID: "sh-x7m2p4qa", Protocol: "local", State: "open", Created: 1, Folder: "\xff"},
			}
		},
		Shown: func(token string) error {
			if token != "token" {
				return errors.New("it needs the token")
			}
			return nil
		},
	}
	const begin = `{"ptyctl_daemon":1,"build":"1.4.0","pid":%d,"started":"2026-01-02T15:04:05Z",`
	for line, want := range map[string]string{
		`{"ptyctl_daemon":99,"ask":"list","token":"token"}`: begin + `"sessions":[` +
			`{"session_id":"web1-k3f9q2zd","protocol":"ssh","host":"web1","state":"open","created_at":1767366245000,` +
			`"orphaned_since":1767366246000,"program":"agent","folder":"/srv","any":true},` +
			`{"session_id":"sh-x7m2p4qa","protocol":"local","state":"open","created_at":1,"folder":["/w=="]}]}`,
		`{"ptyctl_daemon":99,"ask":"list"}`: begin + `"refused":"it needs the token"}`,
	} {
		if got := asked(t, o, line); got != fmt.Sprintf(want, os.Getpid())+"\n" {
			t.Errorf("the answer to %s is %s, want %s", line, got, want)
		}
	}
}

// A list that does not fit on a line is cut.
func TestListTooLong(t *testing.T) {
	o := Options{Listed: func() []Listed {
		all := make([]Listed, 400)
		for i := range all {
			all[i].Folder = Octets(strings.Repeat("f", 4096))
		}
		return all
	}}
	var l Listing
	if err := json.Unmarshal([]byte(asked(t, o, `{"ask":"list"}`)), &l); err != nil || len(l.Sessions) != 200 || !l.More {
		t.Errorf("the list has %d of 400 sessions, more %t, %v; want 200, true", len(l.Sessions), l.More, err)
	}
}

// The names of the files say which daemons have the same configuration and another protocol.
func TestKin(t *testing.T) {
	for name, want := range map[string]int{
		"d-1-abc": 1, "d-12-abc": 12, "d-0-abc": 0, "d-01-abc": 0, "d--abc": 0, "d-1-": 0, "d-1": 0, "x-1-abc": 0, "7": 0,
	} {
		if n, _, ok := parse(name); ok != (want > 0) || ok && n != want {
			t.Errorf("parse(%q) = %d, %t, want %d", name, n, ok, want)
		}
	}
}
