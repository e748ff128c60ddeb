package sshconfig

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	update  = flag.Bool("update", false, "record the answers of ssh -G in testdata/golden")
	configs = flag.Int("configs", recordedConfigs, "how many random configurations to compare with ssh -G")
)

const recordedConfigs = 200

// The oracle is ssh -G: the installed ssh if there is one, and the recorded answers of
// testdata/golden otherwise. An answer holds the keywords that this package honours, without
// those that have the value of an empty file. Features of releases after the recorded one are
// not in the oracle; such cases of the corpus say so in their header.
type oracle struct {
	version    string // first line of ssh -V
	id         identity
	algorithms Algorithms
	defaults   map[string][]string
	cases      map[string]answer // by topic/name; nil with an installed ssh
}

// answer is the output of ssh -G; failed means that ssh stopped with an error.
type answer struct {
	failed bool
	values map[string][]string
}

// compared has the keywords of an answer.
var compared = func() map[string]bool {
	m := make(map[string]bool)
	for _, k := range Keywords() {
		if k.Class == Honour || k.Name == "SessionType" {
			m[strings.ToLower(k.Name)] = true
		}
	}
	return m
}()

// algorithmQueries has the keywords of algorithm lists and their names for ssh -Q.
var algorithmQueries = []struct {
	keyword, query string
	set            func(*Algorithms) *AlgorithmSet
}{
	{"kexalgorithms", "kex", func(a *Algorithms) *AlgorithmSet { return &a.Kex }},
	{"ciphers", "cipher", func(a *Algorithms) *AlgorithmSet { return &a.Ciphers }},
	{"macs", "mac", func(a *Algorithms) *AlgorithmSet { return &a.MACs }},
	{"hostkeyalgorithms", "HostKeyAlgorithms", func(a *Algorithms) *AlgorithmSet { return &a.HostKey }},
	{"pubkeyacceptedalgorithms", "PubkeyAcceptedAlgorithms", func(a *Algorithms) *AlgorithmSet { return &a.Pubkey }},
	{"casignaturealgorithms", "sig", func(a *Algorithms) *AlgorithmSet { return &a.CASignature }},
}

// installedSSH returns the oracle of the installed ssh, or nil without one.
func installedSSH(t *testing.T) *oracle {
	t.Helper()
	out, err := exec.Command("ssh", "-V").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatalf("ssh -V: %v", err)
	}
	o := &oracle{version: strings.TrimSpace(string(out)), id: localIdentity(t)}
	out, err = exec.Command("ssh", "-G", "-F", os.DevNull, "foo").Output()
	if err != nil {
		t.Fatalf("ssh -G: %v", err)
	}
	o.defaults = parseDump(string(out))
	for _, q := range algorithmQueries {
		out, err := exec.Command("ssh", "-Q", q.query).Output()
		if err != nil {
			t.Fatalf("ssh -Q %s: %v", q.query, err)
		}
		*q.set(&o.algorithms) = AlgorithmSet{
			Default:   strings.Split(o.defaults[q.keyword][0], ","),
			Supported: strings.Fields(string(out)),
		}
	}
	return o
}

// ask runs ssh -G on an installed case.
func (o *oracle) ask(t *testing.T, c corpusCase, dir string) answer {
	t.Helper()
	if o.cases != nil {
		a, ok := o.cases[c.topic+"/"+c.name]
		if !ok {
			t.Fatalf("no recorded answer: run the test with -update where OpenSSH is installed")
		}
		filled := answer{failed: a.failed, values: make(map[string][]string)}
		for keyword, values := range a.values {
			for _, v := range values {
				filled.values[keyword] = append(filled.values[keyword], c.fill(v, dir, o.id))
			}
		}
		return filled
	}
	args := []string{"-G", "-F", filepath.Join(dir, "config")}
	for _, arg := range c.args {
		args = append(args, c.fill(arg, dir, o.id))
	}
	cmd := exec.Command("ssh", append(args, c.host)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return answer{failed: true}
	} else if err != nil {
		t.Fatal(err)
	}
	a := answer{values: make(map[string][]string)}
	for keyword, values := range parseDump(string(out)) {
		if compared[keyword] && (keyword == "hostname" || !slices.Equal(values, o.defaults[keyword])) {
			a.values[keyword] = values
		}
	}
	return a
}

