package changes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/tools/changes"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// sets offers the set for devices.
var sets = []string{"core", "device"}

// open starts a lab with a device, and opens a session on it.
func open(t *testing.T, d *device, c mcptest.Config) *mcptest.Lab {
	t.Helper()
	d.name = "r1"
	c.SSH = sshserver.Config{Handler: d.serve}
	if c.Options.Toolsets == nil {
		c.Options.Toolsets = sets
	}
	l := mcptest.NewLab(t, c)
	l.Open(`,"expect":{"profile":"cisco_ios"}`)
	return l
}

// diff is the result of a diff, which must succeed.
func diff(l *mcptest.Lab, more string) (out changes.Compared) {
	l.T.Helper()
	r := l.OK(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before"`+more+`}`)
	if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
		l.T.Fatalf("the result of diff is no JSON: %v: %s", err, r.Text)
	}
	return out
}

const take = `{"action":"snapshot","session_id":"$S","name":"before"}`

// A change is found, with the lines that change by themselves shown and not compared, with and without a pager.
func TestDiff(t *testing.T) {
	for _, rows := range []int{0, 4} {
		t.Run(fmt.Sprintf("%d rows", rows), func(t *testing.T) {
			d := &device{rows: rows}
			l := open(t, d, mcptest.Config{})
			var kept changes.Taken
			r := l.OK(mcptest.ConfigTool, take)
			if err := json.Unmarshal([]byte(r.Text), &kept); err != nil || kept.Lines != 11 || kept.Bytes < 150 ||
				kept.Command != "show running-config" {
				t.Errorf("snapshot = %s (%v), want 11 lines of show running-config", r.Text, err)
			}
			if got := diff(l, ""); !got.Equal || got.Volatile != 3 || got.Diff != "" {
				t.Errorf("diff without a change = %+v, want equal, and 3 volatile places", got)
			}
			for _, cmd := range []string{"configure terminal", "hostname core", "end"} {
				l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"`+cmd+`"}`)
			}
			const want = "@@ 7\n version 15.2\n-hostname r1\n+hostname core\n !\n"
			if got := diff(l, ""); got.Equal || got.Added != 1 || got.Removed != 1 || got.Diff != want || got.Volatile != 3 {
				t.Errorf("diff = %+v, want the other name:\n%s", got, want)
			}
			l.OK(mcptest.ConfigTool, `{"action":"snapshot","session_id":"$S","name":"after"}`)
			d.set("later", "")
			if got := diff(l, `,"to":"after"`); got.Diff != want {
				t.Errorf("diff of two snapshots = %+v, want\n%s", got, want)
			}
			d.set("core", "! Last configuration change\n")
			const volatile = "@@ 4\n !\n-! Last configuration change at <volatile>\n+! Last"
			if got := diff(l, ""); !strings.Contains(got.Diff, "+! Last configuration change\n") {
				t.Errorf("diff = %+v, want the line that only looks volatile, as in %q", got, volatile)
			}
		})
	}
}

// A snapshot of anything but a configuration is refused, and the error says what to do.
func TestRefused(t *testing.T) {
	d := &device{}
	l := open(t, d, mcptest.Config{})
	for _, tt := range []struct {
		args string
		kind term.Kind
		want string
	}{
		{`{"action":"diff","session_id":"$S","from":"before"}`, term.NotFound, "the session has none"},
		{`{"action":"snapshot","session_id":"$S","name":"no w"}`, term.InvalidArgument, "letters, digits"},
		{`{"action":"snapshot","session_id":"$S","name":"now"}`, term.InvalidArgument, "choose another"},
		{`{"action":"snapshot","session_id":"$S"}`, term.InvalidArgument, "name is missing"},
		{`{"action":"snapshot","session_id":"$S","name":"x","exec_id":"exec-1"}`, term.InvalidArgument, "leave it out"},
	} {
		l.Fails(mcptest.ConfigTool, tt.args, tt.kind, tt.want)
	}
	l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"configure terminal"}`)
	l.Fails(mcptest.ConfigTool, take, term.Unsupported, "refused show running-config", "Invalid input", "configuration mode")
	l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"end"}`)
	l.OK(mcptest.ConfigTool, take)
	l.Fails(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before","to":"after"}`, term.NotFound, "before")
	l.Fails(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before","to":"before","exec_id":"x"}`,
		term.InvalidArgument, "with the configuration now")
	// Another profile shows another text.
	l.OK(mcptest.ConfigTool, `{"action":"expect","session_id":"$S","expect":{"profile":"hp_comware","prompt_regex":"# ?$"}}`)
	l.Fails(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before"}`, term.InvalidArgument, "printed by show running-config")
	l.OK(mcptest.ConfigTool, `{"action":"expect","session_id":"$S","expect":{"profile":"posix"}}`)
	l.Fails(mcptest.ConfigTool, take, term.InvalidArgument, "profile posix has no command")

	l.Open("")
	l.Fails(mcptest.ConfigTool, take, term.InvalidArgument, "the session has no profile", "expect.profile")
}

func TestBounds(t *testing.T) {
	d := &device{}
	l := open(t, d, mcptest.Config{})
	for i := range 10 {
		l.OK(mcptest.ConfigTool, fmt.Sprintf(`{"action":"snapshot","session_id":"$S","name":"s%d"}`, i))
	}
	l.Fails(mcptest.ConfigTool, take, term.InvalidArgument, "10 snapshots", "s0, s1")
	l.OK(mcptest.ConfigTool, `{"action":"snapshot","session_id":"$S","name":"s0"}`)
	// A large difference is cut at a line, and says how much is missing.
	var more strings.Builder
	for i := range 900 {
		fmt.Fprintf(&more, "ip route 192.0.2.%d 255.255.255.255 198.51.100.%d name to-%d\n", i%256, i%250, i)
	}
	d.set("r1", more.String())
	r := l.OK(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"s0"}`)
	var got changes.Compared
	if err := json.Unmarshal([]byte(r.Text), &got); err != nil || got.Added != 900 || got.More < 500 || len(got.Diff) > 17<<10 ||
		!strings.HasSuffix(got.Diff, "\n") || strings.Count(got.Diff, "\n+")+got.More != 900 {
		t.Errorf("diff = %d bytes of text, %d added, %d more (%v), want 900 added and the rest in more_lines",
			len(got.Diff), got.Added, got.More, err)
	}
	d.set("r1", more.String()+more.String())
	r = l.OK(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"s0"}`)
	if got = (changes.Compared{}); json.Unmarshal([]byte(r.Text), &got) != nil || !got.TooDifferent || got.Equal || got.Added != 1800 {
		t.Errorf("diff of very different texts = %s, want too_different, 1800 added, and not equal", r.Text)
	}
}

