package policy_test

import (
	"context"
	"strings"
	"testing"

	"ptyctl/policy"
	"ptyctl/term"
)

// ruled judges a command on a far side of the class.
func ruled(t *testing.T, p *policy.Policy, class, command string, argv ...string) (string, error) {
	t.Helper()
	a := sshExec(command)
	a.Argv, a.FarSide = argv, func(context.Context) string { return class }
	r, err := p.Rule(t.Context(), a)
	return r.Command, err
}

// everything allows all programs, so that only the grammar decides.
func everything(t *testing.T) *policy.Policy {
	t.Helper()
	return gate(t, policy.Rules{Allow: rules("allow", "*")})
}

// TestPrinted compares the printed lines for each class; a minus means that the
// class cannot express the line.
func TestPrinted(t *testing.T) {
	p := everything(t)
	for _, c := range []struct{ line, posix, fish, csh, device, unknown string }{
		{"uptime", "'uptime'", "'uptime'", "'uptime'", "uptime", "uptime"},
		{"show ip int brief | include up", "'show' 'ip' 'int' 'brief' | 'include' 'up'", "=", "=", "show ip int brief | include up", "-"},
		{"ls -l /a\\ b \"it's\"", `'ls' '-l' '/a b' 'it'\''s'`, "=", "=", "-", "-"},
		{"echo hello # a comment", "'echo' 'hello'", "=", "=", "echo hello", "echo hello"},
		{"echo $'a\\tb'", "'echo' 'a\tb'", "=", "=", "-", "-"},
		{"a && b || c; d", "'a' && 'b' || 'c'; 'd'", "=", "-", "-", "-"},
		{"a && b && c", "'a' && 'b' && 'c'", "=", "=", "-", "-"},
		{"a; b\nc", "'a'; 'b'; 'c'", "=", "=", "-", "-"},
		{"! a | b", "! 'a' | 'b'", "=", "-", "-", "-"},
		{"{ a; b; }", "'a'; 'b'", "=", "=", "-", "-"},
		{"a 2>/dev/null", "'a' 2>'/dev/null'", "=", "-", "-", "-"},
		{"a >/tmp/x 2>&1", "'a' >'/tmp/x' 2>&1", "=", "'a' >& '/tmp/x'", "-", "-"},
		{"a &>/tmp/x", "'a' >'/tmp/x' 2>&1", "=", "'a' >& '/tmp/x'", "-", "-"},
		{"a >>/tmp/x <in", "'a' >>'/tmp/x' <'in'", "=", "'a' <'in' >>'/tmp/x'", "-", "-"},
		{"a 2>&1 | b", "'a' 2>&1 | 'b'", "=", "'a' |& 'b'", "-", "-"},
		{"a |& b", "'a' 2>&1 | 'b'", "=", "'a' |& 'b'", "-", "-"},
		{"a 2>&1 >x", "'a' 2>&1 >'x'", "=", "-", "-", "-"},
		{"a >x | b", "'a' >'x' | 'b'", "=", "-", "-", "-"},
		{"ls *.log a?c [a-z]x", "'ls' *'.log' 'a'?'c' [a-z]'x'", "'ls' *'.log' 'a'?'c' '[a-z]''x'", "=", "-", "-"},
		{"ls ~/x ~", "'ls' ~/'x' ~", "=", "=", "-", "-"},
		{"ls {a,b}{1..2}", "'ls' 'a1' 'a2' 'b1' 'b2'", "=", "=", "ls a1 a2 b1 b2", "ls a1 a2 b1 b2"},
		{"find . -exec ls {} +", "'find' '.' '-exec' 'ls' '{}' '+'", "=", "=", "-", "-"},
		{"LANG=C ls", "LANG='C' 'ls'", "=", "-", "-", "-"},
		{"sh -c 'ls; a b'", `'sh' '-c' \''ls'\''; '\''a'\'' '\''b'\'`, "=", "=", "-", "-"},
		{"[ -d /tmp ] && ls", "'[' '-d' '/tmp' ']' && 'ls'", "=", "=", "-", "-"},
		{"echo wow!", `'echo' 'wow'\!`, "=", "=", "-", "-"},
		{"echo 'a\nb'", "'echo' 'a\nb'", "=", "-", "-", "-"},
	} {
		for class, want := range map[string]string{
			"posix": c.posix, "fish": c.fish, "csh": c.csh, "device": c.device,
			"unknown": c.unknown, "cmd": c.unknown, "powershell": c.unknown,
		} {
			if want == "=" {
				want = c.posix
			}
			got, err := ruled(t, p, class, c.line)
			if want == "-" && err == nil {
				t.Errorf("%q for %s runs %s, want a denial", c.line, class, got)
			}
			if want != "-" && (err != nil || got != want) {
				t.Errorf("%q for %s runs %s (%v), want %s", c.line, class, got, err, want)
			}
		}
	}
}

