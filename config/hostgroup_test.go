package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestHostGroups(t *testing.T) {
	for _, document := range []string{
		"[groups]\nweb = \"web[01-20]\"\ndb-1 = \"db[1-2],@web\"\n",
		"groups.web = \"web[01-20]\"\ngroups.db-1 = \"db[1-2],@web\"\n",
		"groups = {web = \"web[01-20]\", db-1 = \"db[1-2],@web\"}\n",
		"[groups.web]\nhosts = \"web[01-20]\"\n[groups.db-1]\nhosts = \"db[1-2],@web\"\n",
		"[groups]\nweb.hosts = \"web[01-20]\"\ndb-1 = \"db[1-2],@web\"\n",
		"[groups]\nweb = {hosts = \"web[01-20]\"}\ndb-1 = \"db[1-2],@web\"\n",
	} {
		c, _, problems := load(t, document, nil, nil)
		if problems != nil {
			t.Errorf("%q: %v", document, problems)
			continue
		}
		got := make(map[string]string)
		for _, g := range c.Groups {
			got[g.Name] = g.Hosts
		}
		if want := map[string]string{"web": "web[01-20]", "db-1": "db[1-2],@web"}; !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %v, want %v", document, got, want)
		}
		if o := c.Origin("groups.web.hosts"); !strings.Contains(o, "ptyctl.toml:") {
			t.Errorf("%q: the origin of groups.web.hosts is %q, want a line", document, o)
		}
	}
}

func TestHostGroupMistakes(t *testing.T) {
	const form = `hosts such as "web[01-20],@db"`
	for file, want := range map[string]string{
		"[groups]\nweb = 5":                `2:7: groups.web.hosts is an integer; give ` + form,
		"[groups]\nweb = [\"web1\"]":       `2:7: groups.web.hosts is an array; give ` + form,
		"[groups]\nweb = \"\"":             `2:7: groups.web.hosts is empty; give ` + form,
		"[groups]\n\"a b\" = \"c\"":        `2:1: "a b" is not a valid name for [groups.NAME]; use up to 80 letters, digits, _ and -`,
		"groups = \"web\"":                 `1:1: groups is a string, but it is a table; write [groups.NAME] on a line of its own and its fields below`,
		"[groups.web]\nhost = \"a\"":       `2:1: there is no key groups.web.host; did you mean hosts? | 1:2: [groups.web] has no hosts; give ` + form,
		"[[groups]]\nweb = \"a\"":          `1:3: [[groups]] would be a list of tables; write [groups.NAME]`,
		"[group]\nweb = \"a\"":             `1:2: there is no table [group]; did you mean [groups.NAME]?`,
		"[groups]\nweb = \"a\"\nweb=\"b\"": `3:1: this is not valid TOML (key web is already defined); correct the line`,
	} {
		_, _, problems := load(t, file, nil, nil)
		var got []string
		for _, p := range problems {
			got = append(got, p.Error())
		}
		text := strings.Join(got, " | ")
		if !strings.HasPrefix(text, want) {
			t.Errorf("%q:\ngot  %s\nwant %s", file, text, want)
		}
	}
}
