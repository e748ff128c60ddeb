package fleet

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// An inventory that has changed counts for the next call; groups and the paths of inventories that have changed count
// when the configuration has been read again.
func TestHostsChange(t *testing.T) {
	t.Parallel()
	h := lab.NewHome(t)
	base := string(lab.ReadFile(t, h.Config))
	path := func(name string) string { return filepath.Join(h.Dir, name) }
	configure := func(inventory, genders, groups string) {
		h.Write(t, h.Config, base+"[fleet]\ninventories = ['"+path(inventory)+"']\ngenders = '"+path(genders)+
			"'\n[groups]\n"+groups)
	}
	h.Write(t, path("site.ini"), "[web]\nweb[1:2]\n")
	h.Write(t, path("lab.ini"), "[web]\nlab[1:4]\n")
	h.Write(t, path("genders"), "db[1-2] db\n")
	h.Write(t, path("genders2"), "db[1-9] db\n")
	configure("site.ini", "genders", `front = "@web,lb1"`)
	c := h.Connect(t, "--toolsets", "core,fleet", "--results", "compact")
	want := func(expression, hosts string) {
		t.Helper()
		var a struct{ Hosts string }
		res := c.Call(t, tool, `{"action":"hosts","hosts":[%s]}`, expression)
		if err := json.Unmarshal([]byte(res.Text), &a); err != nil || a.Hosts != hosts {
			t.Errorf("%s means %q, %v; want %s", expression, a.Hosts, err, hosts)
		}
	}
	reload := func() {
		t.Helper()
		const said = "the configuration was reloaded"
		before := strings.Count(c.EngineLog(), said)
		if err := system.Kill(c.PID, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		lab.Eventually(t, "the end of the reload", func() bool { return strings.Count(c.EngineLog(), said) > before })
	}
	want("@front", "lb1,web[1-2]")
	want("@db", "db[1-2]")

	h.Write(t, path("site.ini"), "[web]\nweb[1:7]\n")
	h.Write(t, path("genders"), "db[1-3] db\n")
	want("@front", "lb1,web[1-7]")
	want("@db", "db[1-3]")

	configure("lab.ini", "genders2", `front = "@web!lab4"`)
	want("@front", "lb1,web[1-7]")
	reload()
	want("@front", "lab[1-3]")
	want("@db", "db[1-9]")
	configure("lab.ini", "genders2", `other = "x"`)
	reload()
	c.Refused(t, "INVALID_ARGUMENT", tool, `{"action":"hosts","hosts":["@front"]}`)
	want("@other", "x")

	// Groups that are wrong stay as they were, and the log says which; the rest counts.
	configure("site.ini", "genders2", "other = \"y\"\nbad = \"web[1-\"")
	reload()
	want("@other", "x")
	want("@web", "web[1-7]")
	for _, part := range []string{"the group @bad of [groups]", "[groups] was not reloaded"} {
		if log := c.EngineLog(); !strings.Contains(log, part) {
			t.Errorf("the log of a reload with a wrong group: %s; want %q in it", log, part)
		}
	}
	if r := c.Refused(t, "INVALID_ARGUMENT", tool, `{"action":"hosts","hosts":["web[1-1001]"]}`); !strings.Contains(r.Text, "fleet.max_hosts") {
		t.Errorf("too many hosts: %s; want the key of the limit", r.Text)
	}
}
