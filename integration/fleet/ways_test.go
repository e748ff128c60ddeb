package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A rule of ask is put to a person once, with the command and the names of all hosts; above 30 hosts it denies.
func TestAsk(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, 39, each, "[policy]", `ask = ["mktemp *"]`, `consent = "person"`, "[limits]", "max_wait_ms = 2000", lab.ReadWrite)
	c := connect(t, r)
	made := filepath.Join(r.Dir, "made")
	if err := os.Mkdir(made, 0o700); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		entries, err := os.ReadDir(made)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	const run = `{"action":"run","hosts":[%s],"cmd":%s}`
	command := "mktemp -p " + made
	few := "n[001-013]"
	res := c.Refused(t, "BUSY", tool, run, few, command)
	if !strings.Contains(res.Text, `"waiting_for":{"kind":"person"`) {
		t.Errorf("a command that needs consent: %s; want waiting_for", res.Text)
	}
	stdout, stderr, status := r.Run(t, "answer", "--config", r.Config, "--list", "--json")
	var open []struct {
		ID   string `json:"question_id"`
		Text string
		Host string
	}
	if err := json.Unmarshal([]byte(stdout), &open); err != nil || status != 0 || len(open) != 1 {
		t.Fatalf("answer --list: status %d, %v, %s%s; want one question", status, err, stdout, stderr)
	}
	for i := range each {
		if !strings.Contains(stdout, r.Name(i)) {
			t.Errorf("answer --list: %s; want the host %s", stdout, r.Name(i))
		}
	}
	if n := count(); n != 0 {
		t.Fatalf("%d hosts have run the command, and no person has agreed", n)
	}
	if out, errs, status := r.Run(t, "answer", "--config", r.Config, "--yes", open[0].ID); status != 0 {
		t.Fatalf("answer --yes: status %d, %s%s", status, out, errs)
	}
	a := call(t, c, run, few, command)
	for a.DoneReason == "running" { // longer than a call may wait here
		a = call(t, c, `{"action":"status","fleet_id":%s}`, a.FleetID)
	}
	if a.Hosts != each || len(a.Failures) > 0 || count() != each {
		t.Errorf("the call after the answer: %s, and %d files; want one of each of %d hosts", a.text, count(), each)
	}
	res = c.Refused(t, "POLICY_DENIED", tool, run, r.Hosts(), command)
	if !strings.Contains(res.Text, "30 hosts at most, and this is about 39") || count() != each {
		t.Errorf("consent for 39 hosts: %s; want a denial that says how many may be asked about", res.Text)
	}
}

// The output of hosts is in recordings, one for each host, under the command.
func TestRecorded(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, 3, 3)
	r.Recordings = filepath.Join(r.Dir, "recordings")
	r.Does(t, 1, "echo of the second; exit 4")
	c := connect(t, r)
	a := call(t, c, `{"action":"run","hosts":[%s],"cmd":%s}`, r.Hosts(), r.Command)
	if len(a.Groups) != 2 {
		t.Fatalf("the run: %s; want two groups", a.text)
	}
	c.Finish()
	files, err := filepath.Glob(filepath.Join(r.Recordings, "*.cast"))
	if err != nil || len(files) != 3 {
		t.Fatalf("the recordings are %q, %v; want one for each of 3 hosts", files, err)
	}
	for i, file := range files {
		text := string(lab.ReadFile(t, file))
		if !strings.Contains(file, r.Name(i)) || !strings.Contains(text, "sh "+r.Dir+"/command") {
			t.Errorf("the recording %s: %s; want that of host %s, with the command", file, text, r.Name(i))
		}
		if strings.Contains(text, "of the second") != (i == 1) || strings.Contains(text, "nginx 1.24") != (i != 1) {
			t.Errorf("the recording %s: %s; want what that host has printed", file, text)
		}
	}
	out, errs, status := r.Run(t, "recordings", "search", "--dir", r.Recordings, "--config", r.Config, "of the second")
	if status != 0 || !strings.Contains(out, r.Name(1)) || strings.Count(out, "\n") != 1 {
		t.Errorf("search: status %d, %s%s; want one line, of host %s", status, out, errs, r.Name(1))
	}
}

// session_io and wait take a host of a run in place of a session.
func TestHostAsSession(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, 4, 4)
	gate := filepath.Join(r.Dir, "gate")
	r.Does(t, 1, "echo early; "+lab.UntilFile(gate)+"; echo late; echo odd >&2; exit 7")
	c := connect(t, r)
	a := call(t, c, `{"action":"run","hosts":[%s],"cmd":%s,"wait_ms":1}`, r.Hosts(), r.Command)
	id, slow := a.FleetID, r.Name(1)
	read := c.Call(t, lab.ToolIO, `{"action":"read","fleet_id":%s,"host":%s,"timeout_ms":200}`, id, slow)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait := c.Call(t, lab.ToolSession, `{"action":"wait","on":[{"fleet_id":%s,"host":%s},{"fleet_id":%s}],"mode":"all"}`, id, slow, id)
	for _, part := range []string{`"exit_code":7`, "late"} {
		if !strings.Contains(wait.Text, part) {
			t.Errorf("wait for a host and its run: %s; want %s", wait.Text, part)
		}
	}
	read = c.Call(t, lab.ToolIO, `{"action":"read","fleet_id":%s,"host":%s,"stream":"stderr"}`, id, slow)
	if read.Chunk != "odd\n" {
		t.Errorf("stderr of one host: %s; want its line", read.Text)
	}
	c.Refused(t, "INVALID_ARGUMENT", lab.ToolIO, `{"action":"read","fleet_id":%s,"host":"n999"}`, id)
	// A host without an exit code says why.
	r.Refuses(t, 3)
	a = call(t, c, `{"action":"run","hosts":[%s],"cmd":"true"}`, r.Name(3))
	read = c.Call(t, lab.ToolIO, `{"action":"read","fleet_id":%s,"host":%s}`, a.FleetID, r.Name(3))
	if part := `"failure":{"error_code":"connect_failed","reason":"never reached: tcp: connection refused"}`; !strings.Contains(read.Text, part) {
		t.Errorf("read of a host that was never reached: %s; want %s", read.Text, part)
	}
}
