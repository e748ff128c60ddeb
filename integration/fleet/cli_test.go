package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// The command for people tells by its status how the hosts have ended, and shows equal answers once.
func TestCommand(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, each, each)
	r.Does(t, 6, "sed s/1.24/1.18/ same; exit")
	hosts := r.Hosts()
	for _, tt := range []struct {
		args   []string
		status int
		want   string // in stdout, or in stderr if the status is 2 or 255
	}{
		{[]string{"run", hosts, "--", r.Command}, 0, "(12): exit 0\n  bash 5.2\n"},
		{[]string{"run", hosts, "--", r.Command}, 0, "+nginx 1.18\n"},
		{[]string{"diff", hosts, "--", r.Command}, 1, "+nginx 1.18\n"},
		{[]string{"diff", hosts, "!" + r.Name(6), "--", r.Command}, 0, "(12): exit 0\n"},
		{[]string{"run", "--argv", r.Name(0), "--", "printf", "%s|", "a b", "$HOME"}, 0, "a b|$HOME|"},
		{[]string{"run", "--canary", "1", hosts, "--", "exit 3"}, 1, "(12): not run: a canary failed\n"},
		{[]string{"run", hosts, "127.0.7.1", "--", "id"}, 255, "nothing was run: 1 of 14 hosts refused: 127.0.7.1"},
		{[]string{"run", "--skip-refused", hosts, "127.0.7.1", "--", "id"}, 1, "hostkey_unknown: refused: "},
		{[]string{"run", "--batch", "none", hosts, "--", "id"}, 255, "batch is no number of hosts"},
		{[]string{"run", hosts}, 2, "needs hosts and a command"},
		{[]string{"run", "--", "id"}, 2, "needs hosts and a command"},
	} {
		args := append([]string{"fleet", tt.args[0], "--config", r.Config}, tt.args[1:]...)
		out, errs, status := r.Run(t, args...)
		text := out
		if tt.status == 2 || tt.status == 255 {
			text = errs
		}
		if status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%q: status %d, %s%s; want %d, %q", tt.args, status, out, errs, tt.status, tt.want)
		}
	}
	out, _, status := r.Run(t, "fleet", "run", "--config", r.Config, "--json", hosts, "--", r.Command)
	var a answer
	if err := json.Unmarshal([]byte(out), &a); err != nil || status != 0 || len(a.Groups) != 2 {
		t.Errorf("--json: status %d, %v, %s; want one object with two groups", status, err, out)
	}
}

// A person at a terminal sees how far the run is; ctrl-c stops the commands, and shows the answers so far.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, each, each)
	ended := filepath.Join(r.Dir, "ended")
	command := "echo begun; " + lab.UntilFile(ended)
	p := r.AtTerminal(t, "fleet", "run", "--config", r.Config, "--max-parallel", "4", r.Hosts(), "--", command)
	p.Sees(regexp.QuoteMeta("0 of 13 hosts, 4 running"))
	p.Types("\x03")
	p.Sees(`(?s)canceled: .*\(9\): not run: canceled`) // those that run may not have begun the command
	p.Sees("interrupted; the commands were told to stop")
	p.Leaves(130)
	p.WantSane()
	if err := os.WriteFile(ended, nil, 0o600); err != nil { // as root, sshd passes no signal on
		t.Fatal(err)
	}
	r.Servers[0].WaitIdle(t)
}