// agrees compares the result of Evaluate with an answer. It returns one line per difference.
func (o *oracle) agrees(t *testing.T, c corpusCase, dir string, a answer) []string {
	t.Helper()
	cfg, err := c.evaluate(t, dir, o.id, o.algorithms)
	if a.failed {
		if err == nil && len(cfg.Warnings) == 0 && len(cfg.Unsupported) == 0 {
			return []string{"ssh stops with an error, and Evaluate says nothing"}
		}
		return nil
	}
	if err != nil {
		return []string{"ssh accepts it, and Evaluate says " + err.Error()}
	}
	got := dump(t, cfg)
	if cfg.Origin("IdentityAgent").Source == Default {
		delete(got, "identityagent") // ssh shows it only if it is set
	}
	if cfg.Origin("IdentityFile").Source == Default {
		delete(got, "identityfile")
	}
	t1 := tokens{'h': cfg.HostName, 'n': cfg.Host, 'p': fmt.Sprint(cfg.Port), 'r': cfg.User}
	want := make(map[string][]string)
	for _, values := range []map[string][]string{o.defaults, a.values} {
		for keyword, v := range values {
			if compared[keyword] {
				want[keyword] = o.canonical(keyword, v, t1)
			}
		}
	}
	want["user"] = cmpOr(a.values["user"], []string{o.id.user})
	if a.values["identityfile"] == nil {
		delete(want, "identityfile")
	}
	if cfg.BatchMode && cfg.Origin("ServerAliveInterval").Source == Default {
		delete(want, "serveraliveinterval") // 300 in a vendor's ssh
		delete(got, "serveraliveinterval")
	}
	if !cfg.ForwardAgent {
		delete(want, "forwardagent") // shows the path of an agent that is not forwarded
		delete(got, "forwardagent")
	}
	if slices.ContainsFunc(
		cfg.Unsupported,
		func(r Refusal) bool { return r.Keyword == "ProxyCommand" && r.Origin.Caller() },
	) {
		delete(want, "proxycommand") // ssh trusts its caller
	}
	// ssh would start an ssh; this package makes a jump of it, and its own corpus checks that.
	if cfg.ProxyJump != nil && cfg.Origin("ProxyJump").Source == Default {
		delete(got, "proxyjump")
		delete(want, "proxycommand")
	}
	var differences []string
	for keyword := range compared {
		if g, w := o.flat(got[keyword]), o.flat(want[keyword]); g != w {
			differences = append(differences, fmt.Sprintf("%s = %q, and ssh says %q", keyword, g, w))
		}
	}
	slices.Sort(differences)
	return differences
}

func cmpOr(a, b []string) []string {
	if a != nil {
		return a
	}
	return b
}

func (o *oracle) flat(values []string) string { return strings.Join(values, "\n") }

// canonical converts the values of ssh -G to those of Dump.
func (o *oracle) canonical(keyword string, values []string, t1 tokens) []string {
	var list []string
	for _, v := range values {
		switch keyword {
		case "ciphers", "macs":
		case "connecttimeout":
			v = strings.Replace(v, "none", "0", 1)
		case "canonicaldomains", "canonicalizepermittedcnames":
			if v == "none" {
				continue
			}
		case "identityfile", "certificatefile", "userknownhostsfile", "globalknownhostsfile":
			if v == "none" || v == "" {
				continue
			}
			if rest, ok := strings.CutPrefix(v, "~/"); ok {
				v = o.id.home + "/" + rest
			}
		case "proxycommand":
			expanded, err := expand(v, t1, nil)
			if err == nil {
				v = expanded
			}
		case "batchmode", "tcpkeepalive", "hashknownhosts", "checkhostip", "identitiesonly",
			"passwordauthentication", "kbdinteractiveauthentication", "canonicalizehostname",
			"canonicalizefallbacklocal", "stricthostkeychecking", "pubkeyauthentication",
			"addkeystoagent", "requesttty", "forwardagent", "proxyusefdpass",
			"nohostauthenticationforlocalhost", "exitonforwardfailure", "clearallforwardings",
			"permitlocalcommand", "updatehostkeys":
			word, rest, more := strings.Cut(v, " ")
			switch word {
			case "true":
				word = "yes"
			case "false":
				word = "no"
			}
			v = word
			if more {
				v += " " + rest
			}
			if keyword == "addkeystoagent" && strings.Trim(v, "0123456789") == "" {
				v = "yes " + v
			}
		case "sendenv": // repeated by the second pass
			if slices.Contains(list, v) {
				continue
			}
		}
		list = append(list, v)
	}
	return list
}

// oracleCases returns the corpus cases that ssh understands, and random ones.
func oracleCases(t *testing.T) []corpusCase {
	cases := slices.DeleteFunc(readCorpus(t), func(c corpusCase) bool { return !c.oracle })
	return append(cases, randomCases(*configs)...)
}