// TestOutsideTheGrammar lists lines that no entry can allow, each with advice.
func TestOutsideTheGrammar(t *testing.T) {
	p := everything(t)
	for _, line := range []string{
		"", "#", "a &", "a |", "(a)", "{ a; } | b", "{ a; } >x", "if a; then b; fi", "while a; do b; done", "for x in a; do b; done", "case a in a) b;; esac", "f() { a; }",
		"((1))", "[[ a ]]", "export A=b", "declare A=b", "A=b", "A+=b c", "A=(b) c", "A[1]=b c", "A=~/x c", "time a", "coproc a", "let x", "> x", "a >|x", "a <>x", "a <&0", "a 3>x", "a 2>&-", "a <<E\nx\nE", "a <<<x", "a {x}>y",
		"echo $x", `echo "$x"`, "echo ${x}", `echo "${x:-'$(a)'}"`, "echo $(a)", "echo `a`", `echo "$(a)"`, "echo $((1))", "echo ~''", "echo ~[a]", "cat <(a)", "echo @(a)", "echo ~user", "echo [!a]", "echo [[:alpha:]]", `echo $"a"`,
		"echo ${x:-<(a)}", "\"$\\\n(a)\"", "echo {a['$(b)']}>$x", "echo ${x:-/*(e:'a':)}", "> *", "a > *",
		"eval a", "exec a", ". a", "source a", "alias a=b", "trap a EXIT", "set a", "unset a", "read a", "command eval a", "sudo sh -c 'eval a'", "sh -c 'echo $x'", "sh -c 'a &'", "ssh h a b", "env sh -c \"a; (b)\"",
		"'if' a", "'repeat' 2 a", "'and' a", "'!' a", "'a b'", "'$x'", "'a=b'", "'=a'", "'%1'", "-", "builtin a", "'@' a", "noglob a",
		"COLUMNS='path[1,$(a)]' ls", "LINES=x ls", "SECONDS='a[$(b)]' ls", "TMOUT=x ls",
		"test 'a[$(b)]' -eq 1", "[ 1 -eq x ]", "[ -t x ]", "[ -v 'a[$(b)]' ]", "printf %d 'a[$(b)]'", "printf '%*s' x y", "printf -v x y", "exit 'a[$(b)]'", "shift x", "kill 'a[$(b)]'", "ulimit -n 'a[$(b)]'", "sleep 'x'", "cd 'a[$(b)]'",
		"let 'a[$(b)]'", "jobs -x a", "compgen -C a", "hash -p a b", "print -z a", "string match -rg '(?<PATH>.*)' /evil", "bindkey -s a b",
	} {
		got, err := ruled(t, p, "posix", line)
		if err == nil {
			t.Errorf("%q runs %s, want a denial", line, got)
			continue
		}
		if e := denied(t, err); !strings.Contains(e.Msg, "; ") {
			t.Errorf("%q is denied without advice: %s", line, e.Msg)
		}
	}
}

