package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// Forty hosts, of which six are in trouble: the answer is true for each of them, and short.
func TestFortyHosts(t *testing.T) {
	r := newRack(t, 3)
	changed := lab.StartSSHD(t, "ListenAddress 127.0.9.1")
	dying := lab.StartSSHD(t, "ListenAddress 127.0.9.2")
	other := lab.NewKey(t, "ed25519")
	r.Trust(t, "[127.0.9.1]:"+port(changed)+" "+other.Public(), "[127.0.9.2]:"+port(dying)+" "+dying.HostKey.Public(),
		"[127.0.9.3]:"+port(changed)+" "+other.Public())
	r.Write(t, r.SSHConfig, "IdentityAgent none\nIdentitiesOnly yes\nIdentityFile "+strings.Join([]string{
		r.servers[0].Identity, r.servers[1].Identity, r.servers[2].Identity, dying.Identity,
	}, "\nIdentityFile ")+"\n")
	began := filepath.Join(r.dir, "began")
	r.does(t, "127.0.1.7", "sed s/1.24/1.18/ same; exit")
	r.does(t, "127.0.2.2", "sleep 60 & wait")
	r.does(t, "127.0.3.3", "head -c 30000000 /dev/zero; exit 2")
	r.does(t, "127.0.9.2", ": > "+began+"; sleep 60 & wait")
	c := r.connect(t)
	hosts := append(r.hosts(), "127.0.9.1:"+port(changed), "127.0.9.2:"+port(dying), "127.0.9.3:"+port(changed))
	done := make(chan answer)
	go func() {
		lab.Eventually(t, "the command on the host that dies", func() bool {
			_, err := os.Stat(began)
			return err == nil
		})
		dying.Stop(t)
	}()
	go func() {
		defer close(done)
		done <- call(t, c, `{"action":"run","hosts":%s,"cmd":%s,"timeout_ms":6000,"max_parallel":50}`, hosts, r.command)
	}()
	a, ok := <-done
	if !ok {
		t.FailNow()
	}
	if len(a.text) > 2000 {
		t.Errorf("the answer has %d bytes, want at most 2,000:\n%s", len(a.text), a.text)
	}
	if a.Hosts != 42 || len(a.Groups) != 3 || a.Groups[0].N != 36 || a.Groups[0].Stdout != strings.TrimSuffix(same, "\n") {
		t.Fatalf("the answer of 42 hosts is %s; want 36 alike, and two others", a.text)
	}
	for _, g := range a.Groups[1:] {
		switch g.Hosts {
		case r.host(1, 7):
			if !strings.Contains(g.StdoutDiff, "-nginx 1.24") || !strings.Contains(g.StdoutDiff, "+nginx 1.18") || g.ExitCode != 0 {
				t.Errorf("the host with another file: %+v; want the difference", g)
			}
		case r.host(3, 3):
			if g.ExitCode != 2 || !g.Truncated || g.Bytes != 30_000_000 {
				t.Errorf("the host that floods: %+v; want exit 2, and 30,000,000 bytes that are not all there", g)
			}
		default:
			t.Errorf("the group of %s was not expected: %+v", g.Hosts, g)
		}
	}
	for code, want := range map[string][2]string{
		"timeout":          {r.host(2, 2), "no end within 6s"},
		"hostkey_mismatch": {"127.0.9.1:" + port(changed), "never reached: known_hosts has another key"},
		"connection_lost":  {"127.0.9.2:" + port(dying), "midway: exit code unknown"},
		"connect_failed":   {"127.0.9.3:" + port(changed), "never reached: tcp: connection refused"},
	} {
		if hosts, reason := a.failure(code); hosts != want[0] || !strings.Contains(reason, want[1]) {
			t.Errorf("%s: %q, %q; want %s, %q", code, hosts, reason, want[0], want[1])
		}
	}
	if res := c.Call(t, lab.ToolIO, `{"action":"read","fleet_id":%s,"host":%s}`, a.FleetID, r.host(1, 7)); res.Chunk !=
		strings.Replace(same, "1.24", "1.18", 1) || !res.EOF {
		t.Errorf("the output of one host is %q, %t; want its own, and its end", res.Chunk, res.EOF)
	}
	var again answer
	if a.FleetID != "" {
		r.does(t, "127.0.2.2", "")
		again = call(t, c, `{"action":"run","fleet_id":%s,"only":"failed","timeout_ms":6000}`, a.FleetID)
	}
	if again.Hosts != 5 || len(again.Groups) != 2 {
		t.Errorf("the run on those that failed: %s; want the 5 without exit code 0", again.text)
	}
}

