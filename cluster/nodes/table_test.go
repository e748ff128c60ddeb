package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// testNode returns a node with a limit of 100 sessions, and the label site.
func testNode(name, site string, sessions int) Node {
	return Node{
		Name: name, Version: "1.0.0", WireMin: 1, WireMax: 2, Key: make([]byte, 32),
		Labels: map[string]string{"site": site}, Sessions: sessions, MaxSessions: 100, Started: time.Unix(1, 0),
	}
}

// states returns the states of all nodes.
func states(t *table) string {
	var all []string
	for _, s := range t.list(time.Now()) {
		all = append(all, s.Name+" "+string(s.State))
	}
	return strings.Join(all, ", ")
}

// A node that is not heard of becomes silent on the clock alone, and is forgotten much later. Reports of the servers
// about an old write have no effect.
func TestTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{ttl: 15 * time.Second}
		want := func(text string) {
			t.Helper()
			if got := states(tab); got != text {
				t.Errorf("after %v: %q, want %q", time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), got, text)
			}
		}
		hear := func(changed bool, n Node, revision uint64) {
			t.Helper()
			if got := tab.heard(n, revision, time.Now()); got != changed {
				t.Errorf("heard(%s, %d) reports %v, want %v", n.Name, revision, got, changed)
			}
		}
		hear(true, testNode("b", "x", 0), 1)
		hear(true, testNode("a", "x", 0), 2)
		want("a live, b live")
		if got := tab.lookup("c", time.Now()); got.State != Unknown || got.Name != "c" {
			t.Errorf("a node that never was: %+v", got)
		}
		time.Sleep(10 * time.Second)
		hear(false, testNode("a", "x", 7), 3) // a load is no change
		hear(false, testNode("b", "x", 0), 1) // the same write, from another watch
		if changed, next := tab.pass(time.Now()); changed || time.Until(next) != 5*time.Second {
			t.Errorf("pass = %v, in %v; want nothing, until b becomes silent in 5s", changed, time.Until(next))
		}
		time.Sleep(5 * time.Second)
		want("a live, b silent") // before pass is called
		if changed, next := tab.pass(time.Now()); !changed || time.Until(next) != 10*time.Second {
			t.Errorf("pass = %v, in %v; want a change, and the next in 10s", changed, time.Until(next))
		}
		hear(true, testNode("b", "x", 0), 4)
		want("a live, b live")

		draining := testNode("b", "x", 0)
		draining.Draining = true
		hear(true, draining, 5)
		if tab.expired("b", 4) || tab.left("b", 4) || tab.expired("c", 9) || tab.left("c", 9) {
			t.Error("an old report, or one of a stranger, has changed the table")
		}
		if !tab.expired("b", 6) || tab.expired("b", 6) {
			t.Error("the servers' word that b has expired is no change, or is one twice")
		}
		want("a live, b silent")
		if !tab.left("a", 8) {
			t.Error("a has left without a change")
		}
		want("b silent")

		// A watch that begins again does not report the nodes that have expired meanwhile.
		hear(true, testNode("b", "x", 0), 9)
		hear(true, testNode("c", "x", 0), 10)
		tab.begin()
		hear(false, testNode("c", "x", 0), 10)
		if !tab.complete() {
			t.Error("a node that has gone meanwhile is no change")
		}
		want("b silent, c live")

		// A bucket that was made again begins with low revisions. They count once the node was silent.
		hear(false, testNode("c", "x", 0), 1)
		time.Sleep(15 * time.Second)
		hear(false, testNode("c", "x", 0), 10)
		if changed, _ := tab.pass(time.Now()); !changed {
			t.Error("c is not silent")
		}
		hear(true, testNode("c", "x", 0), 2)
		hear(false, testNode("c", "x", 0), 3)
		want("b silent, c live")
		tab.restart()
		time.Sleep(10 * time.Second)
		hear(false, testNode("c", "x", 0), 1)
		time.Sleep(10 * time.Second)
		want("b silent, c live")

		time.Sleep(remember + 15*time.Second)
		if changed, next := tab.pass(time.Now()); !changed || !next.IsZero() {
			t.Errorf("pass after an hour = %v, %v; want that all are forgotten", changed, next)
		}
		want("")
	})
}

// Names of nodes that are gone take a bounded room.
func TestSilentAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{ttl: 15 * time.Second}
		for i := range maxSilent + 10 {
			tab.heard(testNode(fmt.Sprintf("n%d", i), "x", 0), uint64(i+1), time.Now())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		tab.pass(time.Now())
		if len(tab.all) != maxSilent {
			t.Errorf("%d silent nodes are remembered, want %d", len(tab.all), maxSilent)
		}
		if s := tab.lookup("n0", time.Now()); s.State != Unknown {
			t.Errorf("the node that was heard of first is %s, want that it is forgotten", s.State)
		}
	})
}

func TestPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := &table{ttl: 15 * time.Second}
		add := func(n Node) { tab.heard(n, uint64(len(tab.all)+1), time.Now()) }
		add(testNode("gone", "oslo", 0))
		time.Sleep(15 * time.Second)
		busy, old, drained, full := testNode("busy", "fra", 50), testNode("old", "rio", 0), testNode("drained", "lyon", 0), testNode("full", "bern", 100)
		old.WireMax, drained.Draining = 1, true
		drained.Labels["zone"] = "a"
		add(busy)
		add(old)
		add(drained)
		add(full)
		add(testNode("idle2", "fra", 10))
		add(testNode("idle1", "fra", 10))
		endless := testNode("endless", "ulm", 99) // of 1,000
		endless.MaxSessions = 0
		add(endless)
		for name, tt := range map[string]struct {
			need Need
			want string // the node, or the error
		}{
			"least load":      {Need{Labels: map[string]string{"site": "fra"}}, "idle1"},
			"excluded":        {Need{Labels: map[string]string{"site": "fra"}, Exclude: []string{"idle1", "idle2"}}, "busy"},
			"no limit":        {Need{Exclude: []string{"old"}}, "endless"},
			"an older node":   {Need{WireMin: 1, WireMax: 2}, "old"},
			"a label":         {Need{Labels: map[string]string{"site": "oslo", "zone": "a"}}, "no live node has the labels: site=oslo (1 more nodes are silent)"},
			"all labels":      {Need{Labels: map[string]string{"site": "fra", "zone": "a"}}, "no live node has all of the labels: site=fra, zone=a"},
			"no protocol":     {Need{Labels: map[string]string{"site": "rio"}}, "no node that remains speaks a protocol of this node: old"},
			"newer":           {Need{WireMin: 3, WireMax: 9}, "speaks a protocol of this node: busy, drained, endless, full, idle1, idle2, old"},
			"draining":        {Need{Labels: map[string]string{"zone": "a"}}, "because they are draining: drained"},
			"full":            {Need{Labels: map[string]string{"site": "bern"}}, "as many sessions as they may: full"},
			"full for a host": {Need{Labels: map[string]string{"site": "bern"}, Host: "rack1"}, "full"},
			"none left":       {Need{Labels: map[string]string{"site": "bern"}, Exclude: []string{"full"}}, "excluded: full"},
		} {
			if tt.need.WireMax == 0 {
				tt.need.WireMin, tt.need.WireMax = 2, 3
			}
			e, err := tab.place(tt.need, time.Now())
			if err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && e.node.Name != tt.want {
				t.Errorf("%s: place = %+v, %v; want %q", name, e, err, tt.want)
			}
			if failed, ok := err.(*PlaceError); ok {
				if want := failed.Why == AllDraining || failed.Why == AllFull || failed.Why == NoLabels; failed.Retryable() != want {
					t.Errorf("%s: %v has Retryable %v, want %v", name, err, !want, want)
				}
			}
		}
		time.Sleep(15 * time.Second)
		if e, err := tab.place(Need{WireMin: 1, WireMax: 1}, time.Now()); err == nil || !strings.Contains(err.Error(), "no node is live (8 more") {
			t.Errorf("with silent nodes only: %+v, %v", e, err)
		}
	})
}

// All nodes choose the same node for a host, whatever the loads, and only the hosts of a node move when it goes.
func TestPlaceByHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes, hosts = 10, 10_000
		one, other := &table{ttl: time.Minute}, &table{ttl: time.Minute}
		for i := range nodes {
			one.heard(testNode(fmt.Sprintf("node-%d", i), "x", i), uint64(i+1), time.Now())
			other.heard(testNode(fmt.Sprintf("node-%d", nodes-1-i), "x", i), uint64(i+1), time.Now())
		}
		choose := func(tab *table, host string) string {
			e, err := tab.place(Need{Host: host, WireMin: 1, WireMax: 1}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return e.node.Name
		}
		chosen, count := make(map[string]string), make(map[string]int)
		for i := range hosts {
			host := fmt.Sprintf("rack-%d", i)
			chosen[host] = choose(one, host)
			count[chosen[host]]++
			if again := choose(other, host); again != chosen[host] {
				t.Fatalf("%s: the tables choose %s and %s", host, chosen[host], again)
			}
		}
		if least := slices.Min(slices.Collect(maps.Values(count))); len(count) != nodes || least < hosts/nodes*8/10 {
			t.Errorf("the hosts are spread unevenly: %v", count)
		}
		one.left("node-3", 100)
		for host, before := range chosen {
			if now := choose(one, host); now != before && before != "node-3" {
				t.Fatalf("%s has moved from %s to %s, although only node-3 has left", host, before, now)
			}
		}
		// The choice is part of the protocol between nodes of different versions.
		fixed := map[string]string{"rack-0": chosen["rack-0"], "rack-1": chosen["rack-1"], "10.0.0.1": choose(other, "10.0.0.1")}
		if got := fmt.Sprint(fixed); got != fixedChoices {
			t.Errorf("the choices are %s, and were %s in released versions", got, fixedChoices)
		}
	})
}

