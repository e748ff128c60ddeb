package nodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/fleet/nodeset"
)

// groupsOfClusterShell reads the groups of testdata/groups.yaml, from which ClusterShell made its answers.
func groupsOfClusterShell(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/groups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, expression, ok := strings.Cut(strings.TrimSpace(line), ": '"); ok {
			groups[name] = strings.TrimSuffix(expression, "'")
		}
	}
	return groups
}

func TestClusterShell(t *testing.T) {
	book := Sources{Groups: groupsOfClusterShell(t)}.Read(t.Context())
	f, err := os.Open("testdata/clustershell")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	compared := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, want, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			continue
		}
		compared++
		sel, err := book.Select([]string{strings.ReplaceAll(text, "local:", "groups:")}, DefaultMost)
		if err != nil {
			t.Errorf("Select(%q): %v, want %s", text, err, want)
			continue
		}
		if got := nodeset.Fold(sel.Labels()); got != want {
			t.Errorf("Select(%q) = %s, want %s", text, got, want)
		}
	}
	if compared < 35 {
		t.Errorf("testdata/clustershell has %d expressions, want at least 35", compared)
	}
}

// testBook has one source of each kind.
func testBook(t testing.TB) *Book {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hosts.ini": "web1 ansible_host=192.0.2.1 ansible_user=www ansible_port=2222\nweb2\nsealed ansible_host={{x}}\n[web]\nweb[1:2]\n[empty]\n",
		"lab.yaml":  "lab: {hosts: {lab1: , web1: {ansible_host: 198.51.100.1}}}\nweb: {hosts: {lab1: }}\n",
		"genders":   "gen[1-2] role=db\n",
		"bad.yaml":  "plugin: x\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Sources{
		Groups: map[string]string{
			"own":    "admin@o[1-2]:2200,@web",
			"loop":   "@pool",
			"pool":   "a,@loop",
			"broken": "a[",
			"known":  "@*!lab*",
			"locals": "127.0.0.1:[2201-2204]",
		},
		GroupsFrom:  "own.toml",
		Aliases:     func(context.Context) ([]string, error) { return []string{"alias1", "web2"}, nil },
		Inventories: []string{filepath.Join(dir, "hosts.ini"), filepath.Join(dir, "lab.yaml"), filepath.Join(dir, "bad.yaml")},
		Genders:     filepath.Join(dir, "genders"),
	}.Read(t.Context())
}

func TestSelect(t *testing.T) {
	book := testBook(t)
	for _, tt := range []struct{ expressions, want string }{
		{"web1", "web1=www@192.0.2.1:2222"},
		{"root@web1", "root@web1=root@192.0.2.1:2222"},
		{"web1:22", "web1:22=www@192.0.2.1:22"},
		{"WEB1", "WEB1=WEB1"},
		{"@web", "web1=www@192.0.2.1:2222 web2=web2"},
		{"@lab:web", "lab1=lab1"},
		{"@lab:*", "lab1=lab1 web1=198.51.100.1"},
		{"@own", "admin@o1:2200=admin@o1:2200 admin@o2:2200=admin@o2:2200 web1=www@192.0.2.1:2222 web2=web2"},
		{"@own;!o1", "admin@o2:2200=admin@o2:2200 web1=www@192.0.2.1:2222 web2=web2"},
		{"!o1;@own;!web*", "admin@o2:2200=admin@o2:2200"},
		{"!@web!o1,o2;@own,x", "x=x"},
		{"@own;&web*", "web1=www@192.0.2.1:2222 web2=web2"},
		{"@own,!web1", "admin@o1:2200=admin@o1:2200 admin@o2:2200=admin@o2:2200 web2=web2"},
		{"@web!192.0.2.1", "web2=web2"},
		{"@web!root@web2", "web1=www@192.0.2.1:2222"},
		{"@web!root@web1", "web1=www@192.0.2.1:2222 web2=web2"},
		{"@locals!127.0.0.1:[2202-2203]", "127.0.0.1:2201=127.0.0.1:2201 127.0.0.1:2204=127.0.0.1:2204"},
		{"@role=db", "gen1=gen1 gen2=gen2"},
		{"@genders:role=db!gen1", "gen2=gen2"},
		{"@ssh:*", "alias1=alias1 web2=web2"},
		{"*1", "web1=www@192.0.2.1:2222 gen1=gen1 alias1=alias1 127.0.0.1:2201=127.0.0.1:2201 " +
			"127.0.0.1:2202=127.0.0.1:2202 127.0.0.1:2203=127.0.0.1:2203 127.0.0.1:2204=127.0.0.1:2204 " +
			"admin@o1:2200=admin@o1:2200 lab1=lab1"},
		{"root@gen*:23", "root@gen1:23=root@gen1:23 root@gen2:23=root@gen2:23"},
		{"@known&gen*", "gen1=gen1 gen2=gen2"},
		{"a@[2001:db8::1]:22,2001:db8::2", "a@[2001:db8::1]:22=a@2001:db8::1:22 2001:db8::2=2001:db8::2"},
		{"ssh://u@h:1", "u@h:1=u@h:1"},
		{"web2,web2,web[2]", "web2=web2"},
	} {
		sel, err := book.Select(strings.Split(tt.expressions, ";"), 100)
		if err != nil {
			t.Errorf("Select(%q): %v, want %s", tt.expressions, err, tt.want)
			continue
		}
		var got []string
		for _, h := range sel.Hosts {
			text := h.Target()
			if h.User != "" {
				text = h.User + "@" + text
			}
			if h.Port > 0 {
				text += fmt.Sprint(":", h.Port)
			}
			got = append(got, h.Label+"="+text)
			if h.From == "" || h.Name == "" {
				t.Errorf("Select(%q) has the host %+v, want one with a name and an origin", tt.expressions, h)
			}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("Select(%q) = %s, want %s", tt.expressions, text, tt.want)
		}
	}
}

