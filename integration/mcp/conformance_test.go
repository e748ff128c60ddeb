package mcp

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/identity"
	"ptyctl/session"
)

// revisions are those that the conformance suite has a frozen set of requirements for.
var revisions = []string{"2025-11-25", "2026-07-28"}

// TestConformance runs the official suite against ptyctl's server, plus the tools, resources and prompts that the suite
// calls by name. The known failures and their reasons are in node/conformance-*.yml; a listed check that passes fails
// the test.
func TestConformance(t *testing.T) {
	node := installedNode(t)
	url := serveFixtures(t)
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			node.conformance(
				t,
				url,
				"--requirements",
				revision,
				"--expected-failures",
				absolute(t, filepath.Join("node", "conformance-"+revision+".yml")),
			)
		})
	}
}

// TestConformanceOfPtyctl has the suite judge the program itself. It has no fixtures, and fails the cases that need
// one: node/conformance-ptyctl-*.yml lists those. Everything else in the requirements must pass.
func TestConformanceOfPtyctl(t *testing.T) {
	node := installedNode(t)
	_, url := lab.NewHome(t).StartHTTP(t)
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			node.conformance(
				t,
				url,
				"--requirements",
				revision,
				"--expected-failures",
				absolute(t, filepath.Join("node", "conformance-ptyctl-"+revision+".yml")),
			)
		})
	}
}

// conformance runs the suite against a server, and fails the test if it does. The suite waits for some events for half
// a second, which a busy machine may need for a request: what fails is run again, twice. A fault of the server's fails
// each time.
func (n nodePackages) conformance(t *testing.T, url string, args ...string) {
	t.Helper()
	args = append([]string{"server", "--url", url}, args...)
	for left := 2; ; left-- {
		out, err := n.command(t, "conformance", args...).CombinedOutput()
		if err == nil {
			return
		}
		if left == 0 {
			t.Errorf("conformance %v: %v\n%s", args, err, lab.Tail(string(out), 16<<10))
			return
		}
		t.Logf("conformance %v: %v; %d more\n%s", args, err, left, lab.Tail(string(out), 2<<10))
	}
}

// serveFixtures serves the fixtures over HTTP, as ptyctl serves its tools, until the test ends.
func serveFixtures(tb testing.TB) (url string) {
	tb.Helper()
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{}), Results: identity.Full})
	addFixtures(srv.Protocol().MCPServer)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- httpserve.New(srv, httpserve.Options{}).Serve(ctx, ln) }()
	tb.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return "http://" + ln.Addr().String() + httpserve.Path
}

// absolute returns a path of this folder for a program that runs in another one.
func absolute(tb testing.TB, path string) string {
	tb.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
