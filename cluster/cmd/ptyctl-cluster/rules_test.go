package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
)

// sessionsOn opens a session on each of the nodes, and returns their ids by node. far1 is served from a alone, and far2 from b.
func sessionsOn(tb testing.TB, c *caller) map[string]string {
	tb.Helper()
	ids := make(map[string]string)
	for host, node := range map[string]string{"far1": "a", "far2": "b"} {
		r := c.call(map[string]any{"action": "open", "protocol": "ssh", "host": host})
		if r.State == "connecting" { // a node that waits for 100 ms, on a busy machine
			natstest.Eventually(tb, "the session is open", func() bool {
				r.State = c.call(map[string]any{"action": "status", "session_id": r.SessionID}).Session.State
				return r.State != "connecting"
			})
		}
		if r.State != "open" || peers.NodeOf(r.SessionID) != node {
			tb.Fatalf("open of %s = %s, want a session on %s", host, r.text, node)
		}
		ids[node] = r.SessionID
	}
	return ids
}

var judgedLine = regexp.MustCompile(`(?m)^ptyctl_cluster_judged_total (\d+)$`)

// judged returns how often a node has asked others about actions.
func judged(tb testing.TB, s *served) int {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/metrics", nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+opsToken)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		tb.Fatal(err)
	}
	found := judgedLine.FindSubmatch(text)
	if found == nil {
		tb.Fatalf("the metrics do not say how often other nodes were asked:\n%s", text)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// reload gives a node another configuration.
func (s *served) reload(tb testing.TB, lines string) {
	tb.Helper()
	file := s.cmd.Args[len(s.cmd.Args)-1]
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		tb.Fatal(err)
	}
	natstest.Eventually(tb, "the node has its new rules", func() bool {
		return strings.Contains(s.log.String(), "the configuration was reloaded")
	})
}

// TestRulesOfBothNodes: a call is judged by the rules of the node of its client and by those of the node of its session.
// Where they are the same, neither asks the other.
func TestRulesOfBothNodes(t *testing.T) {
	t.Parallel()
	const rules = "[policy]\ndeny = [\"frobnicate\"]\n"
	url, host := natstest.Start(t, 1)[0].URL, sshHost(t, "accept_new")
	conf := func(node string) string {
		return host + httpLines(t, node, url, `labels = ["node=`+node+`"]`, `place = ["node=a@far1", "node=b@far2"]`)
	}
	plain := conf("b")
	a, b := serve(t, rules+conf("a")), serve(t, plain)
	atA, atB := a.dial(t, opsToken), b.dial(t, opsToken)
	ids := sessionsOn(t, atA)
	run := func(at *caller, on, command string) result {
		t.Helper()
		return at.tool("ptyctl_session_exec", map[string]any{"session_id": ids[on], "cmd": command})
	}
	for _, at := range []*caller{atA, atB} {
		for on := range ids {
			if r := run(at, on, "echo here"); r.Stdout != "here\n" {
				t.Errorf("a command that no rule denies, on %s = %s", on, r.text)
			}
		}
	}
	theirs := "by the rules of node a, to which the client is connected: the operator's rule policy.deny \"frobnicate\""
	if r := run(atA, "b", "frobnicate"); r.ErrorCode != "POLICY_DENIED" || !strings.Contains(r.Message, theirs) {
		t.Errorf("at a, on b: a command that the rules of a deny = %s", r.text)
	}
	for name, at := range map[string]*caller{"a": atA, "b": atB} {
		if r := run(at, "a", "frobnicate"); r.ErrorCode != "POLICY_DENIED" || strings.Contains(r.Message, "of node") {
			t.Errorf("at %s, on a: a command that the rules of a deny = %s", name, r.text)
		}
	}
	if r := run(atB, "b", "frobnicate"); r.ErrorCode != "" {
		t.Errorf("at b, on b: a command that no rule there denies = %s", r.text)
	}
	if n := judged(t, b); n == 0 {
		t.Error("b has never asked a, want it for each action of a call from there")
	}
	natstest.Eventually(t, "status warns of the rules", func() bool {
		stdout, _, code := printed(t, lines("a", url), "status")
		return code == 0 && strings.Contains(stdout, "warning: nodes have different rules: a; b.") && strings.Contains(stdout, " RULES ")
	})
	natstest.Eventually(t, "the log of a names b", func() bool {
		return strings.Contains(a.log.String(), "other nodes have other rules than this one")
	})
	b.reload(t, rules+plain)
	before := judged(t, b)
	if r := run(atA, "b", "frobnicate"); r.ErrorCode != "POLICY_DENIED" || strings.Contains(r.Message, "of node") {
		t.Errorf("at a, on b, which has the same rules now: a command that they deny = %s", r.text)
	}
	if r := run(atA, "b", "echo here"); r.Stdout != "here\n" {
		t.Errorf("at a, on b, which has the same rules now = %s", r.text)
	}
	if n := judged(t, b); n != before {
		t.Errorf("b, with the rules of a, has asked a %d times", n-before)
	}
	natstest.Eventually(t, "status warns no more", func() bool {
		stdout, _, code := printed(t, lines("a", url), "status")
		return code == 0 && strings.Contains(stdout, "live") && !strings.Contains(stdout, "warning")
	})
}

