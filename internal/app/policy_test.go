package app

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/config"
	"ptyctl/internal/callers"
	"ptyctl/internal/logging"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/verdict"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// TestPresetNames: the configuration takes the presets that there are.
func TestPresetNames(t *testing.T) {
	want := policy.PresetNames()
	got := []string{string(config.PolicyPresetReadOnlyLinux), string(config.PolicyPresetReadOnlyNetwork)}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("policy.preset takes %q, want %q", got, want)
	}
}

// configOf reads a configuration.
func configOf(t *testing.T, text string) (config.Config, config.Source) {
	t.Helper()
	source := config.Source{Path: filepath.Join(t.TempDir(), "ptyctl.toml"), Env: []string{"HOME=" + t.TempDir()}}
	if err := os.WriteFile(source.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(source)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, source
}

// rulesOf are the rules of a configuration.
func rulesOf(t *testing.T, text string) *rules {
	t.Helper()
	cfg, _ := configOf(t, text)
	set, err := newRules(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := new(rules)
	r.current.Store(set)
	return r
}

// judges are the node that acts and the node that the client is connected to.
type judges struct {
	t            *testing.T
	owner, entry *rules
	asked        int
}

// judge judges an action of a client of entry by both, as over a network.
func (p *judges) judge(a term.Action) (term.Ruling, error) {
	a.Actor = term.Actor{Transport: "stdio", Node: "entry", Rules: p.entry.digest()}
	return p.owner.judge(term.WithEntryGate(p.t.Context(), p.ask), a)
}

func (p *judges) ask(ctx context.Context, a term.Action) (term.Ruling, error) {
	p.asked++
	text, err := verdict.Encode(a, a.FarSide(ctx))
	if err != nil {
		return term.Ruling{}, err
	}
	q, err := verdict.Decode(text)
	if err != nil {
		return term.Ruling{}, err
	}
	q.Action.Actor = term.Actor{Transport: "stdio"}
	return q.Answer(p.entry.abroad(ctx, q.Action)).Ruling(a, "entry")
}

func posix(context.Context) string { return "posix" }

// on is an action on a session at a host.
func on(verb term.Verb, a term.Action) term.Action {
	a.Verb, a.Protocol, a.Host, a.FarSide = verb, "ssh", "web1", posix
	if a.Far == nil {
		a.Far = &term.PlannedHop{Alias: "web1", Host: "10.0.0.1", Port: 22, Vouched: []string{"web1"}}
	}
	return a
}

// exec is a command at a host.
func exec(command string) term.Action { return on(term.VerbExec, term.Action{Command: command}) }

// local is an action on this machine.
func local(verb term.Verb, a term.Action) term.Action {
	a.Verb, a.Protocol, a.Host, a.FarSide = verb, "local", "localhost", posix
	return a
}

// TestBothJudge: the strictest of two nodes' rules wins.
func TestBothJudge(t *testing.T) {
	const deny, allow = "[policy]\ndeny = [\"reboot\"]\n", "[policy]\nallow = [\"echo *\", \"reboot\"]\n"
	plan := &term.Plan{Hops: []term.PlannedHop{{Alias: "web1", Host: "10.0.0.1", Port: 22, Vouched: []string{"web1"}}}}
	open := on(term.VerbOpen, term.Action{Target: &term.Target{Protocol: "ssh", Host: "web1"}, Plan: plan})
	run := local(term.VerbOpen, term.Action{
		Target: &term.Target{Protocol: "local", Local: term.LocalOptions{Argv: []string{"sh"}}}, Command: "sh", Argv: []string{"sh"},
	})
	for name, c := range map[string]struct {
		owner, entry string
		a            term.Action
		denied       string // part of the message; empty: allowed
		command      string // of the ruling
	}{
		"the entry denies":         {"", deny, exec("reboot"), `by the rules of node entry, to which the client is connected: the operator's rule policy.deny "reboot"`, ""},
		"the owner denies":         {deny, "", exec("reboot"), `rule policy.deny "reboot"`, ""},
		"neither denies":           {deny, "", exec("uptime"), "", ""},
		"the entry does not allow": {"", allow, exec("uptime"), "by the rules of node entry", ""},
		"the owner does not allow": {allow, "", exec("uptime"), "no entry allows it", ""},
		"the entry's form runs":    {"", allow, exec("echo  'a b'"), "", "'echo' 'a b'"},
		"the owner's form runs":    {allow, "", exec("echo  'a b'"), "", "'echo' 'a b'"},
		"the owner judges the entry's form": {
			deny, allow, exec("echo  'reboot'"), "", "'echo' 'reboot'",
		},
		"the owner denies the entry's form": {deny, allow, exec("'reboot'"), `rule policy.deny "reboot"`, ""},
		"words":                             {"", allow, on(term.VerbExec, term.Action{Command: "echo a", Argv: []string{"echo", "a b"}}), "", "'echo' 'a b'"},
		"typing":                            {"", deny, on(term.VerbWrite, term.Action{Data: []byte("uptime\r")}), "by the rules of node entry", ""},
		"a denied host":                     {"", "[policy]\ndeny_hosts = [\"10.0.0.1\"]\n", open, "this host is denied", ""},
		"a session at a denied host":        {"", "[policy]\ndeny_hosts = [\"10.0.0.1\"]\n", exec("uptime"), "this host is denied", ""},
		"a session at no allowed host":      {"", "[policy]\nhosts = [\"db*\"]\n", exec("uptime"), "no entry allows this host", ""},
		"a session at an allowed host":      {"", "[policy]\nhosts = [\"web*\"]\n", exec("uptime"), "", ""},
		"a read-only host":                  {"", "[policy]\nread_only_hosts = [\"web1\"]\n", exec("uptime"), "this host is read-only", ""},
		"a protocol":                        {"", "[policy]\nprotocols = [\"telnet\"]\n", exec("uptime"), "this protocol is not allowed", ""},
		"a protocol of a local program":     {"", "[policy]\nprotocols = [\"ssh\"]\n", local(term.VerbExec, term.Action{Command: "sh"}), "this protocol is not allowed", ""},
		"a close at a denied host":          {"", "[policy]\ndeny_hosts = [\"10.0.0.1\"]\n", on(term.VerbClose, term.Action{}), "", ""},
		"programs":                          {"", "[policy]\nprograms = [\"/usr/bin\"]\n", run, "it is about paths of this machine", ""},
		"folders":                           {"", "[policy]\nwork_dirs = [\"/srv\"]\n", run, "it is about paths of this machine", ""},
		"programs, at a host":               {"", "[policy]\nprograms = [\"/usr/bin\"]\n", exec("uptime"), "", ""},
		"local programs":                    {"", deny, run, "", ""},
		"this machine":                      {"", "[local]\nstdio = false\n", run, "by the rules of node entry", ""},
		"credentials":                       {"", "[[policy.credential]]\nsource = \"agent\"\n", open, "it limits the credentials of a login", ""},
		"credentials, later":                {"", "[[policy.credential]]\nsource = \"agent\"\n", exec("uptime"), "", ""},
		"forwards":                          {"[forward]\nallow = [\"db1:5432\"]\n", "", on(term.VerbForward, term.Action{To: "db1:5432"}), "may not be forwarded", ""},
		"lines of the other machine":        {"[serial]\nallow = [\"/dev/ttyUSB77\"]\n", deny, lineOpening(), "", ""},
		"on trial":                          {"", deny + "mode = \"report\"\n", exec("reboot"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &judges{t: t, owner: rulesOf(t, c.owner), entry: rulesOf(t, c.entry)}
			ruling, err := p.judge(c.a)
			switch {
			case c.denied == "" && err != nil:
				t.Errorf("denied: %v", err)
			case c.denied != "" && (term.KindOf(err) != term.PolicyDenied || !strings.Contains(err.Error(), c.denied)):
				t.Errorf("the ruling is %+v, %v; want a denial with %q", ruling, err, c.denied)
			case ruling.Command != c.command:
				t.Errorf("what runs is %q, want %q", ruling.Command, c.command)
			}
			if name == "on trial" && (ruling.Reported == nil || !strings.Contains(ruling.Reported.Error(), "by the rules of node entry")) {
				t.Errorf("what the entry would deny = %v, want it reported", ruling.Reported)
			}
		})
	}
}

func lineOpening() term.Action {
	return term.Action{
		Verb: term.VerbOpen, Protocol: "serial", Host: "/dev/ttyUSB77", FarSide: posix,
		Target: &term.Target{Protocol: "serial", Serial: term.SerialOptions{Path: "/dev/ttyUSB77"}},
	}
}

// TestCredentialsOfOne: rules for credentials of the node that logs in count there, and no answer of the other node has any.
func TestCredentialsOfOne(t *testing.T) {
	const agent = "[[policy.credential]]\nsource = \"agent\"\n"
	open := on(term.VerbOpen, term.Action{
		Target: &term.Target{Protocol: "ssh", Host: "web1"}, Plan: &term.Plan{Hops: []term.PlannedHop{{Alias: "web1", Host: "web1", Port: 22}}},
	})
	p := &judges{t: t, owner: rulesOf(t, agent), entry: rulesOf(t, "[policy]\ndeny = [\"reboot\"]\n")}
	ruling, err := p.judge(open)
	if err != nil || ruling.Grant.Credentials == nil || p.asked == 0 {
		t.Errorf("an open at the node with such rules = %+v, %v, asked %d times; want it allowed, with its own credentials", ruling.Grant, err, p.asked)
	}
	p = &judges{t: t, owner: rulesOf(t, agent), entry: rulesOf(t, "[policy]\ndeny = [\"reboot\"]\n"+agent)}
	if _, err := p.judge(open); term.KindOf(err) != term.PolicyDenied || !strings.Contains(err.Error(), "it limits the credentials of a login") {
		t.Errorf("an open where both have the same rules for credentials, and others besides = %v, want it denied", err)
	}
	p = &judges{t: t, owner: rulesOf(t, agent), entry: rulesOf(t, agent)}
	if ruling, err := p.judge(open); err != nil || ruling.Grant.Credentials == nil || p.asked > 0 {
		t.Errorf("an open where all rules are the same = %+v, %v, asked %d times", ruling.Grant, err, p.asked)
	}
}

// TestNobodyAsked: nodes with the same rules do not ask each other, and one with others does nothing without asking.
func TestNobodyAsked(t *testing.T) {
	const deny = "[policy]\ndeny = [\"reboot\"]\n"
	p := &judges{t: t, owner: rulesOf(t, deny), entry: rulesOf(t, "# elsewhere in its file\n\n"+deny)}
	for command, denied := range map[string]bool{"uptime": false, "reboot": true} {
		if _, err := p.judge(exec(command)); (err != nil) != denied || p.asked > 0 {
			t.Errorf("%s: %v, asked %d times", command, err, p.asked)
		}
	}
	other := rulesOf(t, "")
	a := exec("uptime")
	a.Actor = term.Actor{Transport: "http", Node: "entry", Rules: other.digest()}
	if _, err := p.owner.judge(t.Context(), a); term.KindOf(err) != term.PolicyDenied || !strings.Contains(err.Error(), "node entry") ||
		!strings.Contains(err.Error(), "in the course of a call") || !strings.Contains(err.Error(), "give both nodes the same rules") {
		t.Errorf("an action of a call that is over = %v", err)
	}
	a.Verb = term.VerbClose
	if _, err := p.owner.judge(t.Context(), a); err != nil {
		t.Errorf("a close after the call = %v, want it done", err)
	}
	a.Verb, a.Actor.Rules = term.VerbExec, "" // of a node without rules
	if _, err := p.owner.judge(t.Context(), a); err != nil {
		t.Errorf("an action for a node without rules = %v", err)
	}
}

// TestNamesOfBoth: a session that is opened through another node has the names of that node's rules, too.
func TestNamesOfBoth(t *testing.T) {
	p := &judges{t: t, owner: rulesOf(t, ""), entry: rulesOf(t, "[policy]\nread_only_hosts = [\"localhost\"]\n")}
	host := term.PlannedHop{Alias: "127.0.0.1", Host: "127.0.0.1", Port: 22, Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}
	ruling, err := p.judge(on(term.VerbOpen, term.Action{
		Target: &term.Target{Protocol: "ssh", Host: "127.0.0.1"}, Plan: &term.Plan{Hops: []term.PlannedHop{host}},
	}))
	if err != nil || !slices.Equal(ruling.Grant.Names, []string{"localhost"}) {
		t.Errorf("the names are %q, %v; want localhost", ruling.Grant.Names, err)
	}
	// A session that was opened elsewhere has no such names.
	if _, err := p.judge(on(term.VerbExec, term.Action{Command: "uptime", Far: &host})); err == nil ||
		!strings.Contains(err.Error(), "this host is read-only") {
		t.Errorf("a command at the host = %v, want it denied", err)
	}
}

// TestDigest: each rule counts in the digest, and nothing else does. A new field of config.Policy fails here until it
// counts in the digest or is excepted.
func TestDigest(t *testing.T) {
	var base config.Config
	was := digestOf(base)
	if len(was) != 64 {
		t.Fatalf("the digest is %q", was)
	}
	policy := reflect.TypeFor[config.Policy]()
	for i := range policy.NumField() {
		next := base
		switch f := reflect.ValueOf(&next.Policy).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int64:
			f.SetInt(7)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			t.Fatalf("policy.%s has the kind %s", policy.Field(i).Name, f.Kind())
		}
		name := policy.Field(i).Name
		if counts := digestOf(next) != was; counts == (name == "ConsentTTL") {
			t.Errorf("policy.%s counts in the digest: %v", name, counts)
		}
	}
	for name, change := range map[string]func(*config.Config){
		"local.stdio":      func(c *config.Config) { c.Local.Stdio = true },
		"local.http":       func(c *config.Config) { c.Local.HTTP = true },
		"forward.allow":    func(c *config.Config) { c.Forward.Allow = []string{"a:1"} },
		"credential":       func(c *config.Config) { c.Policy.Credential = []config.Credential{{Source: "agent"}} },
		"credential hosts": func(c *config.Config) { c.Policy.Credential = []config.Credential{{Hosts: []string{"a"}}} },
		"credential users": func(c *config.Config) { c.Policy.Credential = []config.Credential{{Users: []string{"a"}}} },
		"credential key":   func(c *config.Config) { c.Policy.Credential = []config.Credential{{HostKey: "pinned"}} },
	} {
		next := base
		change(&next)
		if digestOf(next) == was {
			t.Errorf("%s does not count in the digest", name)
		}
	}
	same := base
	same.Serial.Allow, same.Session.MaxSessions, same.Policy.Deny = []string{"/dev/ttyS0"}, 7, []string{}
	if digestOf(same) != was {
		t.Error("what belongs to one machine counts in the digest")
	}
}

// TestDigestAfterReload: rules that are read again have another digest.
func TestDigestAfterReload(t *testing.T) {
	cfg, source := configOf(t, "")
	log, err := logging.New(cfg.Logging)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	a, err := ForCommand(cfg, Options{Logger: log.Logger})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	was := a.rules.digest()
	if err := os.WriteFile(source.Path, []byte("[policy]\ndeny = [\"reboot\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if done := a.Reloader(source, log).Reload(); done.Failed != "" {
		t.Fatalf("Reload = %+v", done)
	}
	if now := a.rules.digest(); now == was || now != rulesOf(t, "[policy]\ndeny = [\"reboot\"]\n").digest() {
		t.Errorf("the digest is %s, and was %s", now, was)
	}
}

// TestFormOfTheEntry: the node that acts judges, and runs, the form that the rules of the client's node allow.
func TestFormOfTheEntry(t *testing.T) {
	var seen term.Action
	r := new(rules)
	r.current.Store(&ruleSet{gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
		seen = a
		return term.Ruling{}, nil
	}})
	for name, c := range map[string]struct {
		a       term.Action
		theirs  term.Ruling
		command string
		argv    []string
	}{
		"a line":           {term.Action{Command: "ls"}, term.Ruling{Command: "'ls'"}, "'ls'", nil},
		"words for a line": {term.Action{Command: "ls", Argv: []string{"ls"}}, term.Ruling{Command: "'ls'"}, "'ls'", nil},
		"words":            {term.Action{Command: "ls", Argv: []string{"ls"}}, term.Ruling{Command: "ls -l", Argv: []string{"ls", "-l"}}, "ls -l", []string{"ls", "-l"}},
		"unchanged":        {term.Action{Command: "ls", Argv: []string{"ls"}}, term.Ruling{}, "ls", []string{"ls"}},
	} {
		c.a.Verb, c.a.Actor = term.VerbExec, term.Actor{Node: "entry", Rules: "other"}
		ctx := term.WithEntryGate(t.Context(), func(context.Context, term.Action) (term.Ruling, error) { return c.theirs, nil })
		ruling, err := r.judge(ctx, c.a)
		if err != nil || ruling.Command != c.theirs.Command || !slices.Equal(ruling.Argv, c.theirs.Argv) {
			t.Errorf("%s: the ruling is %+v, %v; want %+v", name, ruling, err, c.theirs)
		}
		if seen.Command != c.command || !slices.Equal(seen.Argv, c.argv) {
			t.Errorf("%s: %q %q was judged, want %q %q", name, seen.Command, seen.Argv, c.command, c.argv)
		}
	}
}

// TestCallersOfPort: the digest follows the tokens that are in force, and one machine alone has none.
func TestCallersOfPort(t *testing.T) {
	var none *httpPort
	alone := &httpPort{}
	alone.admits(nil)
	for what, p := range map[string]*httpPort{"no port": none, "a machine alone": alone} {
		if d := p.who(); d != "" {
			t.Errorf("%s has the digest %q", what, d)
		}
	}
	m := session.NewManager(session.Config{})
	defer m.Close(context.Background())
	p := &httpPort{
		handler: httpserve.New(mcpapi.NewServer(mcpapi.Options{Sessions: m}), httpserve.Options{
			Tokens: []httpserve.Token{{Name: "old", Value: strings.Repeat("x", 32)}},
		}),
		digest: func(all []httpserve.Token) string { return callers.Digest("ptyctl", callers.Of(config.HTTP{}, all)) },
	}
	set, err := p.again(config.HTTP{Tokens: config.NewSecret("ops:write:" + strings.Repeat("y", 32))})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.who(); d != "" {
		t.Errorf("before its tokens are in force the port has the digest %q", d)
	}
	set(slog.New(slog.DiscardHandler))
	value := p.who()
	hashed, err := config.HashedToken("ops", "write", []byte(strings.Repeat("y", 32)), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if set, err = p.again(config.HTTP{Tokens: config.NewSecret(hashed)}); err != nil {
		t.Fatal(err)
	}
	set(slog.New(slog.DiscardHandler))
	if value == "" || p.who() != value {
		t.Errorf("a token by its value has the digest %q, and by its hash %q; want the same", value, p.who())
	}
}
