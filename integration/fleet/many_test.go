package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// Two hundred and one hosts of 41 servers, six of them in trouble: the answer is true for each of them, and short.
// BenchmarkFleetTrouble measures the same with a flood of 1 GiB.
func TestTwoHundredHosts(t *testing.T) {
	t.Parallel()
	const (
		odd, hangs, floods, rekeyed, refuses = 6, 17, 42, 99, 133
		dies                                 = 200 // the only host of the last server

		flood = 30_000_000
		limit = 30_000 // milliseconds for each host; the flood must have come on a busy machine, too
	)
	r := lab.NewRack(t, 201, 5)
	began := filepath.Join(r.Dir, "began")
	r.Does(t, odd, "sed s/1.24/1.18/ same; exit")
	r.Does(t, hangs, "sleep 60 & wait")
	r.Does(t, floods, fmt.Sprintf("head -c %d /dev/zero; exit 2", flood))
	r.Does(t, dies, ": > "+began+"; sleep 60 & wait")
	r.Rekey(t, rekeyed)
	r.Refuses(t, refuses)
	c := connect(t, r)
	done := make(chan answer)
	go func() {
		lab.Eventually(t, "the command on the host that dies", func() bool {
			_, err := os.Stat(began)
			return err == nil
		})
		r.Server(dies).Stop(t)
	}()
	go func() {
		defer close(done)
		done <- call(t, c, `{"action":"run","hosts":%s,"cmd":%s,"timeout_ms":%s}`,
			[]string{r.Name(dies), r.Name(floods), r.Hosts()}, r.Command, limit)
	}()
	a, ok := <-done
	if !ok {
		t.FailNow()
	}
	if len(a.text) > 2000 {
		t.Errorf("the answer has %d bytes, want at most 2,000:\n%s", len(a.text), a.text)
	}
	if a.Hosts != 201 || len(a.Groups) != 3 || a.Groups[0].N != 195 || a.Groups[0].Stdout != strings.TrimSuffix(r.Same, "\n") {
		t.Fatalf("the answer of 201 hosts is %s; want 195 alike, and two others", a.text)
	}
	for _, g := range a.Groups[1:] {
		switch g.Hosts {
		case r.Name(odd):
			if !strings.Contains(g.StdoutDiff, "-nginx 1.24") || !strings.Contains(g.StdoutDiff, "+nginx 1.18") || g.ExitCode != 0 {
				t.Errorf("the host with another file: %+v; want the difference", g)
			}
		case r.Name(floods):
			if g.ExitCode != 2 || !g.Truncated || g.Bytes != flood {
				t.Errorf("the host that floods: %+v; want exit 2, and %d bytes that are not all there", g, flood)
			}
		default:
			t.Errorf("the group of %s was not expected: %+v", g.Hosts, g)
		}
	}
	for code, want := range map[string]struct {
		host  int
		words string
	}{
		"timeout":          {hangs, "no end within 30s"},
		"hostkey_mismatch": {rekeyed, "never reached: known_hosts has another key"},
		"connection_lost":  {dies, "midway: exit code unknown"},
		"connect_failed":   {refuses, "never reached: tcp: connection refused"},
	} {
		if hosts, reason := a.failure(code); hosts != r.Name(want.host) || !strings.Contains(reason, want.words) {
			t.Errorf("%s: %q, %q; want %s, %q", code, hosts, reason, r.Name(want.host), want.words)
		}
	}
	if res := c.Call(t, lab.ToolIO, `{"action":"read","fleet_id":%s,"host":%s}`, a.FleetID, r.Name(odd)); res.Chunk !=
		strings.Replace(r.Same, "1.24", "1.18", 1) || !res.EOF {
		t.Errorf("the output of one host is %q, %t; want its own, and its end", res.Chunk, res.EOF)
	}
	r.Does(t, hangs, "")
	if again := call(t, c, `{"action":"run","fleet_id":%s,"only":"failed","timeout_ms":%s}`, a.FleetID, limit); again.Hosts != 5 ||
		len(again.Groups) != 2 {
		t.Errorf("the run on those that failed: %s; want the 5 without exit code 0", again.text)
	}
}
