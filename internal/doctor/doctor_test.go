package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ptyctl/config"
	"ptyctl/sshx"
	"ptyctl/term"
)

// inspected returns the settings for a connection to web1, with a configuration file of these lines.
func inspected(t *testing.T, lines string) *sshx.InspectedHost {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	o := sshx.Options{ConfigPath: path, KnownHostsPath: filepath.Join(dir, "known_hosts"), IdentityAgent: "none"}
	in, err := sshx.Inspect(t.Context(), term.Target{Protocol: "ssh", Host: "web1"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return &in.Hosts[0]
}

func failure(kind term.Kind, err error, facts term.Facts, steps ...string) error {
	hop := term.Hop{Host: "10.0.0.7", Port: 2222, User: "me"}
	for _, s := range steps {
		hop.Steps = append(hop.Steps, term.Step{Name: s, OK: true})
	}
	if len(steps) > 0 {
		hop.Steps[len(steps)-1].OK = false
		tried := term.FactOf[term.ConnectFailure](&term.Error{Facts: facts})
		tried.Ladder = []term.Hop{hop}
		facts = facts.With(tried)
	}
	return &term.Error{Op: "open", Kind: kind, Msg: "it failed; ask the operator", Err: err, Facts: facts}
}

// advised gives a failure an advice.
func advised(err error, advice string) error {
	e, _ := errors.AsType[*term.Error](err)
	e.Advice = advice
	return e
}

// Each failure has one next step, the likeliest cause first.
func TestDiagnosis(t *testing.T) {
	h := inspected(t, "Host web1\n HostName 10.0.0.7\n Port 2222\n User me\n")
	expired := []sshx.Identity{{From: "cert.pub", Certificate: &sshx.CertificateInfo{}, Problem: "it has expired"}}
	tests := []struct {
		name  string
		err   error
		ids   []sshx.Identity
		asked bool
		do    string
	}{
		{"unknown key", failure(term.HostKeyUnknown, nil, term.Facts{term.HostKeyFailure{Fingerprint: "SHA256:x"}}, "tcp", "kex"), nil, false, "ssh-keyscan -p 2222 10.0.0.7 >> "},
		{"changed key", failure(term.HostKeyMismatch, nil, term.Facts{term.HostKeyFailure{Recorded: []term.KnownKey{{File: "/a b"}}}}, "kex"), nil, false, "ssh-keygen -R '[10.0.0.7]:2222' -f '/a b'"},
		{"revoked key", failure(term.HostKeyRevoked, nil, nil, "kex"), nil, false, "do not log in there"},
		{"expired certificate", failure(term.AuthFailed, nil, term.Facts{term.ConnectFailure{MethodsTried: []string{"publickey"}}}, "auth"), expired, false, "get a new certificate: of cert.pub, it has expired"},
		{"wrong password", failure(term.AuthFailed, nil, term.Facts{term.ConnectFailure{MethodsTried: []string{"password"}}}, "auth"), nil, true, `check the password, and that "me" is the right user`},
		{"refused keys", failure(term.AuthFailed, nil, term.Facts{term.ConnectFailure{KeysOffered: []string{"a", "b"}}}, "auth"), nil, false, "none of 2 offered keys is let in"},
		{"nobody to ask", failure(term.AuthFailed, nil, term.Facts{term.ConnectFailure{MethodsAllowed: []string{"password"}}}, "auth"), nil, false, "without --batch"},
		{"no agent", failure(term.AuthFailed, nil, nil, "auth"), nil, false, "start an agent"},
		{"slow name", failure(term.ConnectTimeout, nil, nil, "dns"), nil, false, "name service"},
		{"dropped", failure(term.ConnectTimeout, nil, nil, "dns", "tcp"), nil, false, "firewall"},
		{"mute", failure(term.ConnectTimeout, nil, nil, "tcp", "banner"), nil, false, "10.0.0.7:2222 takes connections and says nothing"},
		{"mute program", failure(term.ConnectTimeout, nil, nil, "proxy", "banner"), nil, false, "run the ProxyCommand in a shell"},
		{"slow", failure(term.ConnectTimeout, nil, nil, "kex"), nil, false, "--timeout"},
		{"no such name", failure(term.ConnectFailed, nil, nil, "dns"), nil, false, "correct the name"},
		{"no server", failure(term.ConnectFailed, syscall.ECONNREFUSED, nil, "dns", "tcp"), nil, false, "start an SSH server on 10.0.0.7:2222"},
		{"no way", failure(term.ConnectFailed, syscall.ENETUNREACH, nil, "tcp"), nil, false, "check this machine's network"},
		{"no address of ours", advised(failure(term.ConnectFailed, syscall.EADDRNOTAVAIL, nil, "tcp"), "correct BindAddress"), nil, false, "correct BindAddress"},
		{"old server", failure(term.ConnectFailed, nil, term.Facts{term.ConnectFailure{ServerOffers: []string{"old-kex"}}}, "kex"), nil, false, "allow one of old-kex"},
		{"no terminal", failure(term.ConnectFailed, nil, nil, "auth", "channel"), nil, false, "the login succeeded"},
		{"denied", failure(term.PolicyDenied, nil, term.Facts{term.Denial{Rule: "policy.deny_hosts[0]"}}), nil, false, "change policy.deny_hosts[0]"},
	}
	for _, tt := range tests {
		f := diagnosis(tt.err, h, tt.ids, tt.asked)
		if f.Status != failing || !strings.Contains(f.Do, tt.do) {
			t.Errorf("%s: diagnosis = %+v, want it failing with %q to do", tt.name, f, tt.do)
		}
	}
	if f := diagnosis(errors.New("broken"), h, nil, false); f.Text != "broken" || f.Do != "" {
		t.Errorf("diagnosis of another error = %+v, want its text alone", f)
	}
}

// The step that failed has the finding of the end; those before it are as they were.
func TestSteps(t *testing.T) {
	r := NewReport(nil)
	hops := []term.Hop{
		{User: "a", Host: "gate", Port: 22, Steps: []term.Step{{Name: "tcp", OK: true}, {Name: "auth", OK: true}}},
		{User: "b", Host: "web1", Port: 22, Address: "10.0.0.7:22", Steps: []term.Step{{Name: "tcp", OK: true}, {Name: "auth"}, {Name: "auth"}}},
	}
	r.steps(hops, Finding{Status: failing, Text: "no key"})
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Status+" "+f.Check+" "+f.Text)
	}
	want := "ok hop 1 a@gate:22|ok tcp |ok auth |ok hop 2 b@web1:22|ok tcp 10.0.0.7:22|note auth |FAIL auth no key"
	if strings.Join(got, "|") != want || r.Failed() != 1 {
		t.Errorf("steps report %q, %d failed; want %q, 1", strings.Join(got, "|"), r.Failed(), want)
	}
	r = NewReport(nil)
	r.steps(nil, Finding{Status: failing, Text: "before any step"})
	if len(r.Findings) != 1 || r.Failed() != 1 {
		t.Errorf("steps without a hop report %+v, want the end alone", r.Findings)
	}
}

func TestFolderAndFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	dir := t.TempDir()
	mine, open := filepath.Join(dir, "mine"), filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{mine: 0o700, open: 0o755} {
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	public := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(public, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(public, 0o666); err != nil {
		t.Fatal(err)
	}
	at := func(path string) func() (string, error) { return func() (string, error) { return path, nil } }
	for _, tt := range []struct {
		name         string
		check        func(r *Report)
		status, text string
	}{
		{"own folder", func(r *Report) { r.folder("f", at(mine)) }, fine, mine},
		{"folder to come", func(r *Report) { r.folder("f", at(filepath.Join(mine, "a", "b"))) }, fine, "(will be made)"},
		{"open folder", func(r *Report) { r.folder("f", at(open)) }, failing, "0755, not 0700"},
		{"no folder", func(r *Report) { r.folder("f", func() (string, error) { return "", errors.New("no home") }) }, failing, "no home"},
		{"new log", func(r *Report) { r.writable("l", filepath.Join(mine, "log")) }, fine, "log"},
		{"log nowhere", func(r *Report) { r.writable("l", filepath.Join(dir, "no", "log")) }, failing, "no such file"},
		{"public known_hosts", func(r *Report) { r.knownHosts([]string{public}) }, failing, "lets others decide"},
		{"no known_hosts", func(r *Report) { r.knownHosts([]string{filepath.Join(dir, "none")}) }, noted, "no host is known"},
	} {
		r := NewReport(nil)
		tt.check(r)
		if len(r.Findings) != 1 || r.Findings[0].Status != tt.status || !strings.Contains(r.Findings[0].Text, tt.text) {
			t.Errorf("%s: %+v, want %s with %q", tt.name, r.Findings, tt.status, tt.text)
		}
	}
	if left, err := os.ReadDir(mine); err != nil || len(left) != 0 {
		t.Errorf("the checks have left %v (%v), want nothing", left, err)
	}
}

// A finding is printed at once, without control characters from elsewhere.
func TestReportPrints(t *testing.T) {
	var out bytes.Buffer
	r := NewReport(&out)
	ms := int64(1500)
	r.add(Finding{Status: noted, Check: "server", Text: "SSH-2.0-x\x1b[2J", MS: &ms, Do: "look\x07 there"})
	want := "note  server          SSH-2.0-x (1.5s)\n      do: look there\n"
	if strings.ReplaceAll(out.String(), "   (", " (") != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ptyctl.toml")
	for text, want := range map[string]string{
		"":                            "ok configuration",
		"[policy]\ndeny = [\"rm\"]":   "note policy",
		"[policy]\nmode = \"report\"": "note policy NOT ENFORCED",
		"[polici]\n":                  "FAIL configuration",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := NewReport(nil)
		_, ok := r.Configuration(config.Source{Path: path, Env: []string{"HOME=" + t.TempDir()}}, path)
		var got strings.Builder
		for _, f := range r.Findings {
			fmt.Fprintf(&got, "%s %s %s\n", f.Status, f.Check, f.Text)
		}
		if !strings.Contains(got.String(), want) || ok != !strings.HasPrefix(want, failing) {
			t.Errorf("Configuration of %q = %v, %q; want %q", text, ok, got.String(), want)
		}
	}
}

// Where a secret may be typed into a terminal, doctor names the protection from those who may run commands there.
func TestSecretsInTerminals(t *testing.T) {
	with := func(change func(*config.NamedSecret)) config.NamedSecret {
		s := config.NamedSecret{
			Entry: config.Entry{Name: "web-sudo"}, Source: "file:/x", Hosts: []string{"web1"}, Confirm: "never",
		}
		change(&s)
		return s
	}
	for _, tt := range []struct {
		name   string
		secret config.NamedSecret
		rules  config.Policy
		want   string
	}{
		{"any use", with(func(*config.NamedSecret) {}), config.Policy{}, "note web-sudo: who may run any command"},
		{"logins alone", with(func(s *config.NamedSecret) { s.Uses = []string{"login"} }), config.Policy{}, "ok 1"},
		{"a person each time", with(func(s *config.NamedSecret) { s.Confirm = "always" }), config.Policy{}, "ok 1"},
		{"chosen commands", with(func(*config.NamedSecret) {}), config.Policy{Allow: []string{"uptime"}}, "ok 1"},
		{"rules on trial", with(func(*config.NamedSecret) {}), config.Policy{Allow: []string{"uptime"}, Mode: "report"}, "note web-sudo"},
		{"any typing", with(func(*config.NamedSecret) {}), config.Policy{Allow: []string{"uptime"}, Typing: "allow"}, "note web-sudo"},
		{"no place", with(func(s *config.NamedSecret) { s.Hosts = nil }), config.Policy{}, "FAIL"},
	} {
		r := NewReport(nil)
		cfg := config.Config{Secret: []config.NamedSecret{tt.secret}, Policy: tt.rules}
		cfg.Server.Control.ControlMode = config.ControlReadWrite
		r.secrets(cfg)
		if got := r.Findings[0].Status + " " + r.Findings[0].Text; len(r.Findings) != 1 || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: the report is %q, want it to begin with %q", tt.name, got, tt.want)
		}
	}
	r := NewReport(nil)
	r.secrets(config.Config{Secret: []config.NamedSecret{with(func(s *config.NamedSecret) { s.Source = "person" })}})
	if len(r.Findings) != 2 || !strings.Contains(r.Findings[0].Text, "web-sudo: a person is asked") {
		t.Errorf("where nobody may answer the report has %+v, want a note", r.Findings)
	}
	r = NewReport(nil)
	if r.secrets(config.Config{}); len(r.Findings) != 0 {
		t.Errorf("without secrets the report has %+v, want nothing", r.Findings)
	}
}

// The program of a ProxyCommand is looked for where its command line names one.
func TestProxyCommandProgram(t *testing.T) {
	for line, want := range map[string]struct{ status, text string }{
		"go %h %p":                    {fine, "the program is /"},
		"exec go %h":                  {fine, "the program is /"},
		"no-such-program-1138 %h":     {noted, "no-such-program-1138: exec"},
		"$HOME/bin/x %h":              {fine, ": $HOME/bin/x web1"},
		"/no/such/folder/program 'x'": {noted, "/no/such/folder/program"},
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte("ProxyCommand "+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := sshx.Options{ConfigPath: path, IdentityAgent: "none", AllowExecDirectives: true}
		in, err := sshx.Inspect(t.Context(), term.Target{Protocol: "ssh", Host: "web1"}, o)
		if err != nil {
			t.Fatal(err)
		}
		r := new(Report)
		r.inspect(in, nil, "web1")
		if f := r.Findings[len(r.Findings)-1]; f.Check != "ProxyCommand" || f.Status != want.status ||
			!strings.Contains(f.Text, want.text) {
			t.Errorf("ProxyCommand %s: %+v, want %s with %q", line, f, want.status, want.text)
		}
	}
}
