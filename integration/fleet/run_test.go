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

// A retry of a call runs nothing twice, and a call that has to leave hands the run over.
func TestRetryAndHandOver(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, each, each)
	c := connect(t, r)
	count := filepath.Join(r.Dir, "count")
	for range 2 {
		a := call(t, c, `{"action":"run","hosts":%s,"cmd":%s,"request_id":"r-1"}`, []string{r.Hosts()}, "echo x >> "+count)
		if a.Hosts != each || len(a.Groups) != 1 || a.Groups[0].N != each {
			t.Errorf("the run and its retry: %s; want %d hosts alike", a.text, each)
		}
	}
	if text, err := os.ReadFile(count); err != nil || len(text) != 2*each {
		t.Errorf("%d lines were written, %v; want one for each of %d hosts", len(text)/2, err, each)
	}

	gate := filepath.Join(r.Dir, "gate")
	wait := lab.UntilFile(gate) + "; echo through"
	a := call(t, c, `{"action":"run","hosts":%s,"cmd":%s,"wait_ms":1}`, []string{r.Hosts()}, wait)
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

	a = call(t, c, `{"action":"run","hosts":%s,"cmd":"sleep 60 & wait","wait_ms":1,"max_parallel":4}`, []string{r.Hosts()})
	began := time.Now()
	a = call(t, c, `{"action":"cancel","fleet_id":%s}`, a.FleetID)
	if hosts, _ := a.failure("canceled"); hosts == "" || len(a.NotRun) != 1 || a.NotRun[0].N != each-4 || time.Since(began) > lab.Patience {
		t.Errorf("cancel: %s; want 4 canceled, and %d that were not run", a.text, each-4)
	}
}

// Nothing is run where a rule refuses one of the hosts; each host's actions are in the audit log, with the run's id.
func TestRulesAndRecord(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, each, each, `[policy]`, `deny = ["reboot"]`, `deny_hosts = ["n003"]`)
	r.Write(t, r.Config, string(mustRead(t, r.Config))+"\n[audit]\npath = '"+r.Audit+"'\n")
	c := connect(t, r)
	res := c.Refused(t, "POLICY_DENIED", tool, `{"action":"run","hosts":%s,"cmd":"uptime"}`, []string{r.Hosts()})
	if !strings.Contains(res.Text, "1 of 13 hosts refused: "+r.Name(2)) {
		t.Errorf("the refusal is %s; want it to name the host", res.Text)
	}
	a := call(t, c, `{"action":"run","hosts":%s,"cmd":"echo hi","on_refused":"skip"}`, []string{r.Hosts()})
	if hosts, _ := a.failure("policy_denied"); hosts != r.Name(2) || a.Groups[0].N != each-1 {
		t.Errorf("a run that leaves refused hosts out: %s; want the other 12", a.text)
	}
	c.Refused(t, "POLICY_DENIED", tool, `{"action":"run","hosts":%s,"cmd":"reboot","on_refused":"skip"}`, []string{r.Hosts()})
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
			if e.Fleet != a.FleetID || !strings.Contains(e.Command, "hi") || e.Host == "n003" {
				t.Errorf("the audit log has %s; want the command, and the run %s", line, a.FleetID)
			}
		}
	}
	if execs != each-1 {
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
