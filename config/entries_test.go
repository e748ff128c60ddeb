package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
)

const someKey = "key:SHA256:qRdtNWeJXGvlvrPvvLLDVzwM9g3ePMYn1vcKEcmTXj4"

func TestCredentials(t *testing.T) {
	const file = `[policy]
hosts = ["web*"]

[[policy.credential]]
source = "` + someKey + `"
hosts = ["web*", "db1"]
users = ["deploy"]
host_key = "recorded"

[session]
max_sessions = 3

[[policy.credential]]
source = "agent"
`
	want := []Credential{
		{Entry{Where: ":4"}, someKey, []string{"web*", "db1"}, []string{"deploy"}, HostKeyRecorded},
		{Entry{Where: ":13"}, "agent", nil, nil, ""},
	}
	for name, text := range map[string]string{
		"headers": file,
		"array of inline tables": `policy.credential = [{source = "` + someKey + `", hosts = ["web*", "db1"], users = ["deploy"], host_key = "recorded"},

{source = "agent"}]`,
	} {
		c, _, problems := load(t, text, nil, nil)
		if problems != nil {
			t.Fatalf("%s: %v", name, problems)
		}
		got := slices.Clone(c.Policy.Credential)
		for i := range got {
			got[i].Where = got[i].Where[strings.LastIndexByte(got[i].Where, ':'):]
		}
		if want[0].Where, want[1].Where = ":4", ":13"; name != "headers" {
			want[0].Where, want[1].Where = ":1", ":3"
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if name == "headers" && !strings.HasSuffix(c.Origin("policy.credential[0].users"), "ptyctl.toml:7") {
			t.Errorf("the origin of the first entry's users is %q, want line 7", c.Origin("policy.credential[0].users"))
		}
	}
}

// TestCredentialMistakes makes one mistake of each kind; each message must name its line.
func TestCredentialMistakes(t *testing.T) {
	const head = "[[policy.credential]]\n"
	for file, want := range map[string]string{
		head + `sorce = "agent"`:                `2:1: there is no key policy.credential.sorce; did you mean source? | 1:3: [[policy.credential]] has no source; give ` + credentialForm,
		head + "source = \"agent\"\ncolour = 1": `3:1: there is no key policy.credential.colour; remove it, or use a field of [[policy.credential]]: source, hosts, users, host_key`,
		head + "source = true": `2:10: policy.credential.source is a boolean; give ` +
			credentialForm + `, in quotes`,
		head + "source = \"agent\"\nhosts = \"web1\"":      `3:9: policy.credential.hosts is a string; give a list of words without spaces`,
		head + "source = \"agent\"\nhosts = [\"web1\", 2]": `3:18: policy.credential.hosts holds an integer; give a list of words without spaces`,
		head + "source = \"agent\"\nhost_key = \"record\"": `3:12: policy.credential.host_key is "record"; give one of recorded, pinned, or leave it empty`,
		head + `source = "key:MD5:00:11"`: `2:10: policy.credential.source is "key:MD5:00:11"; give ` +
			credentialForm,
		head + `source = ""`: `2:10: policy.credential.source is empty; give ` +
			credentialForm,
		head + `hosts = ["web1"]`: `1:3: [[policy.credential]] has no source; give ` +
			credentialForm,
		head + "source = \"agent\"\n[policy.credential.web]\nx = 1":     `3:2: there is no table [policy.credential.web]; remove it, or use a field of [[policy.credential]]: source, hosts, users, host_key`,
		"[policy.credential]\nsource = \"agent\"":                       `1:2: [policy.credential] would be a single table; write [[policy.credential]]`,
		"[[policy.credentials]]\nsource = \"agent\"":                    `1:3: there is no table [policy.credentials]; did you mean [[policy.credential]]?`,
		"[policy]\ncredential = \"agent\"":                              `2:1: policy.credential is a string, but it is a list of tables; write [[policy.credential]] on a line of its own and its fields below`,
		"[policy]\ncredential = [\"agent\"]":                            `2:1: policy.credential holds a string, but it is a list of tables; write [[policy.credential]] on a line of its own and its fields below`,
		"[policy]\ncredential.source = \"agent\"":                       `2:1: policy.credential.source is a field of a list of tables; write [[policy.credential]] on a line of its own and source below`,
		"[policy]\ncredentials = \"agent\"":                             `2:1: there is no key policy.credentials; did you mean [[policy.credential]]?`,
		head + "source = \"agent\"\n[policy]\ncredential.users=[\"x\"]": `4:1: this is not valid TOML (key credential is already defined); correct the line`,
	} {
		_, _, problems := load(t, file, nil, nil)
		var got []string
		for _, p := range problems {
			got = append(got, p.Error())
		}
		if strings.Join(got, " | ") != want {
			t.Errorf("%q:\ngot  %s\nwant %s", file, strings.Join(got, " | "), want)
		}
	}
}

// forward is a named table for these tests.
type forward struct {
	Entry
	Listen string
	Hosts  []string
	Wait   time.Duration
	Token  Secret
}

// forwards loads a document with [forward.NAME], besides the keys of ptyctl.
func forwards(t *testing.T, document string) (list []forward, l *loader) {
	t.Helper()
	var c Config
	l = &loader{
		rows:   table(&c, "/home/me"),
		origin: make(map[string]string),
		where:  make(map[string]string),
		doubt:  make(map[string]bool),
	}
	l.kinds = []kind{named(&list, "forward", "Ports that are forwarded.", func(f *forward) []row {
		return []row{
			text(&f.Listen, "listen", "", "Where it listens.").checked(hostPort).required("HOST:PORT", `"127.0.0.1:80"`),
			words(&f.Hosts, "hosts", "The hosts."),
			millis(&f.Wait, "wait_ms", time.Second, 0, time.Minute, "How long."),
			secret(&f.Token, "token", "A token."),
		}
	})}
	l.readTOML("f", []byte(document))
	return list, l
}

func TestNamedTables(t *testing.T) {
	for _, document := range []string{
		"[forward.web]\nlisten = \"[::1]:80\"\nwait_ms = 5\n[forward.d-b_1]\nlisten = \"db:5432\"\n",
		"[forward]\nweb = {listen = \"[::1]:80\", wait_ms = 5}\nd-b_1 = {listen = \"db:5432\"}\n",
		"[forward]\nweb.listen = \"[::1]:80\"\nd-b_1.listen = \"db:5432\"\nweb.wait_ms = 5\n",
		"forward.web.listen = \"[::1]:80\"\nforward.d-b_1.listen = \"db:5432\"\nforward.web.wait_ms = 5\n",
		"forward = {web = {listen = \"[::1]:80\", wait_ms = 5}, d-b_1 = {listen = \"db:5432\"}}\n",
	} {
		list, l := forwards(t, document)
		if len(l.problems) > 0 {
			t.Errorf("%q: %v", document, l.problems)
			continue
		}
		if len(list) != 2 || list[0].Name != "web" || list[0].Listen != "[::1]:80" || list[0].Wait != 5*time.Millisecond ||
			list[1].Name != "d-b_1" || list[1].Listen != "db:5432" || list[1].Wait != time.Second {
			t.Errorf("%q gives %+v", document, list)
		}
		if o := l.origin["forward.web.wait_ms"]; !strings.HasPrefix(o, "f:") {
			t.Errorf("%q: the origin of forward.web.wait_ms is %q", document, o)
		}
	}
}

func TestNamedTableMistakes(t *testing.T) {
	for document, want := range map[string]string{
		"[forward.web]\nlisen = \"a:1\"":                        `f:2:1: there is no key forward.web.lisen; did you mean listen? | f:1:2: [forward.web] has no listen; give HOST:PORT`,
		"[forward.web]\nlisten = \"a\"":                         `f:2:10: forward.web.listen is "a"; give HOST:PORT, such as 127.0.0.1:8765 or [::1]:8765`,
		"[forward.web]\nlisten = \"a:1\"\nwait_ms = \"1\"":      `f:3:11: forward.web.wait_ms is a string; give a whole number of milliseconds from 0 to 60000, without quotes`,
		"[[forward.web]]\nlisten = \"a:1\"":                     `f:1:3: [[forward.web]] would be a list of tables; write [forward.web]`,
		"[[forward]]\nlisten = \"a:1\"":                         `f:1:3: [[forward]] would be a list of tables; write [forward.NAME]`,
		"[forward.\"a.b\"]\nlisten = \"a:1\"":                   `f:1:2: "a.b" is not a valid name for [forward.NAME]; use up to 80 letters, digits, _ and -`,
		"[forward.web.x]\nlisten = \"a:1\"":                     `f:1:2: there is no table [forward.web.x]; remove it, or use a field of [forward.NAME]: listen, hosts, wait_ms, token`,
		"[forwad.web]\nlisten = \"a:1\"":                        `f:1:2: there is no table [forwad.web]; did you mean [forward.NAME]?`,
		"[forward]\nlisten = \"a:1\"":                           `f:2:1: forward.listen is a string, but it is a table; write [forward.listen] on a line of its own and its fields below`,
		"forward = 3":                                           `f:1:1: forward is an integer, but it is a table; write [forward.NAME] on a line of its own and its fields below`,
		"[forward.a]\nlisten = \"a:1\"\n[forward.a]\nwait_ms=1": `f:3:2: this is not valid TOML (table a already exists); correct the line`,
	} {
		_, l := forwards(t, document)
		var got []string
		for _, p := range l.problems {
			got = append(got, p.Error())
		}
		if strings.Join(got, " | ") != want {
			t.Errorf("%q:\ngot  %s\nwant %s", document, strings.Join(got, " | "), want)
		}
	}
}

// TestSecretsInTables checks that a secret in a table is never shown, and that a change
// of it is found.
func TestSecretsInTables(t *testing.T) {
	leaktest.Secret(t, "entry-1138")
	read := func(token string) (Table, reflect.Value, *loader) {
		list, l := forwards(t, "[forward.web]\nlisten = \"a:1\"\ntoken = "+token+"\n")
		return l.kinds[0].Table, reflect.ValueOf(list), l
	}
	table, one, _ := read(`"entry-1138"`)
	_, same, _ := read(`"entry-1138"`)
	_, other, _ := read(`"entry-other-1138"`)
	if !sameEntries(table, one, same) || sameEntries(table, one, other) {
		t.Error("secrets of tables are not compared by what they hide")
	}
	if got, want := entriesText(table, one), `{web = {listen = "a:1", token = "[redacted]"}}`; got != want {
		t.Errorf("the tables are shown as %s, want %s", got, want)
	}
	_, _, l := read(`["entry-1138"]`)
	leaktest.Output(t, "problems", fmt.Sprint(l.problems))
	if len(l.problems) != 1 {
		t.Errorf("problems %v, want one about the type", l.problems)
	}
}

// TestFieldsOfTables makes the checks of TestKeys and TestEveryFieldHasARow for the
// fields of tables.
func TestFieldsOfTables(t *testing.T) {
	for _, k := range kinds(new(Config), "/home/me") {
		if !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: %q is not a sentence", k.Path, k.Doc)
		}
		var c Config
		kinds := kinds(&c, "/home/me")
		i := slices.IndexFunc(kinds, func(o kind) bool { return o.Path == k.Path })
		_, add := kinds[i].begin(Entry{})
		add()
		entry := c.field(k.Path).Index(0)
		if got, want := entry.NumField(), len(k.Fields)+1; got != want { // and the Entry
			t.Errorf("%s: its struct has %d fields, want %d", k.Path, got, want)
		}
		for _, f := range k.Fields {
			if !field(entry, f.Path).IsValid() {
				t.Errorf("%s: its struct has no field for %s", k.Path, f.Path)
			}
			if !strings.HasSuffix(f.Doc, ".") || f.Form == "" || f.Env != "" || f.Flag.Name != "" ||
				f.Required && f.Example == "" {
				t.Errorf("%s: the field %+v is not whole", k.Path, f)
			}
			if got := tomlText(field(entry, f.Path)); got != f.Default {
				t.Errorf("%s.%s is %s, want its default %s", k.Path, f.Path, got, f.Default)
			}
		}
	}
}