// A slow device makes the call hand over, and the next one goes on.
func TestGoesOn(t *testing.T) {
	d := &device{hold: make(chan struct{}, 9)}
	l := open(t, d, mcptest.Config{Options: mcpapi.Options{Limits: toolset.Limits{MaxWait: 300 * time.Millisecond}}})
	r := l.OK(mcptest.ConfigTool, take)
	if r.DoneReason != string(session.DoneRunning) || r.ExecID == "" {
		t.Fatalf("snapshot of a slow device = %s, want an exec_id that goes on", r.Text)
	}
	l.Fails(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before"}`, term.NotFound)
	d.hold <- struct{}{}
	for id := r.ExecID; r.ExecID != ""; {
		r = l.OK(mcptest.ConfigTool, strings.TrimSuffix(take, "}")+`,"exec_id":"`+id+`"}`)
	}
	close(d.hold)
	got := diff(l, "")
	for id := got.ExecID; got.ExecID != ""; { // on a busy machine
		got = diff(l, `,"exec_id":"`+id+`"`)
	}
	if !got.Equal {
		t.Errorf("diff = %+v, want equal", got)
	}
}

// A snapshot is an exec of the caller, to the lock, the rules and the records.
func TestIsAnExec(t *testing.T) {
	var denies atomic.Bool
	gate := func(_ context.Context, a term.Action) (term.Ruling, error) {
		if denies.Load() && a.Verb == term.VerbExec {
			return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "not here"}
		}
		return term.Ruling{Command: a.Command}, nil
	}
	diary := &mcptest.Diary{}
	l := open(t, &device{}, mcptest.Config{Sessions: session.Config{Gate: gate, Observers: []term.Observer{diary}}})
	l.OK(mcptest.ConfigTool, take)
	if !slices.ContainsFunc(diary.Take(), func(e term.Event) bool {
		return e.Verb == term.VerbExec && e.Command == "show running-config"
	}) {
		t.Errorf("no event of a snapshot is an exec of show running-config: %+v", diary.All())
	}
	l.OK(mcptest.SessionTool, `{"action":"lock","session_id":"$S","task_id":"a"}`)
	l.Fails(mcptest.ConfigTool, take, term.Locked, "a")
	l.OK(mcptest.ConfigTool, strings.TrimSuffix(take, "}")+`,"task_id":"a"}`)
	denies.Store(true)
	l.Fails(mcptest.ConfigTool, strings.TrimSuffix(take, "}")+`,"task_id":"a"}`, term.PolicyDenied, "not here")
	l.OK(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before","to":"before"}`)

	// A read-only caller may compare, but not run a command.
	reader := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{
		Sessions: l.Manager, Toolsets: sets, ReadOnly: true, Results: "full",
	}), "")
	reader.Session = l.Session
	reader.OK(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before","to":"before"}`)
	reader.Fails(mcptest.ConfigTool, `{"action":"diff","session_id":"$S","from":"before"}`, term.PolicyDenied, "may only read")
	reader.Fails(mcptest.ConfigTool, take, term.PolicyDenied, "read-only")
}