// TestHostsOfBothNodes: a host that the rules of the client's node deny is not reached through another node, neither by a
// new session nor by one that is open there.
func TestHostsOfBothNodes(t *testing.T) {
	t.Parallel()
	const rules = "[policy]\ndeny_hosts = [\"127.0.0.1\"]\n"
	url, host := natstest.Start(t, 1)[0].URL, sshHost(t, "accept_new")
	far, near := serve(t, host+httpLines(t, "far", url)), serve(t, rules+host+httpLines(t, "near", url, entry))
	open := map[string]any{"action": "open", "protocol": "ssh", "host": "far1"}
	atNear, atFar := near.dial(t, opsToken), far.dial(t, opsToken)
	if r := atNear.call(open); r.ErrorCode != "POLICY_DENIED" || !strings.Contains(r.Message, "by the rules of node near") ||
		!strings.Contains(r.Message, "this host is denied") {
		t.Errorf("open at near = %s", r.text)
	}
	r := atFar.call(open)
	if r.State != "open" {
		t.Fatalf("open at far = %s", r.text)
	}
	exec := map[string]any{"session_id": r.SessionID, "cmd": "echo here"}
	if r := atNear.tool("ptyctl_session_exec", exec); r.ErrorCode != "POLICY_DENIED" || !strings.Contains(r.Message, "this host is denied") {
		t.Errorf("exec at near, in a session that was opened at far = %s", r.text)
	}
	if r := atFar.tool("ptyctl_session_exec", exec); r.Stdout != "here\n" {
		t.Errorf("exec at far = %s", r.text)
	}
	if r := atNear.call(map[string]any{"action": "close", "session_id": r.SessionID}); r.ErrorCode != "" {
		t.Errorf("close at near = %s, want it done: it is never denied", r.text)
	}
}

// A deciding person answers the questions for consent.
type deciding struct {
	decision string
	asked    atomic.Int32
}

// Elicit implements client.ElicitationHandler.
func (d *deciding) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	d.asked.Add(1)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"decision": d.decision},
	}}, nil
}

// TestConsentOfBothNodes: where the rules of the client's node ask for consent, its person is asked, as for a session there;
// and once more where the rules of the session's node ask, too.
func TestConsentOfBothNodes(t *testing.T) {
	t.Parallel()
	const rules = "[policy]\nconsent = \"elicit\"\nask = [\"echo asked*\"%s]\n"
	for name, c := range map[string]struct {
		far, decision string
		asked         int32
		says          string // of the refusal; empty: it runs
	}{
		"agreed":      {"", "allow_once", 1, ""},
		"denied":      {"", "deny", 1, "has denied it"},
		"by both":     {strings.Replace(rules, "%s", `, "halt"`, 1), "allow_once", 2, ""},
		"equal rules": {strings.Replace(rules, "%s", "", 1), "allow_once", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, host := natstest.Start(t, 1)[0].URL, sshHost(t, "accept_new")
			person := &deciding{decision: c.decision}
			start(t, c.far+host+lines("far", url))
			near := start(t, strings.Replace(rules, "%s", "", 1)+host+lines("near", url, entry), client.WithElicitationHandler(person))
			id := near.call(map[string]any{"action": "open", "protocol": "ssh", "host": "far1"}).SessionID
			if !strings.HasSuffix(id, "@far") {
				t.Fatalf("the session is %q", id)
			}
			r := near.tool("ptyctl_session_exec", map[string]any{"session_id": id, "cmd": "echo asked"})
			if n := person.asked.Load(); n != c.asked {
				t.Errorf("the person was asked %d times, want %d", n, c.asked)
			}
			if c.says == "" && r.Stdout != "asked\n" {
				t.Errorf("exec = %s, want it run", r.text)
			}
			if c.says != "" && (r.ErrorCode != "POLICY_DENIED" || !strings.Contains(r.Message, c.says)) {
				t.Errorf("exec = %s, want it denied: %s", r.text, c.says)
			}
		})
	}
}