// TestExampleOfTables uncomments the tables in the example and loads it.
func TestExampleOfTables(t *testing.T) {
	var file strings.Builder
	headers := 0
	inTable := false
	for line := range strings.Lines(Example()) {
		rest, comment := strings.CutPrefix(line, "# ")
		switch {
		case strings.HasPrefix(rest, "[") && comment:
			inTable = true
			headers++
		case !comment && strings.TrimSpace(line) != "#":
			inTable = false
		}
		if inTable && comment {
			line = rest
		}
		file.WriteString(line)
	}
	if headers != len(Tables()) {
		t.Fatalf("the example shows %d tables, want %d", headers, len(Tables()))
	}
	c, _, problems := load(t, file.String(), nil, nil)
	if problems != nil || len(c.Policy.Credential) != 1 || len(c.Policy.Credential[0].Hosts) != 2 {
		t.Errorf("problems %v, credentials %+v in\n%s", problems, c.Policy.Credential, file.String())
	}
}

// TestSettingsOfTables loads the tables that Settings shows.
func TestSettingsOfTables(t *testing.T) {
	const file = "[[policy.credential]]\nsource = \"agent\"\nhosts = [\"a\", \"b\"]\n[[policy.credential]]\nsource = " +
		"\"password\"\nhost_key = \"pinned\"\n"
	c, _, problems := load(t, file, nil, nil)
	if problems != nil {
		t.Fatal(problems)
	}
	var again strings.Builder
	last := ""
	for _, s := range c.Settings() {
		if !strings.HasPrefix(s.Key, "policy.credential") {
			continue
		}
		entry, field := cutTable(s.Key)
		if entry != last {
			fmt.Fprintln(&again, s.Header)
			last = entry
		}
		fmt.Fprintf(&again, "%s = %s\n", field, s.Value)
	}
	next, _, problems := load(t, again.String(), nil, nil)
	if problems != nil {
		t.Fatalf("%v in\n%s", problems, &again)
	}
	if changes := c.Changes(next); changes != nil {
		t.Errorf("the settings give %v", changes)
	}
	next.Policy.Credential = next.Policy.Credential[:1]
	want := []Change{
		{
			"policy.credential",
			`[{source = "agent", hosts = ["a", "b"]}, {source = "password", host_key = "pinned"}]`,
			`[{source = "agent", hosts = ["a", "b"]}]`,
			true,
		},
	}
	if got := c.Changes(next); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %v, want %v", got, want)
	}
}

func TestTablesAreNotInTheEnvironment(t *testing.T) {
	for _, name := range []string{"PTYCTL_POLICY_CREDENTIAL", "PTYCTL_POLICY_CREDENTIAL_SOURCE"} {
		_, warnings, _ := load(t, "", []string{name + "=agent"}, nil)
		if want := name + ": has no effect, because only the file can hold tables; use [[policy.credential]] there\n"; lines(
			warnings,
		) != want {
			t.Errorf("warnings %q, want %q", lines(warnings), want)
		}
	}
}
