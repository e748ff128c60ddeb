package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A change window: the answers before it are kept in a file, and those after it are compared with them.
func TestChangeWindow(t *testing.T) {
	t.Parallel()
	r := lab.NewRack(t, each, each)
	r.Does(t, 2, "echo one; exit 3")
	before, after := filepath.Join(r.Dir, "before.json"), filepath.Join(r.Dir, "after.json")
	r.Given[before], r.Given[after] = true, true
	fleet := func(status int, want []string, action string, args ...string) string {
		t.Helper()
		out, errs, got := r.Run(t, append([]string{"fleet", action, "--config", r.Config}, args...)...)
		for _, text := range want {
			if !strings.Contains(out+errs, text) {
				t.Errorf("fleet %s %q: %s%s; want %q", action, args, out, errs, text)
			}
		}
		if got != status {
			t.Errorf("fleet %s %q: status %d, %s%s; want %d", action, args, got, out, errs, status)
		}
		return out
	}
	absent := func(path string) {
		t.Helper()
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there, and nothing was saved in it", path)
		}
	}
	fleet(255, []string{"nothing was run"}, "run", "--save", before, r.Hosts(), "127.0.7.1", "--", "id")
	absent(before)
	fleet(1, []string{"(12): exit 0\n  bash 5.2"}, "run", "--save", before, r.Hosts(), "--", r.Command)
	if info, err := os.Stat(before); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 10_000 {
		t.Fatalf("the file of --save: %+v, %v; want mode 600, and less than 10,000 bytes", info, err)
	}
	fleet(255, []string{"--save writes no file that exists"}, "run", "--save", before, r.Hosts(), "--", r.Command)
	fleet(0, []string{"n[001-013] (13): unchanged\n"}, "diff", "--before", before, r.Hosts(), "--", r.Command)

	for _, i := range []int{4, 5, 6} {
		r.Does(t, i, "sed s/1.24/1.26/ same; exit")
	}
	r.Does(t, 2, "echo one; exit")
	r.Refuses(t, 8)
	out := fleet(1, []string{
		"n[001-002,004,008,010-013] (8): unchanged\n", "n[005-007] (3): changed\n  @@ 3\n  -nginx 1.24\n  +nginx 1.26\n",
		"n003 (1): changed\n  exit 3 -> 0\n", "n009 (1): not compared: after: connect_failed\n",
	}, "diff", "--before", before, "--save", after, r.Hosts(), "--", r.Command)
	if again := fleet(1, nil, "diff", "--before", before, "--after", after); again != out {
		t.Errorf("the two files compared: %s; want %s", again, out)
	}
	var changes struct {
		Hosts     int
		Unchanged struct{ N int }
		Changed   []struct{ Hosts, Change string }
	}
	out = fleet(1, nil, "diff", "--json", "--before", before, "--after", after)
	if err := json.Unmarshal([]byte(out), &changes); err != nil || changes.Hosts != 13 || changes.Unchanged.N != 8 ||
		changes.Changed[0].Hosts != "n[005-007]" || changes.Changed[0].Change != "@@ 3\n-nginx 1.24\n+nginx 1.26" {
		t.Errorf("--json: %s, %v; want the changes as JSON", out, err)
	}
	fleet(1, []string{"those of two commands: before ", "n001 (1): unchanged\n", "(12): not compared: not in the run after\n"}, "diff", "--before", before, r.Name(0), "--", "cat", filepath.Join(r.Dir, "same"))
	fleet(255, []string{"has no saved answers of hosts"}, "diff", "--before", r.Config, r.Hosts(), "--", "id")
	fleet(2, []string{"--after needs --before"}, "diff", "--after", after)
	fleet(2, []string{"--after runs nothing"}, "diff", "--before", before, "--after", after, r.Hosts(), "--", "id")
}
