package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ptyctl/fleet/batch"
	"ptyctl/fleet/groups"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// newCall begins a call of an action.
func newCall(action string) *toolset.Call {
	c := new(toolset.Call)
	new(toolset.Shared).Begin(c, &toolset.Set{}, Tool, action, nil, nil)
	return c
}

// The example of each action, and the one that an error about an argument shows, is a call that the table takes.
func TestExamples(t *testing.T) {
	for _, a := range Tool.Actions {
		if _, err := Tool.Decode(json.RawMessage(a.Example), a.Name); err != nil {
			t.Errorf("the example of %s, %s, is refused: %v", a.Name, a.Example, err)
		}
		for i := range Tool.Fields {
			f := &Tool.Fields[i]
			if !f.Takes(a.Name) {
				continue
			}
			example := term.FactOf[term.ArgumentFault](Tool.Checker(a.Name).Invalid(f.Name, nil, "wrong")).Example
			var given map[string]any
			if err := json.Unmarshal([]byte(example), &given); err != nil || given[f.Name] == nil {
				t.Errorf("the example for %s of %s is %s; want it to have the argument", f.Name, a.Name, example)
			}
			in, err := Tool.Decode(json.RawMessage(example), a.Name)
			if err != nil {
				t.Errorf("the example for %s of %s, %s, is refused: %v", f.Name, a.Name, example, err)
				continue
			}
			if a.Name == "run" {
				if _, err := request(newCall(a.Name), in.(*args)); err != nil {
					t.Errorf("the example for %s, %s, is no run: %v", f.Name, example, err)
				}
			}
		}
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]batch.Count{"": {}, "10": {N: 10}, "25%": {Percent: 25}, "100%": {Percent: 100}, "5 %": {Percent: 5}} {
		if got, err := count(newCall("run"), "batch", text); got != want || err != nil {
			t.Errorf("count(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "0%", "101%", "x", "%", "1.5", "99999999999999999999"} {
		if got, err := count(newCall("run"), "batch", text); err == nil {
			t.Errorf("count(%q) = %+v, want an error", text, got)
		}
	}
}

// A result keeps to its bytes however many escapes its text needs.
func TestFitted(t *testing.T) {
	set := groups.New(groups.Options{})
	for i := range 30 {
		a := set.Answer(fmt.Sprintf("web%d", i))
		_, _ = a.Stdout.Write([]byte(strings.Repeat("\"\\\x00", 2000) + fmt.Sprint(i%7)))
		a.Exit(i % 3)
	}
	for _, most := range []int{0, 800, 2000, 5000, 50_000} {
		out := fitted(most, func(l groups.Limits) *runOut {
			out := &runOut{FleetID: "f-5t2k9w3m", Hosts: 30}
			out.report(set.Report(l))
			return out
		})
		text, err := wire.Compact(out)
		if limit := max(most, 2000); most > 800 && (err != nil || len(text) > limit || len(out.Groups) == 0) {
			t.Errorf("fitted(%d) has %d bytes, %v; want at most %d", most, len(text), err, limit)
		}
		hosts := 0
		for _, g := range out.Groups {
			hosts += max(g.N, 1)
		}
		if out.Rest != nil {
			hosts += max(out.Rest.N, 1)
		}
		if hosts != 30 {
			t.Errorf("fitted(%d) tells of %d hosts, want all 30", most, hosts)
		}
	}
}

// The end of a text that has a rune in part is known by its length.
func TestPartial(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 0, "ab\u00e9": 0, "ab\xc3": 1, "a\xe2\x82": 2, "a\xf0\x9f\x98": 3, "a\xff": 0, "\x82\x82\x82\x82": 0,
	} {
		if got := partial([]byte(text)); got != want {
			t.Errorf("partial(%q) = %d, want %d", text, got, want)
		}
	}
}

// A compact group leaves out exit code 0, and the first its hosts only where they are all the others.
func TestCompactGroups(t *testing.T) {
	group := func(hosts string, n, exit int) groupOut {
		return groupOut{namesOut: namesOut{Hosts: hosts, N: n}, ExitCode: &exit}
	}
	for _, tt := range []struct {
		name, want string
		out        runOut
	}{
		{"one is different", `{"groups":[{"n":11},{"hosts":"n05","exit_code":1}]}`, runOut{
			Hosts: 12, Groups: []groupOut{group("n[01-04,06-12]", 11, 0), group("n05", 0, 1)},
		}},
		{"all fail alike", `{"groups":[{"hosts":"n[01-12]","n":12,"exit_code":7}]}`, runOut{
			Hosts: 12, Groups: []groupOut{group("n[01-12]", 12, 7)},
		}},
		{"no majority", `{"groups":[{"hosts":"n[01-02]","n":2},{"hosts":"n03"},{"hosts":"n04"}]}`, runOut{
			Hosts: 4, Groups: []groupOut{group("n[01-02]", 2, 0), group("n03", 0, 0), group("n04", 0, 0)},
		}},
		{"others are cut", `{"groups":[{"hosts":"n[01-50]","n":50},{"hosts":"a,b,…","n":40}]}`, runOut{
			Hosts: 90, Groups: []groupOut{group("n[01-50]", 50, 0), group("a,b,…", 40, 0)},
		}},
		{
			"one has failed",
			`{"hosts":4,"groups":[{"hosts":"n[01-02]","n":2},{"hosts":"n03"}],"failures":[{"error_code":"connect_failed","hosts":"n04"}]}`,
			runOut{
				Hosts: 4, Groups: []groupOut{group("n[01-02]", 2, 0), group("n03", 0, 0)},
				Failures: []failureOut{{ErrorCode: "connect_failed", namesOut: namesOut{Hosts: "n04"}}},
			},
		},
	} {
		names := tt.out.Groups[0].Hosts
		if got, err := wire.Compact(&tt.out); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
		if tt.out.Groups[0].Hosts != names {
			t.Errorf("%s: the result has lost its hosts", tt.name)
		}
	}
}
