package policy_test

import (
	"context"
	"strings"
	"testing"

	"ptyctl/policy"
	"ptyctl/term"
)

// ruled asks about a command on a far side of the class.
func ruled(t *testing.T, p *policy.Policy, class, command string, argv ...string) (string, error) {
	t.Helper()
	a := sshExec(command)
	a.Argv, a.FarSide = argv, func(context.Context) string { return class }
	r, err := p.Rule(t.Context(), a)
	return r.Command, err
}

// everything allows all programs, so that only what the grammar takes counts.
func everything(t *testing.T) *policy.Policy {
	t.Helper()
	return gate(t, policy.Rules{Allow: rules("allow", "*")})
}

// TestPrinted is what lines become for each class; a minus says that there is no way to say it there.
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
		for class, want := range map[string]string{"posix": c.posix, "fish": c.fish, "csh": c.csh, "device": c.device, "unknown": c.unknown, "cmd": c.unknown, "powershell": c.unknown} {
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

// TestOutsideTheGrammar is what no entry can allow, each with advice.
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

// TestArgv: words are judged as themselves, whatever a shell would make of them.
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

// TestDirect: a program that no shell starts gets its words as they are, but for the scripts among them.
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

// TestTypedForm: a typed line cannot be printed again, so it has to be typed as it would be.
func TestTypedForm(t *testing.T) {
	p := gate(t, policy.Rules{Allow: rules("allow", "ls *"), Typing: policy.TypingLines})
	for text, ok := range map[string]bool{
		"'ls' '-l'\r": true, "'ls'\r'ls' '/'\r": true, "ls -l\r": false, "'ls' '-l'": false, " 'ls'\r": false, "'ls'  '-l'\r": false, "'rm' 'x'\r": false, "'ls' \"-l\"\r": false,
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
	a := term.Action{Verb: term.VerbWrite, Protocol: "telnet", Host: "sw1", Data: []byte("ls -l\r"), FarSide: func(context.Context) string { return "unknown" }}
	if _, err := p.Rule(t.Context(), a); err != nil {
		t.Errorf("plain words where nothing is known of the far side: %v, want them allowed", err)
	}
}