func port(s *lab.SSHD) string {
	_, port, _ := strings.Cut(strings.Fields(s.KnownHosts())[0], ":")
	return port
}

// A retry of a call runs nothing twice, and a call that has to leave hands the run over.
func TestRetryAndHandOver(t *testing.T) {
	r := newRack(t, 1)
	c := r.connect(t)
	count := filepath.Join(r.dir, "count")
	for range 2 {
		a := call(t, c, `{"action":"run","hosts":%s,"cmd":%s,"request_id":"r-1"}`, r.hosts(), "echo x >> "+count)
		if a.Hosts != perServer || len(a.Groups) != 1 || a.Groups[0].N != perServer {
			t.Errorf("the run and its retry: %s; want %d hosts alike", a.text, perServer)
		}
	}
	if text, err := os.ReadFile(count); err != nil || len(text) != 2*perServer {
		t.Errorf("%d lines were written, %v; want one for each of %d hosts", len(text)/2, err, perServer)
	}

	gate := filepath.Join(r.dir, "gate")
	wait := "until [ -f " + gate + " ]; do sleep 0.05; done; echo through"
	a := call(t, c, `{"action":"run","hosts":%s,"cmd":%s,"wait_ms":1}`, r.hosts(), wait)
	if a.DoneReason != "running" || a.FleetID == "" {
		t.Fatalf("a call that has to leave: %s; want running, with fleet_id", a.text)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a = call(t, c, `{"action":"status","fleet_id":%s}`, a.FleetID)
	if a.DoneReason != "" || len(a.Groups) != 1 || a.Groups[0].Stdout != "through" {
		t.Errorf("status: %s; want the end of all hosts", a.text)
	}

	a = call(t, c, `{"action":"run","hosts":%s,"cmd":"sleep 60 & wait","wait_ms":1,"max_parallel":4}`, r.hosts())
	began := time.Now()
	a = call(t, c, `{"action":"cancel","fleet_id":%s}`, a.FleetID)
	if hosts, _ := a.failure("canceled"); hosts == "" || len(a.NotRun) != 1 || a.NotRun[0].N != perServer-4 || time.Since(began) > lab.Patience {
		t.Errorf("cancel: %s; want 4 canceled, and %d that were not run", a.text, perServer-4)
	}
}

// Nothing is run where a rule refuses one of the hosts; each host's actions are in the audit log, with the run's id.
func TestRulesAndRecord(t *testing.T) {
	r := newRack(t, 1, `[policy]`, `deny = ["reboot"]`, `deny_hosts = ["127.0.1.3"]`)
	r.Write(t, r.Config, string(mustRead(t, r.Config))+"\n[audit]\npath = '"+r.Audit+"'\n")
	c := r.connect(t)
	res := c.Refused(t, "POLICY_DENIED", tool, `{"action":"run","hosts":%s,"cmd":"uptime"}`, r.hosts())
	if !strings.Contains(res.Text, "1 of 13 hosts refused: "+r.host(1, 3)) {
		t.Errorf("the refusal is %s; want it to name the host", res.Text)
	}
	a := call(t, c, `{"action":"run","hosts":%s,"cmd":"echo hi","on_refused":"skip"}`, r.hosts())
	if hosts, _ := a.failure("policy_denied"); hosts != r.host(1, 3) || a.Groups[0].N != perServer-1 {
		t.Errorf("a run that leaves refused hosts out: %s; want the other 12", a.text)
	}
	c.Refused(t, "POLICY_DENIED", tool, `{"action":"run","hosts":%s,"cmd":"reboot","on_refused":"skip"}`, r.hosts())
	execs := 0
	for line := range strings.Lines(string(mustRead(t, r.Audit))) {
		var e struct {
			Event, Host, Outcome, Command string
			Refused                       bool
			Fleet                         string `json:"fleet_id"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event == "exec" && !e.Refused {
			execs++
			if e.Fleet != a.FleetID || !strings.Contains(e.Command, "hi") || e.Host == "127.0.1.3" {
				t.Errorf("the audit log has %s; want the command, and the run %s", line, a.FleetID)
			}
		}
	}
	if execs != perServer-1 {
		t.Errorf("the audit log has %d execs, want one for each of 12 hosts", execs)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