// The recipe of a change that undoes itself is filled in, for the set of devices alone.
func TestTrials(t *testing.T) {
	l := open(t, &device{}, mcptest.Config{})
	const get = `{"action":"get","session_id":"$S"`
	trials := func(more string) (list []changes.Trial) {
		var out struct{ Trials []changes.Trial }
		r := l.OK(mcptest.ConfigTool, get+more+`}`)
		if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
			t.Fatal(err)
		}
		return out.Trials
	}
	if got := trials(""); len(got) != 2 || got[0].Begin[0] != "configure terminal revert timer 5" || got[1].Begin[1] != "reload in 5" {
		t.Errorf("get has the trials %+v, want those of cisco_ios for 5 minutes", got)
	}
	if got := trials(`,"minutes":90`); got[0].Begin[0] != "configure terminal revert timer 90" {
		t.Errorf("get for 90 minutes has the trials %+v", got)
	}
	l.OK(mcptest.ConfigTool, `{"action":"expect","session_id":"$S","expect":{"profile":"arista_eos"}}`)
	name := "ptyctl-" + l.Session[len(l.Session)-8:]
	if got := trials(""); len(got) != 1 || got[0].Apply[0] != "commit timer 00:05:00" ||
		got[0].Confirm[0] != "configure session "+name+" commit" {
		t.Errorf("get has the trials %+v, want those of arista_eos with the name %s", got, name)
	}
	l.OK(mcptest.ConfigTool, `{"action":"expect","session_id":"$S","expect":{"profile":"posix"}}`)
	if got := trials(""); len(got) != 0 {
		t.Errorf("get has the trials %+v of posix, want none", got)
	}

	core := open(t, &device{}, mcptest.Config{Options: mcpapi.Options{Toolsets: []string{"core"}}})
	if r := core.OK(mcptest.ConfigTool, get+`}`); strings.Contains(r.Text, "trials") {
		t.Errorf("get without the set device = %s, want no trials", r.Text)
	}
	core.Fails(mcptest.ConfigTool, take, term.InvalidArgument, "action snapshot is not offered here", "set device")
	core.Fails(mcptest.ConfigTool, get+`,"minutes":3}`, term.InvalidArgument, "set device")
}
