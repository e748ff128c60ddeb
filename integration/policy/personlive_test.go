package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// asksBriefly is asks with calls that wait for half a second.
var asksBriefly = strings.Replace(asks, "= 2000", "= 500\n[session]\nread_timeout_ms = 500", 1)

// decide answers the only question that waits with ptyctl answer.
func decide(t *testing.T, h *lab.Home, how string) {
	t.Helper()
	open := waiting(t, h)
	if len(open) != 1 || !strings.Contains(open[0].Text, "touch") {
		t.Fatalf("answer --list = %+v, want the one action", open)
	}
	if stdout, stderr, status := h.Run(t, "answer", "--config", h.Config, how, open[0].ID); status != 0 {
		t.Fatalf("answer %s: status %d, %s%s", how, status, stdout, stderr)
	}
}

// The tools of other terminal servers ask a person, too, and answer each in its own words. The same call uses the
// answer, once.
func TestConsentOfSets(t *testing.T) {
	for _, tt := range []struct {
		set, tool     string
		spawn         string // arguments of a call that gives a session; empty: the action needs none
		act           string // with the session, if there is one, and the file that it makes
		waits, denied string // of the answers
	}{
		{
			"k_pty", "k_pty", `{"action":"spawn","shell":"/bin/bash","agent_id":"a1"}`,
			`{"action":"run","session_id":%s,"command":%s,"agent_id":"a1"}`, "PTY_WRITE_FAILED", "PTY_ACCESS_DENIED",
		},
		{"aiterm", "shell_run", "", `{"argv":["/bin/sh","-c",%s]}`, "a person has to agree", "a person was asked, and has denied it"},
		{"pty", "pty_spawn", "", `{"command":"/bin/sh","args":["-c",%s]}`, "a person has to agree", "Permission denied"},
	} {
		t.Run(tt.set, func(t *testing.T) {
			h := lab.NewHome(t, asksBriefly)
			c := h.Connect(t, "--toolsets", tt.set)
			var values []any
			if tt.spawn != "" {
				var spawned struct {
					SessionID string `json:"session_id"`
				}
				text := attemptRaw(t, c.Tools, tt.tool, tt.spawn)
				if err := json.Unmarshal([]byte(text), &spawned); err != nil || spawned.SessionID == "" {
					t.Fatalf("%s %s = %s, want a session", tt.tool, tt.spawn, text)
				}
				values = []any{spawned.SessionID}
				defer attempt(t, c.Tools, tt.tool, `{"action":"kill","session_id":%s}`, spawned.SessionID)
			}
			file := filepath.Join(h.Dir, "made")
			act := func(name, want string) {
				t.Helper()
				all := append(slices.Clip(values), "touch "+file+name)
				if text := attempt(t, c.Tools, tt.tool, tt.act, all...); !strings.Contains(text, want) {
					t.Errorf("%s that touches %s = %s, want %q", tt.tool, name, text, want)
				}
			}
			act("1", tt.waits)
			decide(t, h, "--yes")
			act("1", "")
			lab.Eventually(t, "the file of the action that was agreed to is there", func() bool { return exists(file + "1") })
			act("2", tt.waits)
			decide(t, h, "--no")
			act("2", tt.denied)
			if exists(file + "2") {
				t.Error("an action that a person has denied was done")
			}
		})
	}
}

// The keys of consent count from the next call on when the configuration is read again: who is asked, and for how long.
// A question that was asked before keeps its time. The sessions as JSON have the waiting questions; a question without
// an answer ends on record.
func TestConsentReload(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, asksBriefly)
	text, err := os.ReadFile(h.Config)
	if err != nil {
		t.Fatal(err)
	}
	person, nobody := string(text), strings.Replace(string(text), "consent = 'person'", "consent = 'deny'", 1)
	brief := strings.Replace(person, "consent = 'person'", "consent = 'person'\nconsent_ttl_ms = 4000", 1)
	if nobody == person || brief == person {
		t.Fatalf("the configuration has no consent to change:\n%s", text)
	}
	h.Write(t, h.Config, nobody)
	c := h.Connect(t)
	id := c.Open(t, s)
	reload := func(config string, changed int) {
		t.Helper()
		said := fmt.Sprintf(`the configuration was reloaded	{"changed": %d, "after_restart": 0}`, changed)
		before := strings.Count(c.EngineLog(), said)
		h.Write(t, h.Config, config)
		if err := system.Kill(c.PID, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		lab.Eventually(t, "the log has "+said, func() bool { return strings.Count(c.EngineLog(), said) > before })
	}
	file := filepath.Join(h.Dir, "made")
	run := func(code, name string) {
		t.Helper()
		c.Refused(t, code, lab.ToolExec, `{"session_id":%s,"cmd":%s,"lane":"channel"}`, id, "touch "+file+name)
	}
	run("POLICY_DENIED", "1")
	reload(person, 1)
	run("BUSY", "1")
	reload(brief, 1)
	run("BUSY", "2")
	for i, want := range []int64{600_000, 4000} {
		if open := waiting(t, h); len(open) != 2 || open[i].Expires-open[i].Since != want {
			t.Errorf("question %d of %+v, want that it stays for %d ms", i, open, want)
		}
	}
	c.Refused(t, "BUSY", lab.ToolRun, `{"argv":["touch",%s]}`, file+"3")
	stdout, stderr, _ := h.Run(t, "sessions", "--config", h.Config, "--json")
	var list []struct {
		SessionID string `json:"session_id"`
		Questions []struct{ Text, Rule string }
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list) != 2 || list[0].SessionID != id ||
		len(list[0].Questions) == 0 || list[0].Questions[0].Text != "'touch' '"+file+"1'" || list[1].SessionID != "" ||
		len(list[1].Questions) != 1 || !strings.HasSuffix(list[1].Questions[0].Text, "made3") {
		t.Errorf("sessions --json = %s%s (%v), want the questions of the session, and last that of no session",
			stdout, stderr, err)
	}
	lab.Eventually(t, "the brief question has expired", func() bool {
		return !slices.ContainsFunc(waiting(t, h), func(q pending) bool { return strings.Contains(q.Text, file+"2") })
	})
	reload(nobody, 2)
	run("POLICY_DENIED", "1")
	c.Finish()
	said := map[string]string{}
	for _, n := range lab.AuditLines(t, h.Audit, "consent") {
		name := strings.Trim(n.Command[strings.LastIndex(n.Command, "made")+4:], "'")
		said[name] += n.State + " "
		if n.Consent == "" || n.State != "asked" && !strings.Contains(n.Detail, "asked by ") {
			t.Errorf("audit line %+v, want the rule and who asked", n)
		}
	}
	want := map[string]string{"1": "asked withdrawn ", "2": "asked expired ", "3": "asked withdrawn "}
	if said["3"] == "asked expired " { // on a slow machine
		want["3"] = said["3"]
	}
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("the audit log says of the three questions %q, want %q", said, want)
	}
}
