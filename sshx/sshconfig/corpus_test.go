package sshconfig

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpusCase is one case of testdata/corpus/*.txt:
//
//	=== name
//	host: destination           (default "foo")
//	args: extra args            (split like a configuration line)
//	oracle: no, because ...     (not compared with ssh -G)
//	-- config --                the file that is read
//	-- other --                 more files, in the same folder
//	-- want --                  the expected result
//
// In the files and the expectations @DIR@ is the folder, and @HOME@ and @USER@ are those of
// the local user. An expectation is a line of Config.Dump: for every keyword named, all
// values are compared. "-keyword" expects no value. "warn LINE TEXT", "refuse Keyword TEXT"
// and "error TEXT" expect a message, and no other message may occur.
type corpusCase struct {
	topic, name string
	host        string
	args        []string
	oracle      bool
	files       map[string]string
	want        []string
}

// identity is the local user of an evaluation.
type identity struct{ user, home string }

func localIdentity(tb testing.TB) identity {
	tb.Helper()
	u, err := user.Current()
	if err != nil {
		tb.Fatal(err)
	}
	return identity{user: u.Username, home: u.HomeDir}
}

func readCorpus(tb testing.TB) []corpusCase {
	tb.Helper()
	paths, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no corpus: %v", err)
	}
	var cases []corpusCase
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(path), ".txt")
		chunks := strings.Split("\n"+string(data), "\n=== ")
		for _, chunk := range chunks[1:] {
			cases = append(cases, parseCase(tb, topic, chunk))
		}
	}
	return cases
}

func parseCase(tb testing.TB, topic, chunk string) corpusCase {
	tb.Helper()
	name, body, _ := strings.Cut(chunk, "\n")
	c := corpusCase{topic: topic, name: name, host: "foo", oracle: true, files: make(map[string]string)}
	section := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n")+"\n", "\n") {
		if inner, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(inner, " --") {
			section = strings.TrimSuffix(inner, " --")
			if section != "want" {
				c.files[section] = ""
			}
			continue
		}
		switch {
		case section == "want" && line != "":
			c.want = append(c.want, line)
		case section == "want":
		case section != "":
			c.files[section] += line + "\n"
		case line != "":
			key, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			switch key {
			case "host":
				c.host = value
			case "args":
				var err error
				if c.args, err = splitArgs(value); err != nil {
					tb.Fatalf("%s/%s: args: %v", topic, name, err)
				}
			case "oracle":
				c.oracle = false
			default:
				tb.Fatalf("%s/%s: unknown header %q", topic, name, line)
			}
		}
	}
	if len(c.want) == 0 {
		tb.Fatalf("%s/%s: nothing is expected", topic, name)
	}
	return c
}

// install writes the files of c and returns their folder.
func (c corpusCase) install(tb testing.TB, id identity) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range c.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		// Editors drop carriage returns, so the corpus spells them.
		text = strings.ReplaceAll(c.fill(text, dir, id), "\\CR\n", "\r\n")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func (c corpusCase) fill(s, dir string, id identity) string {
	return strings.NewReplacer("@DIR@", dir, "@HOME@", id.home, "@USER@", id.user).Replace(s)
}

// evaluate runs c with its file as the operator's.
func (c corpusCase) evaluate(tb testing.TB, dir string, id identity, defaults Algorithms) (*Config, error) {
	tb.Helper()
	var args []string
	for _, arg := range c.args {
		args = append(args, c.fill(arg, dir, id))
	}
	extra, err := ParseExtraArgs(args)
	if err != nil {
		return nil, err
	}
	o := Options{
		Host: c.host, Overrides: extra.Overrides, UserFile: filepath.Join(dir, "config"), SystemFile: "none",
		LocalUser: id.user, HomeDir: id.home, LocalHost: "client.example.org",
		AllowExec: true, Exec: fakeShell, Defaults: defaults, Version: "OpenSSH_9.2p1",
		LookupEnv: func(name string) (string, bool) {
			v, ok := corpusEnv[name]
			return v, ok
		},
		Interfaces: func() ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("fe80::1%eth0")}, nil
		},
	}
	return Evaluate(tb.Context(), o)
}

func TestCorpus(t *testing.T) {
	cases := readCorpus(t)
	if len(cases) < 150 {
		t.Errorf("the corpus has only %d cases", len(cases))
	}
	id := localIdentity(t)
	seen := make(map[string]bool)
	for _, c := range cases {
		if key := c.topic + "/" + c.name; seen[key] {
			t.Errorf("two cases are named %s", key)
		} else {
			seen[key] = true
		}
		t.Run(c.topic+"/"+c.name, func(t *testing.T) {
			dir := c.install(t, id)
			cfg, err := c.evaluate(t, dir, id, corpusAlgorithms)
			c.check(t, dir, id, cfg, err)
		})
	}
}

// corpusAlgorithms is a client with few algorithms, so that expectations stay readable.
var corpusAlgorithms = Algorithms{
	Kex:         algorithmSet("curve25519-sha256,ecdh-sha2-nistp256", "diffie-hellman-group14-sha1"),
	Ciphers:     algorithmSet("aes128-gcm@openssh.com,aes128-ctr", "aes128-cbc,3des-cbc"),
	MACs:        algorithmSet("hmac-sha2-256-etm@openssh.com,hmac-sha2-256", "hmac-sha1"),
	HostKey:     algorithmSet("ssh-ed25519,rsa-sha2-256", "ssh-rsa"),
	Pubkey:      algorithmSet("ssh-ed25519,rsa-sha2-256", "ssh-rsa"),
	CASignature: algorithmSet("ssh-ed25519,rsa-sha2-256", "rsa-sha2-512"),
}

// algorithmSet returns a set from its default and its other supported names.
func algorithmSet(def, more string) AlgorithmSet {
	return AlgorithmSet{Default: strings.Split(def, ","), Supported: strings.Split(def+","+more, ",")}
}

var corpusEnv = map[string]string{
	"SSHCONFIG_TEST":         "/from/env",
	"SSHCONFIG_TEST_PERCENT": "%h",
	"SSH_AUTH_SOCK":          "/run/agent",
}

// fakeShell runs two programs, true and false.
func fakeShell(_ context.Context, command string) (bool, error) {
	switch word, rest, _ := strings.Cut(command, " "); word {
	case "true", "/bin/true":
		return true, nil
	case "false", "/bin/false":
		return false, nil
	case "test":
		left, right, _ := strings.Cut(rest, " = ")
		return left == right, nil
	}
	return false, fmt.Errorf("%s: not found", command)
}

// dump returns the values of every keyword in Dump.
func dump(tb testing.TB, cfg *Config) map[string][]string {
	tb.Helper()
	var b bytes.Buffer
	if err := cfg.Dump(&b); err != nil {
		tb.Fatal(err)
	}
	return parseDump(b.String())
}

func parseDump(s string) map[string][]string {
	values := make(map[string][]string)
	for line := range strings.SplitSeq(s, "\n") {
		if keyword, value, ok := strings.Cut(line, " "); ok {
			values[strings.ToLower(keyword)] = append(values[strings.ToLower(keyword)], value)
		}
	}
	return values
}

func (c corpusCase) check(t *testing.T, dir string, id identity, cfg *Config, err error) {
	t.Helper()
	wanted := make(map[string][]string)
	messages := 0
	for _, line := range c.want {
		keyword, value, _ := strings.Cut(c.fill(line, dir, id), " ")
		switch {
		case keyword == "error":
			if err == nil || !strings.Contains(err.Error(), value) {
				t.Errorf("error = %v, want one with %q", err, value)
			}
			return
		case err != nil:
			t.Fatalf("Evaluate: %v", err)
		case keyword == "warn":
			messages++
			number, text, _ := strings.Cut(value, " ")
			if !slices.ContainsFunc(cfg.Warnings, func(w Warning) bool {
				return fmt.Sprint(w.Origin.Line) == number && strings.Contains(w.String(), text)
			}) {
				t.Errorf("no warning for line %s with %q", number, text)
			}
		case keyword == "refuse":
			messages++
			name, text, _ := strings.Cut(value, " ")
			if !slices.ContainsFunc(cfg.Unsupported, func(r Refusal) bool {
				return r.Keyword == name && strings.Contains(r.Reason, text)
			}) {
				t.Errorf("no refusal of %s with %q", name, text)
			}
		case strings.HasPrefix(keyword, "-"):
			wanted[keyword[1:]] = nil
		default:
			wanted[keyword] = append(wanted[keyword], value)
		}
	}
	if got := len(cfg.Warnings) + len(cfg.Unsupported); got != messages {
		t.Errorf("%d messages, want %d:", got, messages)
		for _, w := range cfg.Warnings {
			t.Logf("  warning %s", w)
		}
		for _, r := range cfg.Unsupported {
			t.Logf("  refusal %s", r.Error())
		}
	}
	got := dump(t, cfg)
	for keyword, want := range wanted {
		if !slices.Equal(got[keyword], want) {
			t.Errorf("%s = %q, want %q", keyword, got[keyword], want)
		}
	}
}
