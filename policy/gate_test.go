package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/policy"
	"ptyctl/term"
)

func TestNoRules(t *testing.T) {
	for name, r := range map[string]policy.Rules{
		"none":           {},
		"auto":           {Typing: policy.TypingAuto},
		"typing allowed": {Typing: policy.TypingAllow},
	} {
		if p := gate(t, r); p.Gate() != nil {
			t.Errorf("%s has a Gate, want nil without rules", name)
		}
	}
	if gate(t, policy.Rules{Deny: rules("deny", "rm")}).Gate() == nil {
		t.Error("with a rule there is no Gate")
	}
}

func TestWrongRules(t *testing.T) {
	for want, r := range map[string]policy.Rules{
		"policy.allow":                         {Allow: rules("allow", "ls", " ")},
		"policy.hosts":                         {Hosts: rules("hosts", "")},
		"policy.typing":                        {Typing: "sometimes", TypingName: "policy.typing"},
		`policy.credential "passwords"`:        {Credentials: []policy.Credential{{Source: "passwords", Name: "policy.credential"}}},
		`policy.credential "key:SHA256:short"`: {Credentials: []policy.Credential{{Source: "key:SHA256:short", Name: "policy.credential"}}},
		`policy.credential "agent, host key known" (f:1): host_key`: {Credentials: []policy.Credential{{Source: "agent", HostKey: "known", Name: "policy.credential", Where: "f:1"}}},
		"PTY_PERMISSIONS": {Permissions: `{"bash": {"ls": "maybe"}}`},
	} {
		if _, err := policy.New(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// acts returns an action of each verb on a session at one host.
func acts(far term.PlannedHop) map[term.Verb]term.Action {
	all := map[term.Verb]term.Action{
		term.VerbOpen: {
			Target: &term.Target{Protocol: "ssh", Host: far.Alias},
			Plan:   &term.Plan{Hops: []term.PlannedHop{far}},
		},
		term.VerbExec:    {Command: "uptime"},
		term.VerbWrite:   {Data: []byte("uptime\r")},
		term.VerbForward: {To: "localhost:5432"},
	}
	for _, v := range []term.Verb{
		term.VerbOpen, term.VerbWrite, term.VerbAnswer, term.VerbExec, term.VerbSignal, term.VerbResize, term.VerbExpect,
		term.VerbLock, term.VerbUnlock, term.VerbClose, term.VerbHeartbeat, term.VerbTakeOver, term.VerbFileRead,
		term.VerbFileWrite, term.VerbForward, term.VerbForwardEnd, "new",
	} {
		a := all[v]
		a.Verb, a.Protocol, a.Host, a.Far = v, "ssh", far.Alias, &far
		all[v] = a
	}
	return all
}

// refusedVerbs returns the verbs that p refuses on a host.
func refusedVerbs(t *testing.T, p *policy.Policy, far term.PlannedHop) string {
	t.Helper()
	var out []string
	for _, v := range []term.Verb{
		term.VerbOpen, term.VerbAnswer, term.VerbExec, term.VerbWrite, term.VerbSignal,
		term.VerbFileRead, term.VerbFileWrite, term.VerbForward, term.VerbForwardEnd, term.VerbResize, term.VerbLock, term.VerbClose,
	} {
		if err := p.Check(t.Context(), acts(far)[v]); err != nil {
			if e := denied(t, err); e.Op != string(v) {
				t.Errorf("refusal of %s has the operation %s, want the same", v, e.Op)
			}
			out = append(out, string(v))
		}
	}
	return strings.Join(out, " ")
}

func write(data string) term.Action {
	return term.Action{Verb: term.VerbWrite, Protocol: "ssh", Host: "web1", Data: []byte(data)}
}

func TestTyping(t *testing.T) {
	key := func(name, data string) term.Action { a := write(data); a.Key = name; return a }
	sensitive := term.Action{Verb: term.VerbWrite, Sensitive: true}
	tests := []struct {
		name   string
		action term.Action
		lines  bool // allowed by TypingLines
	}{
		{"command", write("ls -la\r"), true},
		{"no end", write("ls"), true},
		{"two", write("ls\nuptime\n"), true},
		{"denied", write("rm -rf /\r"), false},
		{"denied, no end", write("rm -rf /"), false},
		{"second", write("ls\rrm -rf /\r"), false},
		{"behind &&", write("ls && rm -rf /\r"), false},
		{"edited", write("ls\x17rm -rf /\r"), false},
		{"edited away", write("rm -rf / \x01echo \r"), false},
		{"arrow", write("rm -rf /x\x1b[D\x7f\r"), false},
		{"ctrl_c", key("ctrl_c", "\x03"), true},
		{"enter", key("enter", "\r"), true},
		{"arrow_up", key("arrow_up", "\x1b[A"), false},
		{"tab", key("tab", "\t"), false},
		{"completed", write("forb\t\r"), false},
		{"ctrl_r", key("ctrl_r", "\x12"), false},
		{"break", key("break", ""), true},
		{"pasted", write("\x1b[200~ls\ruptime\x1b[201~"), true},
		{"pasted rm", write("\x1b[200~rm -rf /\x1b[201~"), false},
		{"shell", write("bash\r"), true}, // typed input there is judged as well
		{"sensitive", sensitive, false},
	}
	deny := rules("deny", "rm -rf *")
	lines := gate(t, policy.Rules{Deny: deny, Typing: policy.TypingLines})
	auto := gate(t, policy.Rules{Deny: deny, TypingName: "policy.typing"})
	open := gate(t, policy.Rules{Deny: deny, Typing: policy.TypingAllow})
	like := gate(t, policy.Rules{Permissions: `{"bash": {"rm -rf *": "deny"}}`})
	hosts := gate(t, policy.Rules{Hosts: rules("hosts", "web*")})
	judged := []string{"denied", "denied, no end", "second", "behind &&", "pasted rm"}
	for _, tt := range tests {
		said := "typed input cannot be judged"
		if slices.Contains(judged, tt.name) {
			said = "this was a line of typed text, and judging it prevents mistakes, not attacks"
		}
		for name, p := range map[string]*policy.Policy{"lines": lines, "PTY_PERMISSIONS": like} {
			err := p.Check(t.Context(), tt.action)
			if (err == nil) != tt.lines {
				t.Errorf("typing %s, %s = %v, want the verdict of the table", name, tt.name, err)
			}
			if err != nil && !strings.Contains(denied(t, err).Msg, said) {
				t.Errorf("typing %s, %s = %v, want %q in it", name, tt.name, err, said)
			}
		}
		if e := denied(t, auto.Check(t.Context(), tt.action)); !strings.Contains(e.Msg, "typed input cannot be judged") ||
			!strings.Contains(term.FactOf[term.Denial](e).Rule, "policy.typing") ||
			!strings.Contains(term.FactOf[term.Denial](e).Rule, "ptyctl.toml:7") {
			t.Errorf("typing auto, %s = %v, want a denial that says why", tt.name, e)
		}
		for name, p := range map[string]*policy.Policy{"allow": open, "hosts": hosts} {
			if err := p.Check(t.Context(), tt.action); err != nil {
				t.Errorf("typing %s, %s = %v, want the verdict of the table", name, tt.name, err)
			}
		}
	}
}

// TestEnvironment checks that variables in a call are judged like those before
// a command.
func TestEnvironment(t *testing.T) {
	p := gate(t, policy.Rules{Deny: rules("deny", "rm *")})
	for _, name := range []string{"PATH", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "BASH_FUNC_ls%%"} {
		a := sshExec("ls")
		a.Env = []term.EnvVar{{Name: "LANG", Value: "C"}, {Name: name, Value: "x"}}
		if e := denied(t, p.Check(t.Context(), a)); !strings.Contains(e.Msg, name) {
			t.Errorf("denial of %s = %v, want it to name the variable", name, e)
		}
	}
	a := sshExec("ls")
	a.Env = []term.EnvVar{{Name: "FOO", Value: "x"}}
	if err := p.Check(t.Context(), a); err != nil {
		t.Error(err)
	}
}

func localExec(command, dir string) term.Action {
	return term.Action{Verb: term.VerbExec, Protocol: "local", Command: command, Dir: dir, FarSide: posix}
}

func localOpen(command, dir string, terminal bool) term.Action {
	return term.Action{
		Verb:    term.VerbOpen,
		Command: command,
		Dir:     dir,
		FarSide: posix,
		Target:  &term.Target{Protocol: "local", PTY: term.PTY{Disabled: !terminal}},
	}
}

func TestWorkDirs(t *testing.T) {
	top := t.TempDir()
	inside, outside := filepath.Join(top, "in"), filepath.Join(top, "out")
	for _, d := range []string{inside, outside, inside + "side"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link, back := filepath.Join(inside, "link"), filepath.Join(outside, "back")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(inside, back); err != nil {
		t.Fatal(err)
	}
	t.Chdir(outside)
	p := gate(t, policy.Rules{WorkDirs: rules("work_dirs", inside)})
	for dir, ok := range map[string]bool{
		inside: true, inside + "/": true, filepath.Join(inside, "new"): true, back: true,
		outside: false, inside + "side": false, link: false, inside + "/../out": false,
		inside + "/link/x": false, "": false, ".": false, "../in": true, top: false,
	} {
		for _, a := range []term.Action{localExec("ls", dir), localOpen("ls", dir, true), localOpen("ls", dir, false)} {
			want := ok || dir == "" && a.Verb == term.VerbExec // the folder in which the session was opened
			if err := p.Check(t.Context(), a); (err == nil) != want {
				t.Errorf("%s in %q = %v, want only folders of the rules", a.Verb, dir, err)
			}
		}
		a := sshExec("ls")
		a.Dir = dir // on another machine
		if err := p.Check(t.Context(), a); err != nil {
			t.Errorf("exec in %q on another machine = %v, want it allowed", dir, err)
		}
	}
}

// TestPrograms checks that a program is judged by its path, not by its name.
func TestPrograms(t *testing.T) {
	top := t.TempDir()
	good, bad := filepath.Join(top, "good"), filepath.Join(top, "bad")
	for _, d := range []string{good, bad, good + "ness"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{
		filepath.Join(good, "tool"), filepath.Join(good, "risky"), filepath.Join(bad, "evil"),
		filepath.Join(good+"ness", "evil2"), filepath.Join(top, "busybox"),
	} {
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{
		filepath.Join(good, "hidden"): filepath.Join(bad, "evil"),
		filepath.Join(bad, "other"):   filepath.Join(good, "tool"), filepath.Join(good, "applet"): filepath.Join(top,
			"busybox"), filepath.Join(bad, "applet"): filepath.Join(top, "busybox"),
	} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", good+":"+bad)
	p := gate(
		t,
		policy.Rules{
			Programs:     rules("programs", good, "/usr/bin/env"),
			DenyPrograms: rules("deny_programs", filepath.Join(good, "risky")),
		},
	)
	for command, ok := range map[string]bool{
		"tool": true, good + "/tool": true, "other": true, bad + "/other": true, "./tool": true, "applet": true, // judged by its own name
		"evil": false, "hidden": false, good + "/hidden": false, good + "/../bad/evil": false, good + "ness/evil2": false, bad + "/applet": false,
		"risky": false, good + "/risky": false, "tool && evil": false, "tool; risky": false, "cd / && tool": true, "nowhere": false, good + "/nowhere": false, "$x": false,
	} {
		for _, a := range []term.Action{localExec(command, good), localOpen(command, good, true)} {
			if err := p.Check(t.Context(), a); (err == nil) != ok {
				t.Errorf("%s %q = %v, want the verdict of the table", a.Verb, command, err)
			}
		}
		if err := p.Check(t.Context(), sshExec(command)); err != nil {
			t.Errorf("%q on another machine = %v, want it allowed", command, err)
		}
	}
}

// TestRelativeProgram checks that a relative path is denied if the folder is
// unknown.
func TestRelativeProgram(t *testing.T) {
	p := gate(t, policy.Rules{Programs: rules("programs", "/")})
	t.Chdir("/usr/bin")
	if err := p.Check(t.Context(), localExec("./env", "/usr/bin")); err != nil {
		t.Error(err)
	}
	if err := p.Check(t.Context(), localExec("./env", "")); err == nil {
		t.Error("./env is allowed, wherever that is")
	}
}

// TestLocal checks that the program of a local session is judged like a
// command. A shell on a terminal reads typed input, which is judged later; the
// input of a shell without a terminal cannot be judged.
func TestLocal(t *testing.T) {
	p := gate(t, policy.Rules{Deny: rules("deny", "rm *")})
	for command, ok := range map[string][2]bool{
		"bash": {true, false}, "bash -l": {true, false}, "'python3'": {true, false}, "ls -la": {true, true},
		"rm x": {false, false}, "sh -c 'rm x'": {false, false}, "env rm x": {false, false}, "sh -c 'echo x | sh'": {false, false}, "bash script": {false, false},
	} {
		for i, terminal := range []bool{true, false} {
			if err := p.Check(t.Context(), localOpen(command, "", terminal)); (err == nil) != ok[i] {
				t.Errorf("%q with terminal %t = %v, want the verdict of the table", command, terminal, err)
			}
		}
	}
}

// BenchmarkCheck measures the cost of a rule per command. Without rules there
// is no Gate.
func BenchmarkCheck(b *testing.B) {
	p := gate(b, policy.Rules{Deny: rules("deny", "rm -rf *", "shutdown", "git push *", "mkfs*", "dd *", "> /etc/*")})
	for name, line := range map[string]string{
		"simple":  "uptime",
		"typical": `cd /srv && grep -c "error: 7" *.log 2>/dev/null | sort -n && echo "done: $(date)"`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := p.Check(b.Context(), sshExec(line)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRules measures the cost of 200 rules for a command over SSH.
func BenchmarkRules(b *testing.B) {
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("program%d --option%d *", i, i))
	}
	line := `grep -c "error 7" /var/log/app/current.log 2>/dev/null | sort -n`
	for name, r := range map[string]policy.Rules{
		"allow": {Allow: rules("allow", append(texts[:198:198], "grep *", "sort *")...)},
		"deny":  {Deny: rules("deny", texts...)},
		"both":  {Deny: rules("deny", texts[:100]...), Allow: rules("allow", append(texts[100:198:198], "grep *", "sort *")...)},
	} {
		p := gate(b, r)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Check(b.Context(), sshExec(line)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A file that is read or changed without a command is judged like the
// redirection that would do it.
func TestFilesAsRedirections(t *testing.T) {
	deny := policy.Rules{Deny: rules("deny", "> /etc/*", "< /etc/shadow"), Consent: true}
	allow := policy.Rules{Allow: rules("allow", "uptime", "> /srv/*")}
	asks := policy.Rules{Ask: rules("ask", "> /etc/*"), Consent: true}
	for _, c := range []struct {
		rules policy.Rules
		path  string
		reads bool
		fine  bool
	}{
		{policy.Rules{}, "anything/../x", false, true},
		{deny, "/etc/passwd", false, false},
		{deny, "/etc//passwd", false, false},
		{deny, "/srv/../etc/passwd", false, false},
		{deny, "etc/passwd", false, false},
		{deny, "/srv/x", false, true},
		{deny, "/etc/passwd", true, true},
		{deny, "/etc/shadow", true, false},
		{deny, "/etc/./shadow", true, false},
		{allow, "/srv/x", false, true},
		{allow, "/home/u/.ssh/rc", false, false},
		{allow, "/srv/../home/u/.ssh/rc", false, false},
		{allow, "/home/u/x", true, true},
		{asks, "/etc/passwd", false, false},
	} {
		for _, protocol := range []string{"ssh", "local"} {
			verb := term.VerbFileWrite
			if c.reads {
				verb = term.VerbFileRead
			}
			err := gate(t, c.rules).Check(t.Context(), term.Action{Verb: verb, Protocol: protocol, Host: "web1", Path: c.path})
			if (err == nil) != c.fine {
				t.Errorf("%s %s over %s = %v, want the verdict of the table", verb, c.path, protocol, err)
			}
			if err != nil && term.FactOf[term.Denial](denied(t, err)).Consent != nil {
				t.Errorf("write of %s asks a question, want none because it cannot show the content", c.path)
			}
		}
	}
	p := gate(t, policy.Rules{ExecOnlyHosts: rules("exec_only_hosts", "web*")})
	if err := p.Check(t.Context(), term.Action{
		Verb: term.VerbFileWrite, Protocol: "ssh", Host: "web1",
		Path: "/x",
	}); err == nil {
		t.Error("a file is changed where commands are run, and nothing else")
	}
}