// TestArgv checks that words are judged literally, without a shell's
// expansions.
func TestArgv(t *testing.T) {
	p := gate(t, policy.Rules{Allow: rules("allow", "echo *", "sh -c *", "ls")})
	for _, c := range []struct {
		class string
		argv  []string
		want  string // empty: denied
	}{
		{"posix", []string{"echo", "$(rm x)", "`a`; b"}, "'echo' '$(rm x)' '`a`; b'"},
		{"csh", []string{"echo", "!!"}, `'echo' \!\!`},
		{"device", []string{"echo", "x"}, "echo x"},
		{"device", []string{"echo", "x;reload"}, ""},
		{"cmd", []string{"echo", "a&b"}, ""},
		{"posix", []string{"rm", "x"}, ""},
		{"posix", []string{"ls", "-l"}, ""},
		{"posix", []string{"sh", "-c", "rm x"}, ""},
		{"posix", []string{"sh", "-c", "ls"}, `'sh' '-c' \''ls'\'`},
	} {
		got, err := ruled(t, p, c.class, "unused", c.argv...)
		if (err == nil) != (c.want != "") || err == nil && got != c.want {
			t.Errorf("%q for %s runs %s (%v), want %s", c.argv, c.class, got, err, c.want)
		}
	}
}

// TestDirect checks that a program without a shell gets its words unchanged,
// apart from scripts in them.
func TestDirect(t *testing.T) {
	p := gate(t, policy.Rules{Allow: rules("allow", "printf *", "sh -c *", "ls")})
	open := func(argv ...string) (term.Ruling, error) {
		a := localOpen("unused", "", false)
		a.Argv, a.FarSide = argv, nil
		return p.Rule(t.Context(), a)
	}
	if r, err := open("printf", "%d", "a[$(x)]"); err != nil || r.Argv != nil {
		t.Errorf("printf without a shell: %v, %v, want it as it is", r, err)
	}
	if r, err := open("sh", "-c", "ls # x"); err != nil || len(r.Argv) != 3 || r.Argv[2] != "'ls'" {
		t.Errorf("sh -c runs %q (%v), want the script printed again", r.Argv, err)
	}
	if _, err := open("sh", "-c", "ls; rm x"); err == nil {
		t.Error("a script with a command that no entry allows is allowed")
	}
}

// TestTypedForm checks that a typed line is allowed only in its printed form,
// because it cannot be replaced.
func TestTypedForm(t *testing.T) {
	p := gate(t, policy.Rules{Allow: rules("allow", "ls *"), Typing: policy.TypingLines})
	for text, ok := range map[string]bool{
		"'ls' '-l'\r": true, "'ls'\r'ls' '/'\r": true, "ls -l\r": false, "'ls' '-l'": false, " 'ls'\r": false, "'ls'  '-l'\r": false, "'rm' 'x'\r": false, "'ls' \"-l\"\r": false,
		"'ls' 'a'\u001d'ls' ';x;'\u001d'ls' 'x'\r": false, "'ls' '\u0088'\r": false, "'ls' 'é'\r": false, "'ls'\x00'x'\r": false, "'ls'\v'ls'\r": false,
	} {
		a := term.Action{Verb: term.VerbWrite, Protocol: "ssh", Host: "web1", Data: []byte(text), FarSide: posix}
		_, err := p.Rule(t.Context(), a)
		if (err == nil) != ok {
			t.Errorf("typing %q: %v, want allowed %t", text, err, ok)
		}
		if text == "ls -l\r" && !strings.Contains(denied(t, err).Msg, "type 'ls' '-l'") {
			t.Errorf("the denial of %q does not say what to type: %v", text, err)
		}
	}
	a := term.Action{
		Verb:     term.VerbWrite,
		Protocol: "telnet",
		Host:     "sw1",
		Data:     []byte("ls -l\r"),
		FarSide:  func(context.Context) string { return "unknown" },
	}
	if _, err := p.Rule(t.Context(), a); err != nil {
		t.Errorf("plain words where nothing is known of the far side: %v, want them allowed", err)
	}
}

