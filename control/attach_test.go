//go:build unix

package control

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/session"
)

// serveAt serves an empty ptyctl at a socket until the test ends.
func serveAt(tb testing.TB, l net.Listener, o httpserve.Options) {
	tb.Helper()
	m := session.NewManager(session.Config{})
	o.Transport = "socket"
	h := httpserve.New(mcpapi.NewServer(mcpapi.Options{Sessions: m}), o)
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := h.Serve(ctx, l); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		stop()
		serving.Wait()
		m.Close(context.Background())
	})
}

// A client can call tools after Attach. Each attached client is another person, and a
// token is still sent. A server without attachments is an error, after which the client
// still works.
func TestAttach(t *testing.T) {
	for name, test := range map[string]struct {
		o     httpserve.Options
		token string
		want  string // of the error
	}{
		"a person": {httpserve.Options{Operator: true}, "", ""},
		"with a token": {httpserve.Options{
			Operator: true,
			Tokens:   []httpserve.Token{{Name: "control", Value: "token-of-1138"}},
		}, "token-of-1138", ""},
		"an older peer": {httpserve.Options{}, "", "server too old"},
	} {
		t.Run(name, func(t *testing.T) {
			path := place(t)
			serveAt(t, listen(t, path), test.o)
			c, err := Dial(t.Context(), path, Options{Token: test.token})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			switch err := c.Attach(t.Context(), "root"); {
			case test.want == "" && err != nil:
				t.Fatalf("Attach = %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("Attach = %v, want an error that says %q", err, test.want)
			}
			proof := c.rt.proof.Load()
			if (proof == nil) != (test.want != "") {
				t.Errorf("the client has the proof %v", proof)
			}
			if err := c.Call(t.Context(), "ptyctl_session", map[string]string{"action": "list"}, nil); err != nil {
				t.Errorf("a call afterwards: %v", err)
			}
			if proof == nil {
				return
			}
			if err := c.Attach(t.Context(), "root"); err != nil || *c.rt.proof.Load() == *proof {
				t.Errorf("a second Attach = %v; its proof must be another", err)
			}
		})
	}
}

// A server in the same process has no other clients.
func TestAttachWithin(t *testing.T) {
	m := session.NewManager(session.Config{})
	defer m.Close(context.Background())
	c, err := Within(t.Context(), mcpapi.NewServer(mcpapi.Options{Sessions: m}).Protocol().MCPServer, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Attach(t.Context(), "root"); err == nil {
		t.Error("Attach within one process = nil, want an error")
	}
}