// TestRunsOfBothNodes: both nodes judge a run over many hosts while its call lasts, and actions that would begin later
// are refused.
func TestRunsOfBothNodes(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshHost(t, "accept_new")
	const tools, rules = "[server]\ntoolsets = [\"core\", \"fleet\"]\n", "[policy]\ndeny = [\"frobnicate\"]\n"
	far, near := serve(t, tools+host+httpLines(t, "far", url)), serve(t, tools+rules+host+httpLines(t, "near", url, entry))
	run := func(at *caller, more map[string]any) result {
		t.Helper()
		if more["action"] == nil {
			more["action"] = "run"
		}
		return at.tool("ptyctl_fleet", more)
	}
	atFar, atNear := far.dial(t, opsToken), near.dial(t, opsToken)
	id := run(atFar, map[string]any{"hosts": []string{"far1", "far2"}, "cmd": "exit 3"}).FleetID
	if !strings.HasSuffix(id, "@far") {
		t.Fatalf("the run is %q, want one of far", id)
	}
	if r := run(atNear, map[string]any{"fleet_id": id, "only": "failed", "cmd": "frobnicate"}); r.ErrorCode != "POLICY_DENIED" ||
		!strings.Contains(r.Message, "by the rules of node near") {
		t.Errorf("a run on far that the rules of near deny = %s", r.text)
	}
	if r := run(atNear, map[string]any{"fleet_id": id, "only": "failed", "cmd": "echo here"}); !strings.Contains(r.text, "here") {
		t.Errorf("a run that no rule denies = %s", r.text)
	}
	// The second host begins when the first has ended, which is after the call.
	late := run(atNear, map[string]any{"fleet_id": id, "only": "failed", "cmd": "sleep 1", "max_parallel": 1, "wait_ms": 0}).FleetID
	if r := run(atNear, map[string]any{"action": "status", "fleet_id": late}); !strings.Contains(r.text, "only while the call lasts") {
		t.Errorf("a run that goes on after its call = %s", r.text)
	}
}

// TestPersonOfTheEntry: where the rules of the client's node ask a person of the operator's, that is one at that node.
func TestPersonOfTheEntry(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshHost(t, "accept_new")
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	start(t, host+lines("far", url))
	conf := "[policy]\nconsent = \"person\"\nask = [\"echo asked*\"]\n[limits]\nmax_wait_ms = 2000\n" + host +
		strings.Replace(lines("near", url, entry), `control_mode = "disabled"`,
			"control_mode = \"readwrite\"\ncontrol_socket_path = \""+filepath.Join(dir, "sock")+`"`, 1)
	near := start(t, conf)
	id := near.call(map[string]any{"action": "open", "protocol": "ssh", "host": "far1"}).SessionID
	if !strings.HasSuffix(id, "@far") {
		t.Fatalf("the session is %q", id)
	}
	run := map[string]any{"session_id": id, "cmd": "echo asked"}
	if r := near.tool("ptyctl_session_exec", run); r.ErrorCode != "BUSY" || !r.Retryable || !strings.Contains(r.Message, "a person has to agree") {
		t.Fatalf("exec = %s, want it to wait for a person", r.text)
	}
	stdout, stderr, _ := printed(t, conf, "answer", "--list", "--json")
	var open []struct {
		ID   string `json:"question_id"`
		Kind string
	}
	if err := json.Unmarshal([]byte(stdout), &open); err != nil || len(open) != 1 || open[0].Kind != "consent" {
		t.Fatalf("the questions are %v, %s%s", err, stdout, stderr)
	}
	says(t, conf, 0, []string{"answer", "--yes", open[0].ID}, "is agreed to")
	if r := near.tool("ptyctl_session_exec", run); r.Stdout != "asked\n" {
		t.Errorf("the same call, to which a person has agreed = %s", r.text)
	}
}