const fixedChoices = "map[10.0.0.1:node-4 rack-0:node-7 rack-1:node-1]"

func TestParseLabels(t *testing.T) {
	got, err := ParseLabels([]string{"site=fra", "a/b=x=y", "empty="})
	if want := map[string]string{"site": "fra", "a/b": "x=y", "empty": ""}; err != nil || !maps.Equal(got, want) {
		t.Errorf("ParseLabels = %v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"site", "=fra", "a b=c", strings.Repeat("x", 64) + "=", "x=" + strings.Repeat("y", 256)} {
		if got, err := ParseLabels([]string{bad}); err == nil {
			t.Errorf("ParseLabels(%q) = %v", bad, got)
		}
	}
	if _, err := ParseLabels([]string{"a=b", "a=c"}); err == nil {
		t.Error("a label is there twice, without an error")
	}
}

// Another node may write anything to its key.
func TestDecode(t *testing.T) {
	good, err := value{ID: "x", Node: testNode("a", "x", 1)}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := decode("node.a", good); err != nil || v.Name != "a" || v.Labels["site"] != "x" || !v.Started.Equal(time.Unix(1, 0)) {
		t.Errorf("decode = %+v, %v", v, err)
	}
	if v, err := decode("node.a", []byte(strings.Replace(string(good), `{"v":1,`, `{"v":2,"more":[1],`, 1))); err != nil || v.Name != "a" {
		t.Errorf("of a later version: %+v, %v", v, err)
	}
	for name, text := range map[string]string{
		"another's key":  strings.Replace(string(good), `"name":"a"`, `"name":"b"`, 1),
		"no JSON":        "?",
		"no protocol":    strings.Replace(string(good), `"wire_min":1`, `"wire_min":9`, 1),
		"too long":       strings.Replace(string(good), `"version":"1.0.0"`, `"more":"`+strings.Repeat("x", maxValue)+`"`, 1),
		"a long version": strings.Replace(string(good), "1.0.0", strings.Repeat("1", maxVersion+1), 1),
		"a short key":    strings.Replace(string(good), `"key":"AAAA`, `"key":"`, 1),
		"a negative":     strings.Replace(string(good), `"sessions":1`, `"sessions":-1`, 1),
		"a wild label":   strings.Replace(string(good), `"site"`, `"\u001b[2J"`, 1),
	} {
		if v, err := decode("node.a", []byte(text)); err == nil {
			t.Errorf("%s: decode = %+v", name, v)
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	tab := &table{ttl: time.Hour}
	for i := range 1000 {
		n := testNode(fmt.Sprintf("node-%d", i), fmt.Sprint("site", i%10), i%90)
		n.Labels["zone"] = "a"
		tab.heard(n, uint64(i+1), time.Now())
	}
	for name, need := range map[string]Need{
		"load":        {WireMin: 1, WireMax: 1},
		"labels":      {WireMin: 1, WireMax: 1, Labels: map[string]string{"site": "site3", "zone": "a"}},
		"host":        {WireMin: 1, WireMax: 1, Host: "rack-1"},
		"labels+host": {WireMin: 1, WireMax: 1, Labels: map[string]string{"site": "site3", "zone": "a"}, Host: "rack-1"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			now := time.Now()
			for b.Loop() {
				if _, err := tab.place(need, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHeard(b *testing.B) {
	tab := &table{ttl: time.Hour}
	for i := range 1000 {
		tab.heard(testNode(fmt.Sprintf("node-%d", i), "x", 0), uint64(i+1), time.Now())
	}
	text, err := value{ID: "x", Node: testNode("node-500", "x", 1)}.encode()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for revision := uint64(2000); b.Loop(); revision++ {
		v, err := decode("node.node-500", text)
		if err != nil {
			b.Fatal(err)
		}
		tab.heard(v.Node, revision, time.Now())
	}
}