func TestOracle(t *testing.T) {
	live := installedSSH(t)
	if *update {
		if live == nil {
			t.Fatal("-update needs an installed ssh")
		}
		live.record(t)
	}
	recorded := readGolden(t)
	for _, c := range oracleCases(t) {
		t.Run(c.topic+"/"+c.name, func(t *testing.T) {
			var fromLive []string
			if live != nil {
				dir := c.install(t, live.id)
				fromLive = live.agrees(t, c, dir, live.ask(t, c, dir))
				if len(fromLive) > 0 && live.version == recorded.version {
					c.report(t, fromLive)
					return
				}
			}
			if _, ok := recorded.cases[c.topic+"/"+c.name]; !ok && live != nil && *configs > recordedConfigs {
				return
			}
			dir := c.install(t, recorded.id)
			if differences := recorded.agrees(t, c, dir, recorded.ask(t, c, dir)); len(differences) > 0 {
				c.report(t, differences)
			}
			if len(fromLive) > 0 {
				t.Logf("%s answers differently from %s: %s", live.version, recorded.version, strings.Join(fromLive, "; "))
			}
		})
	}
}

func (c corpusCase) report(t *testing.T, differences []string) {
	t.Helper()
	for _, d := range differences {
		t.Error(d)
	}
	for name, text := range c.files {
		t.Logf("%s:\n%s", name, text)
	}
	t.Logf("host %s, args %q", c.host, c.args)
}

const goldenDir = "testdata/golden"

// record writes the answers of an installed ssh to testdata.
func (o *oracle) record(t *testing.T) {
	t.Helper()
	byTopic := make(map[string]*bytes.Buffer)
	for _, c := range oracleCases(t) {
		b := byTopic[c.topic]
		if b == nil {
			b = new(bytes.Buffer)
			byTopic[c.topic] = b
		}
		dir := c.install(t, o.id)
		a := o.ask(t, c, dir)
		fmt.Fprintf(b, "=== %s\n", c.name)
		if a.failed {
			fmt.Fprintln(b, "failed")
		}
		writeValues(b, a.values, dir)
	}
	head := new(bytes.Buffer)
	fmt.Fprintf(head, "=== version\n%s\n=== identity\nuser %s\nhome %s\n=== defaults\n", o.version, o.id.user, o.id.home)
	shown := make(map[string][]string)
	for keyword, values := range o.defaults {
		if compared[keyword] {
			shown[keyword] = values
		}
	}
	writeValues(head, shown, "\x00")
	fmt.Fprintln(head, "=== algorithms")
	for _, q := range algorithmQueries {
		fmt.Fprintf(head, "%s %s\n", q.keyword, strings.Join(q.set(&o.algorithms).Supported, ","))
	}
	byTopic["ssh"] = head
	if err := os.MkdirAll(goldenDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for topic, b := range byTopic {
		if err := os.WriteFile(filepath.Join(goldenDir, topic+".txt"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func writeValues(b *bytes.Buffer, values map[string][]string, dir string) {
	var lines []string
	for keyword, list := range values {
		for i, v := range list {
			lines = append(lines, fmt.Sprintf("%s\x00%03d\x00%s", keyword, i, strings.ReplaceAll(v, dir, "@DIR@")))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		parts := strings.SplitN(line, "\x00", 3)
		fmt.Fprintf(b, "%s %s\n", parts[0], parts[2])
	}
}

// readGolden returns the oracle with the recorded answers.
func readGolden(t *testing.T) *oracle {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no recorded answers: run the test with -update where OpenSSH is installed")
	}
	o := &oracle{cases: make(map[string]answer)}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(path), ".txt")
		for _, chunk := range strings.Split("\n"+string(data), "\n=== ")[1:] {
			name, body, _ := strings.Cut(chunk, "\n")
			values := parseDump(body)
			if topic != "ssh" {
				o.cases[topic+"/"+name] = answer{failed: strings.HasPrefix(body, "failed"), values: values}
				continue
			}
			switch name {
			case "version":
				o.version = strings.TrimSpace(body)
			case "identity":
				o.id = identity{user: values["user"][0], home: values["home"][0]}
			case "defaults":
				o.defaults = values
			case "algorithms":
				for _, q := range algorithmQueries {
					q.set(&o.algorithms).Supported = strings.Split(values[q.keyword][0], ",")
				}
			}
		}
	}
	for _, q := range algorithmQueries {
		q.set(&o.algorithms).Default = strings.Split(o.defaults[q.keyword][0], ",")
	}
	return o
}