// TestRunnersUnderAllow checks that programs that run others are accepted only
// in forms that all their versions read alike. Each of these lines once ran a
// command that no entry allows.
func TestRunnersUnderAllow(t *testing.T) {
	p := gate(
		t,
		policy.Rules{
			Allow: rules(
				"allow",
				"echo *",
				"printf *",
				"xargs *",
				"env *",
				"find *",
				"sh -c *",
				"zsh -c *",
				"fish -c *",
				"tcsh -c *",
				"sudo *",
				"su *",
				"ssh *",
				"timeout *",
				"busybox *",
				"nice *",
				"grep *",
				"ls *",
				"FOO=*",
			),
		},
	)
	for line, ok := range map[string]bool{
		"echo hi | xargs --replace touch echo x": false, "echo hi | xargs --max-lines touch echo x": false, "xargs --max-lines=1 --replace touch echo x": false,
		"printf touch | xargs -tI echo env echo x": false, "xargs -tI Z sh -c 'echo Z'": false, "xargs -I Z sh -c 'echo Z' -IY": false, "xargs -I ZZ sh -c 'echo ZZ'": false,
		`xargs -I \' sh -c 'echo x'`: false, "xargs -I 2 sh -c 'echo x |& grep x'": false, "xargs -I echo echo x": false, "xargs -IZ echo Z": false, "xargs -d -I echo x": true,
		"xargs grep -i -I x": true, "xargs -0 -r -n 1 echo x": true, "xargs -n1 echo": true, "xargs -I {} echo {}": true, "xargs -i echo x": false, "xargs -l echo x": false,
		"find . -maxdepth 0 -exec sh -c + 'touch x' \\;": false, "find . -exec echo {} +": true, "find . -exec echo {} \\;": true, "find . -exec echo x": false,
		"find . -exec sh -c \"echo {''}\" \\;": false, "find . -name '*.x' -exec sh -c 'echo y' \\;": true, "xargs -I {} find . {} x \\;": false, "find *": false, "find ~ -name x": true,
		"sh -c -s 'echo hi'": false, "sh -c": false, "sh -e -c 'echo hi'": false, // no entry begins like this
		"sh -c 'echo hi' x -c y": false, "zsh -c -oerrexit 'touch x' 'echo hi'": false, "zsh -c -O 'touch x' 'echo hi'": false,
		"fish -c 'echo hi' -c 'touch x'": false, "fish -C 'touch x' -c 'echo hi'": false, "tcsh -c 'echo hi' -c 'touch x'": false, "sh -c + 'touch x'": false, "sh +x -c 'echo hi'": false, "sh -s": false,
		"env -S 'touch x'": false, "env -iS 'touch x'": false, "env --split-string='touch x'": false, "env -i echo x": true, "env FOO=x echo y": true, "env FOO=x -u y echo z": false, "env -u FOO echo x": true,
		"sudo -s touch x": false, "sudo -i": false, "sudo -n echo x": true, "sudo -u bob echo x": true, "sudo -nu bob echo x": false, "sudo -h host echo x": false,
		"su -c 'touch x'": false, "su - bob -c 'echo x'": true, "su bob -c 'echo x' -c 'touch x'": false, "su -s /tmp/x bob": false,
		"ssh -o ProxyCommand=x host 'echo x'": false, "ssh host -o ProxyCommand=x": false, "ssh -p 22 host 'echo x'": true, "ssh host 'touch x'": false,
		"timeout -k 1 5 echo x": true, "timeout --kill-after=1 5 echo x": true, "timeout --kill-after 1 5 echo x": false, "busybox echo x": true, "busybox touch x": false, "nice -n 5 echo x": true, "nice touch x": false,
		"setarch x echo x": false, "unbuffer echo x": false, "watch 'echo x'": false,
	} {
		got, err := ruled(t, p, "posix", line)
		if (err == nil) != ok {
			t.Errorf("%s runs %s (%v), want allowed %t", line, got, err, ok)
		}
	}
}

// TestPermissionsOfFiles checks that files need permission if commands do.
func TestPermissionsOfFiles(t *testing.T) {
	p := gate(t, policy.Rules{Permissions: `{"bash":{"*":"deny","echo *":"allow","> /tmp/*":"allow"}}`})
	for line, ok := range map[string]bool{
		"echo x": true, "echo x > /tmp/y": true, "echo x > /home/u/.bashrc": false,
		"echo x 2>/dev/null": true, "rm x": false, "echo x < /tmp/y": true,
	} {
		if got, err := ruled(t, p, "posix", line); (err == nil) != ok {
			t.Errorf("%s runs %s (%v), want allowed %t", line, got, err, ok)
		}
	}
	open := gate(t, policy.Rules{Permissions: `{"bash":{"git push":"deny","npm *":"allow"}}`})
	if _, err := ruled(t, open, "posix", "npm test > /tmp/log"); err != nil {
		t.Errorf("a file where what no rule names is allowed: %v, want it allowed", err)
	}
}