func TestSelectRefuses(t *testing.T) {
	book := testBook(t)
	for expressions, want := range map[string]string{
		"":                         "is empty",
		"!web1":                    "no host is named",
		"web1!":                    "at its end",
		"web1,,web2":               "no host beside an operator",
		"web1!!web2":               "no host beside an operator",
		"web1^web2":                "operator ^",
		"!web1&web2;@web":          "has an &",
		"web1;!web1":               "no host is left",
		"@wbe":                     "did you mean @web?",
		"@nothing-like-it":         "there are @all, @broken",
		"@lab:own":                 "no group @lab:own",
		"@x:web":                   "names no source of groups: there are groups, hosts, lab, bad, genders, ssh",
		"@loop":                    "contains itself: @loop > @pool > @loop",
		"@broken":                  "the group @broken of own.toml",
		"@web*":                    "is a pattern",
		"zz*":                      "no known host",
		"*@web1":                   "in its user",
		"web[1-999999999]":         "means 999999999 hosts, and at most 100 are possible",
		"w[1-99]x[1-99]":           "mean 9801 hosts",
		"a[1-60],b[1-60]":          "mean 120 hosts",
		"a[1-90000];b[1-90000]":    "at most 100",
		"sealed":                   "exclude the host with !sealed",
		"@all":                     "{{",
		"alice:hunter2@web1":       "holds a password",
		"web1,a:hunter2@web[":      "holds a password",
		"!a:hunter2@web[":          "no host is named",
		"web1;!a:hunter2@[":        "holds a password",
		"telnet://sw1":             "Telnet",
		"-oProxyCommand=x":         "does not begin with -",
		"-l@web1":                  "does not begin with -",
		"web1:0":                   "port",
		"web1\x1b[31m":             "[",
		"http://web1":              "scheme",
		"web1$(id)":                "no name has",
		"a`id`@web1":               "no name has",
		"web1\u202e":               "no name has",
		"web1\u00a0web2":           "no name has",
		"a\u200bb@web1":            "no name has",
		strings.Repeat("a,", 9000): "at its end",
	} {
		_, err := book.Select(strings.Split(expressions, ";"), 100)
		e, ok := errors.AsType[*Error](err)
		if want == "{{" {
			want = "is a template"
		}
		if !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("Select(%.60q) = %v, want an *Error with %q", expressions, err, want)
			continue
		}
		if strings.Contains(e.Error()+e.Expression, "hunter2") && e.Expression == "" || strings.ContainsAny(e.Error(), "\x1b\n\u202e\u00a0\u200b") {
			t.Errorf("Select(%.60q) = %v, which shows what it must not", expressions, err)
		}
		if strings.Contains(e.Error(), "at most 100") != (e.Most == 100) {
			t.Errorf("Select(%.60q): Most = %d for %v", expressions, e.Most, err)
		}
	}
}

func TestNotes(t *testing.T) {
	book := testBook(t)
	for expressions, want := range map[string]string{
		"web1;!wbe1":          "!wbe1 excludes none of the hosts",
		"web1!web2":           "!web2 excludes none of the hosts",
		"lab":                 "lab is a host of this name; the group is @lab",
		"@web":                "lab.yaml has such a group, too: @lab:web",
		"@empty,web1":         "@empty of",
		"web1":                "the source bad was not read",
		"web1,192.0.2.1:2222": "web1 and 192.0.2.1:2222 have one address, 192.0.2.1",
	} {
		sel, err := book.Select(strings.Split(expressions, ";"), 100)
		if err != nil {
			t.Errorf("Select(%q): %v", expressions, err)
			continue
		}
		if !slices.ContainsFunc(sel.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("Select(%q) has the notes %q, want one with %q", expressions, sel.Notes, want)
		}
	}
}

func FuzzSelect(f *testing.F) {
	for _, text := range []string{"@web!web1", "a,b&c", "*", "@own;!o1;&@web", "root@web[1-2]:22", "@locals", "@known"} {
		f.Add(text)
	}
	book := testBook(f)
	f.Fuzz(func(t *testing.T, text string) {
		expressions := strings.Split(text, ";")
		sel, err := book.Select(expressions, 200)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("Select(%q) = %v, want an *Error", expressions, err)
			}
			return
		}
		if len(sel.Hosts) == 0 || len(sel.Hosts) > 200 {
			t.Errorf("Select(%q) has %d hosts, want 1 to 200", expressions, len(sel.Hosts))
		}
		again, err := book.Select(expressions, 200)
		if err != nil || !slices.Equal(sel.Labels(), again.Labels()) {
			t.Errorf("Select(%q) = %q, and then %v, %v", expressions, sel.Labels(), again, err)
		}
		labels := slices.Clone(sel.Labels())
		slices.Sort(labels)
		if len(slices.Compact(labels)) != len(sel.Hosts) {
			t.Errorf("Select(%q) has a label twice: %q", expressions, sel.Labels())
		}
	})
}

func ExampleSources() {
	book := Sources{Groups: map[string]string{"web": "web[01-20].example.net", "front": "@web,lb[1-2]"}}.Read(context.Background())
	sel, err := book.Select([]string{"@front", "!web07.example.net"}, DefaultMost)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(sel.Hosts), nodeset.Fold(sel.Labels()))
	// Output: 21 lb[1-2],web[01-06,08-20].example.net
}
