package policy_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/policy"
)

// runnersTable has one line for each way to run "forbidden":
//
//   - bash runs it, which the test proves where the programs of the line are on this machine
//     -zsh  that shell runs it
//     =  it is not run here: it takes a service, a terminal, or rights
//   - an honest line with the same program
const runnersTable = `
- linux64 forbidden x
- linux32 forbidden
- i386 forbidden
- x86_64 -R forbidden
- uname26 forbidden
- setarch x86_64 forbidden
- setarch -R forbidden
- setarch x86_64 --addr-no-randomize forbidden
+ linux64 uname -m
+ setarch x86_64 -R ls
- choom -n 0 -- forbidden
- choom -n 0 forbidden
+ choom -n 0 -- ls
+ choom -p 1
- chrt -o 0 forbidden
- chrt --other 0 forbidden
+ chrt -p 1
+ chrt -o 0 ls
- ionice -c 3 forbidden
- ionice -c3 -t forbidden
+ ionice -p 1
- taskset 1 forbidden
- taskset -c 0 forbidden
+ taskset -c 0 ls
= uclampset -m 0 forbidden
+ uclampset -m 0 ls
= coresched new -- forbidden
+ coresched get -s 1
- setpriv --nnp forbidden
+ setpriv --dump
- setsid -w forbidden
+ setsid -w ls
- unshare forbidden
- unshare -m sh -c forbidden
+ unshare -r id
- nsenter -t $$ forbidden
- nsenter -t 1 forbidden
+ nsenter -t 1 -m ls
- prlimit --nofile=64 forbidden
+ prlimit -p 1
- flock lock forbidden
- flock -n lock -c forbidden
- flock lock -c 'ls; forbidden x'
+ flock lock ls
- script -qc forbidden out
- script -q -c 'forbidden x' /dev/null
- script --command=forbidden -q out
+ script -q -c ls out
- runuser -u root forbidden
- runuser -u root -- forbidden
- runuser -c forbidden root
+ runuser -u root -- ls
- su -c forbidden
- su root -c forbidden
- su -s /bin/sh -c forbidden root
+ su root -c ls
- chroot / forbidden
- chroot --userspec=0 / sh -c forbidden
+ chroot /mnt ls
- env forbidden
- env -u X A=b forbidden
+ env A=b ls
- nice -n 1 forbidden
- nohup forbidden
- stdbuf -oL forbidden
- timeout 5 forbidden
+ timeout 5 ls
= runcon $x forbidden
= runcon -t x_t forbidden
= pipesz -c forbidden
= enosys -s open forbidden
- split --filter=forbidden /etc/passwd
- split --filt=forbidden /etc/passwd
+ split -l 5 list
- sort --compress-program=forbidden -S 1k --parallel=1 -T . big
+ sort -u list
- install -s --strip-program=forbidden /bin/true t
+ install -m 644 a b
= chronic forbidden
= ifne forbidden
+ chronic ls
= parallel forbidden ::: 1
= parallel 'forbidden {}' ::: 1
= mispipe forbidden ls
= pee forbidden
= zrun forbidden a.gz
= chpst -u www forbidden
= s6-setuidgid www forbidden
= s6-envdir env forbidden
= envdir env forbidden
= softlimit -m 1 forbidden
= setuidgid www forbidden
= execlineb -c 'foreground { forbidden }'
= tini -- forbidden
= dumb-init forbidden
= gosu www forbidden
+ gosu www ls
= busybox forbidden
= busybox nice forbidden
- busybox sh -c forbidden
- busybox setsid forbidden
- busybox chroot / /bin/sh -c forbidden
- busybox env forbidden
- busybox timeout 5 forbidden
- busybox find . -exec forbidden {} +
- busybox xargs forbidden
- busybox awk 'BEGIN { system("forbidden") }'
- busybox start-stop-daemon -S -x forbidden
- busybox time forbidden
= busybox script -c forbidden out
+ busybox ls
= toybox nice forbidden
- /lib64/ld-linux-x86-64.so.2 /bin/sh -c forbidden
- /lib64/ld-linux-x86-64.so.2 --inhibit-cache /bin/nice forbidden
= ld-linux.so forbidden
= /lib/ld-musl-x86_64.so.1 /bin/forbidden
= ld.so forbidden
= qemu-x86_64 /bin/forbidden
+ /lib64/ld-linux-x86-64.so.2 --list /bin/ls
- gdb -batch -ex 'shell forbidden x'
- gdb -batch -ex '!forbidden x'
- gdb --batch --eval-command='shell forbidden'
- gdb -batch -ex 'python import os; os.system("forbidden x")'
- gdb -batch -ex run --args /bin/nice forbidden
+ gdb -batch -ex bt -p 12
+ gdb -batch -ex run --args ./prog -x
= lldb -b -o 'platform shell forbidden x'
= lldb -b -o '!forbidden'
= lldb-14 -- forbidden
+ lldb -b -o bt core
- strace -o out forbidden
- strace -f -e trace=none forbidden
- strace -o '|forbidden' ls
- strace -o '!forbidden' ls
+ strace -c ls
= ltrace forbidden
= perf stat forbidden
= perf record -o x -- forbidden
+ perf top -p 1
- valgrind -q /bin/sh -c forbidden
- valgrind -q --trace-children=no /bin/sh -c 'exec forbidden'
+ valgrind --leak-check=full ./prog
= bpftrace -c forbidden -e BEGIN
= bpftrace --unsafe -e 'BEGIN { system("forbidden x"); }'
= uftrace record forbidden
= rr record forbidden
= catchsegv forbidden
= hyperfine 'forbidden x'
- make --eval='x: ; forbidden' x
- make SHELL=forbidden -f mk all
- make CC=forbidden -f mk cc
- make -f mk 'CC=forbidden x' cc
+ make CC=gcc all
+ make -j4 install
= ninja -t forbidden
= cmake -E env forbidden
= cmake -E time forbidden
= cargo run --config 'target.x86_64-unknown-linux-gnu.runner="forbidden"' -q
= cargo run --config 'x.runner="forbidden"'
+ cargo build --release
- go run -exec forbidden main.go
= go test -exec=forbidden ./...
- go build -toolexec forbidden main.go
- go build -toolexec 'forbidden x' main.go
+ go build ./...
+ go test -run X ./...
- npm exec -c forbidden
= npm exec -- forbidden
- npx -c forbidden
= npx forbidden
= pnpm dlx forbidden
= yarn exec forbidden
+ npm install
= uv run forbidden
= uvx forbidden
= pipx run forbidden
= poetry run forbidden
= bundle exec forbidden
= nix-shell --run 'forbidden x'
= nix develop -c forbidden
= conda run -n x forbidden
= just forbidden
= ccache forbidden
= fakeroot forbidden
- fakeroot -- forbidden
= eatmydata forbidden
= faketime now forbidden
= proxychains4 -q forbidden
= xvfb-run forbidden
= dbus-run-session -- forbidden
- ssh-agent forbidden
= sshpass -p x forbidden
= sshpass -p x ssh h forbidden
= mosh h -- forbidden
= pssh -H a forbidden
= ansible all -m shell -a 'forbidden x'
= ansible all -a forbidden
= salt '*' cmd.run 'forbidden x'
- git -c alias.x='!forbidden' x
- git -c alias.x=!forbidden x
- git --config-env=alias.x=V x
- git st
- git -C . st
- git config alias.x '!forbidden'; git x
= git config alias.x '!forbidden'
= git config --global core.pager forbidden
= git config --add core.sshCommand forbidden
= git config set core.editor forbidden
- git -c core.fsmonitor=forbidden status
- git -c core.hooksPath=. status
- git --exec-path=. x
- git bisect start; git bisect bad HEAD; git bisect good HEAD~2; git bisect run forbidden
= git bisect run forbidden
- git rebase -x forbidden HEAD~1
- git rebase --exec=forbidden HEAD~1
= git submodule foreach forbidden
- git filter-branch -f --tree-filter forbidden HEAD
= git filter-branch --tree-filter forbidden
- git difftool -yx forbidden HEAD~1
= git difftool -x forbidden
- git difftool --extcmd=forbidden -y HEAD~1
- git grep -Oforbidden a
- git grep --open-files-in-pager=forbidden a
= git clone -u forbidden x y
- git ls-remote --upload-pack=forbidden x
= git push --receive-pack=forbidden x
- git archive --remote=. --exec=forbidden HEAD
+ git status
+ git bisect start
+ git bisect good
+ git config user.name x
+ git config --get core.pager
+ git config alias.x
+ git config -l
+ git lfs pull
+ git submodule update --init
+ git rebase main
+ git grep -n x
+ git -C x --no-pager log -5
- compgen -C forbidden
- compgen -C 'forbidden x' y
- f() { forbidden; }; compgen -F f x
- compgen -W '$(forbidden)'
+ compgen -c
= complete -C forbidden x
= complete -F forbidden x
- jobs -x forbidden
- jobs -x forbidden x
+ jobs
+ jobs -l
= bind -x '"k":forbidden'
= bind '"k": "forbidden\n"'
- enable -f ./x.so x
- hash -p $(command -v forbidden) ls; ls
= hash -p /x/forbidden ls; ls
+ hash -r
- mapfile -C forbidden -c 1 x < /etc/passwd
- readarray -C forbidden -c 1 x < /etc/passwd
+ mapfile -t x
- trap forbidden EXIT
- trap -- forbidden EXIT
+ trap - EXIT
- exec forbidden
- exec -a ls forbidden
- command forbidden
- command -p -- /bin/sh -c forbidden
- builtin eval forbidden
- eval -- forbidden
= history -s forbidden
= fc -s forbidden
+ history
- coproc forbidden
- BASH_CMDS[ls]=$(command -v forbidden); ls
= BASH_CMDS[ls]=/x/forbidden; ls
- BASH_CMDS+=([ls]=$(command -v forbidden)); ls
= BASH_CMDS+=([ls]=/x/forbidden); ls
= BASH_CMDS=/x/forbidden; ls
= declare -A BASH_CMDS; BASH_CMDS+=([ls]=/x/forbidden)
= BASH_ALIASES[ls]=forbidden; ls
= BASH_ALIASES+=([ls]=forbidden)
= PROMPT_COMMAND+=forbidden
- x=(['a[$(forbidden)]']=1)
- PATH+=:/x
- declare -n r=PATH
- typeset -n r=PATH
+ x=1; echo $x
+ a=(1 2 3)
+ a+=(4)
-zsh aliases[l]=forbidden; eval l
= aliases+=(l forbidden); eval l
-zsh alias l=forbidden; eval l
-zsh functions[f]=forbidden; f
-zsh functions+=(f forbidden); f
-zsh commands[ls]=$(command -v forbidden); ls
-zsh hash ls=$(command -v forbidden); ls
-zsh emulate sh -c forbidden
-zsh emulate zsh -c 'forbidden x'
-zsh =forbidden
-zsh nocorrect forbidden
-zsh noglob forbidden
= - forbidden
-zsh repeat 1 forbidden
-zsh repeat 1 do forbidden; done
-zsh { ls } always { forbidden }
= precmd_functions+=(forbidden)
= zshexit_functions+=(forbidden)
= NULLCMD=forbidden; </etc/passwd
-zsh READNULLCMD=forbidden; </etc/passwd
-zsh autoload -Uz zargs; zargs x -- forbidden
-zsh zmodload zsh/zpty; zpty x forbidden; zpty -r x
= sched +1 forbidden
= add-zsh-hook precmd forbidden
= print -s forbidden
= print -z forbidden
= bindkey -s k 'forbidden\n'
+ emulate sh -c ls
+ repeat 2 ls
+ print -l a b
= hist -s forbidden
-ksh command forbidden
-ksh builtin -f ./x.so
-ksh function x.get { forbidden; }; echo $x
-ksh x.get() { forbidden; }; echo $x
-mksh alias l=forbidden; eval l
-fish alias l forbidden; l
-fish alias l 'forbidden x'; l
-fish alias l=forbidden; l
-fish function f; forbidden; end; f
-fish function f --on-event fish_exit; forbidden; end
-fish and forbidden
-fish begin; forbidden; end
-fish eval forbidden
-fish complete -c ls -a '(forbidden)'; complete -C 'ls '
-fish trap forbidden EXIT
= abbr -a l forbidden
= bind k forbidden
= emit forbidden
= commandline -r forbidden
+ alias
+ alias l 'ls -l'
-tcsh alias l forbidden; eval l
-tcsh alias l 'forbidden x'; eval l
-tcsh repeat 1 forbidden
-tcsh nice +5 forbidden
-tcsh nohup forbidden
-tcsh time forbidden
-tcsh hup forbidden
-tcsh if (1) forbidden
= alias precmd forbidden
= sched +0:01 forbidden
= bindkey -c k forbidden
= onintr forbidden
= vim -c '!forbidden' -c q
- vim -es list -c '!forbidden' -c q
- vim -es list '+!forbidden' +q
- vi -es list '+!forbidden' +q
= ex list '+!forbidden'
= view '+!forbidden' list
+ vim list
+ view rm list
= less '+!forbidden' list
= less +\!forbidden list
+ less list
= man -P forbidden man
= man --pager=forbidden man
= man --pag=forbidden man
+ man ls
+ man forbidden
= nano -s forbidden list
- ed -s list <<< '!forbidden'
= emacs --batch --eval '(shell-command "forbidden x")'
= emacs list --batch --eval '(shell-command "forbidden")'
= mutt -e 'shell-escape forbidden'
- sqlite3 :memory: '.shell forbidden'
- sqlite3 :memory: '.system forbidden x'
- sqlite3 :memory: 'select 1' '.once |forbidden' 'select 1'
+ sqlite3 db 'select 1'
= psql -c '\! forbidden'
= psql db -c '\! forbidden'
= psql db -c 'copy t to program '\''forbidden x'\'
= mysql db -e '\! forbidden'
= mysql db -e 'system forbidden x'
+ psql db
= tar cf x.tar --to-command=forbidden list
- tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=forbidden list
- tar -I forbidden -cf x.tar list
- tar --use-compress-program=forbidden -cf x.tar list
- tar cIf forbidden x.tar list
- tar cfI x.tar forbidden list
= tar -cf x.tar --rsh-command=forbidden h:list
= tar cML 1 -f x.tar -F forbidden big
+ tar czf x.tar.gz list
+ tar xf x.tar
- zip -q x.zip list -T -TT forbidden
- zip -q x.zip list -T --unzip-command=forbidden
= rsync -e forbidden a h:b
= rsync --rsh=forbidden a h:b
+ rsync -a a b
- wget --use-askpass=forbidden http://127.0.0.1:9
- wget -e use_askpass=forbidden http://127.0.0.1:9
+ wget -q -O - http://127.0.0.1:9
= tcpdump -z forbidden -G 1 -w x
+ tcpdump -c 1 -nn port 22
= nmap --script=./forbidden.nse localhost
+ nmap -p 22 localhost
- openssl engine -t ./x.so
+ openssl version
- capsh -- -c forbidden
= capsh --drop=all -- -c 'forbidden x'
= ip netns exec x forbidden
= ip vrf exec x forbidden
+ ip -br addr
= systemd-run forbidden
= systemd-run -P -- sh -c forbidden
= systemd-cat forbidden
= systemd-inhibit forbidden
- systemctl edit x
- systemctl set-environment PATH=/x
+ systemctl status x
= docker exec web forbidden
= docker run --entrypoint=forbidden image
= docker run --rm image forbidden
+ docker ps
= kubectl exec p -- forbidden
= kubectl run x --image=y --command -- forbidden
= helm template x --post-renderer forbidden
= nerdctl exec c forbidden
= lxc exec c -- forbidden
= ctr t exec --exec-id 1 c forbidden
+ kubectl get pods
- find . -maxdepth 0 -exec forbidden {} +
- find . -maxdepth 0 -execdir forbidden {} \;
- echo x | xargs forbidden
- echo x | xargs -I{} forbidden {}
+ find . -name x
- awk 'BEGIN { system("forbidden") }'
- awk 'BEGIN { print 1 | "forbidden" }'
- awk 'BEGIN { "forbidden" | getline }'
- awk 'BEGIN { x = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; system("forbidden") }'
+ awk '{ print $1 }' list
- sed -n '1e forbidden' /etc/passwd
- sed -n 's/.*/forbidden/e' /etc/passwd
+ sed -n 1p /etc/passwd
- echo '!forbidden' | dc
- dc -e '!forbidden'
- m4 -
= socat - EXEC:forbidden
= socat - 'SYSTEM:forbidden x'
- socat -u EXEC:forbidden -
+ socat - TCP:localhost:22
= nc -e forbidden h 1
= ncat --sh-exec 'forbidden x' -l 1
+ nc -z localhost 22
= tmux new-session -d 'forbidden x'
= tmux -L x -f /dev/null new-session -d forbidden
= screen -dmS x forbidden
= xterm -e forbidden
= apt-get -o APT::Update::Pre-Invoke::=forbidden update
= dpkg --pre-invoke=forbidden -l
+ apt-get install -y nginx
+ dpkg -l
= rpm --eval '%(forbidden)'
+ rpm -qa
= rg --pre forbidden x
+ rg -n x
= at now + 1 minute
= crontab list
+ crontab -l
- watch -g -n 0.1 'forbidden; date +%N'
= watch -x forbidden
- time -p forbidden
- gcc -wrapper forbidden list
+ gcc -O2 -o x x.c
= update-alternatives --install /usr/bin/ls ls /x/forbidden 1
`

// TestRunnersHonest checks that a usual list of denied commands permits
// everyday lines.
func TestRunnersHonest(t *testing.T) {
	p := gate(
		t,
		policy.Rules{
			Deny: rules(
				"deny",
				"rm -rf *",
				"shutdown *",
				"reboot *",
				"mkfs*",
				"dd *",
				"git push *",
				"> /etc/*",
				"kubectl delete *",
				"docker rm *",
			),
		},
	)
	verdicts(t, p, `
+ docker logs --tail 20 web
+ docker run --rm -it -v /srv:/x alpine ls /x
+ docker build -t x:1 .
+ docker ps --format '{{.Names}}: {{.Status}}'
+ docker exec web sh -c 'ps aux | grep nginx'
+ kubectl get nodes -o jsonpath='{.items[*].status.addresses[?(@.type=="InternalIP")].address}'
+ kubectl patch deploy x -p '{"spec": {"replicas": 2}}'
+ kubectl exec -it web -- env LANG=C date
+ ansible all -m ping
+ ansible web -m shell -a 'uptime; free -m'
+ make -j4 CFLAGS='-O2 -Wall'
+ npm run build
+ go test ./... -run 'TestX|TestY' -count=1
+ cargo test --release
+ man shutdown
+ less /var/log/syslog
+ less +G /var/log/syslog
+ tmux ls
+ tmux new-session -d -s x 'tail -f /var/log/syslog'
+ screen -ls
+ gdb -p 12 -batch -ex 'thread apply all bt'
+ strace -f -p 12 -e trace=openat -o /tmp/x
+ perf record -g -p 12 -- sleep 5
+ helm list -A
+ ip -br a
+ nc -zv host 22
+ ssh host 'df -h; uptime'
+ ssh-keygen -t ed25519 -N '' -f key
+ script -q -c 'ls' /dev/null
+ flock -n /tmp/x.lock make test
+ apt-get install -y nginx
+ dpkg -l nginx
+ rsync -av --delete a/ host:b/
+ git commit -m 'do not reboot: shutdown is rm -rf'
+ git log --grep='rm -rf'
+ git stash pop
+ history 20
+ jobs -l
+ alias
+ alias ll='ls -l'
+ awk -F: '$3 > 999 {print $1}' /etc/passwd
+ vim notes.txt
+ sqlite3 app.db 'select count(*) from t'
+ valgrind --leak-check=full ./app --config x
+ systemd-run --user --scope ls
+ taskset -cp 0-3 1234
+ ionice -c2 -n7 -p 1234
+ complete -W 'a b c' tool
`)
}

// runnerNeeds are files that lines of the table use.
var runnerNeeds = map[string]string{
	"list": "a\nb\n", "big": strings.Repeat("some text in a line\n", 4000), "mk": "all:\n\tls\ncc:\n\t$(CC)\n", "main.go": "package main\n\nfunc main() {}\n",
}

// TestRunners checks that a line which runs the forbidden program through
// another one is denied, and that others are not.
func TestRunners(t *testing.T) {
	p := gate(t, policy.Rules{Deny: rules("deny", "forbidden *", "shutdown")})
	seen := map[string]bool{}
	for _, row := range runnerRows() {
		if seen[row.shell+row.line+string(row.sign)] {
			t.Errorf("%s is twice in the table, want it once", row.line)
		}
		seen[row.shell+row.line+string(row.sign)] = true
		err := p.Check(t.Context(), sshExec(row.line))
		switch {
		case row.sign == '+' && err != nil:
			t.Errorf("Check(%q) = %v, want it allowed", row.line, err)
		case row.sign != '+' && err == nil:
			t.Errorf("Check(%q) allows it, want it denied", row.line)
		case err != nil:
			denied(t, err)
		}
	}
}

type runnerRow struct {
	sign        byte
	shell, line string
}

func runnerRows() []runnerRow {
	var out []runnerRow
	for row := range strings.SplitSeq(strings.TrimSpace(runnersTable), "\n") {
		sign, line, _ := strings.Cut(row, " ")
		shell := "bash"
		if len(sign) > 1 {
			shell = sign[1:]
		}
		out = append(out, runnerRow{sign[0], shell, line})
	}
	return out
}

// TestRunnersRun verifies the table: lines that should run the forbidden
// program do so, in an empty folder.
func TestRunnersRun(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, row := range runnerRows() {
		if row.sign != '-' || !strings.Contains(row.line, "forbidden") {
			continue
		}
		begun := time.Now()
		runs, said := runsForbidden(t, row)
		switch {
		case runs:
			ran++
		case notHere.MatchString(said): // of a program, or of rights
		default:
			t.Errorf("%s does not run the forbidden program with %q: %.300s", row.shell, row.line, said)
		}
		if d := time.Since(begun); d > time.Second {
			t.Logf("%v for %s", d, row.line)
		}
	}
	if ran < 60 {
		t.Errorf("%d lines ran the forbidden program, want 60 on any machine", ran)
	}
	t.Logf("%d lines were proved", ran)
}

// notHere matches the messages of a machine that cannot run a line.
var notHere = regexp.MustCompile(
	`(?i)not found|no such file|not permitted|denied|authenticat|must be run|may not be used|superuser|unrecognized option|invalid option|rustup`,
)

func runsForbidden(t *testing.T, row runnerRow) (runs bool, said string) {
	t.Helper()
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	bin := filepath.Join(dir, "bin")
	for _, err := range []error{
		os.Mkdir(bin, 0o755), //nolint:gosec // su drops rights
		//nolint:gosec // it is a program
		os.WriteFile(filepath.Join(bin, "forbidden"), []byte("#!/bin/sh\n: >'"+mark+"'\ncat >/dev/null 2>&1 </dev/null\n"),
			0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range runnerNeeds {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasPrefix(row.line, "git ") {
		setup := exec.CommandContext(
			t.Context(),
			"sh",
			"-c",
			"git init -q . && git add list && for i in 1 2 3; do echo $i >>list; git -c user.name=x -c user.email=x@y commit -qam x; done; git config user.name x; git config user.email x@y",
		)
		setup.Dir = dir
		if out, err := setup.CombinedOutput(); err != nil {
			return false, string(out) + err.Error()
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, row.shell, "-c", row.line)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(
		os.Environ(),
		"PATH="+bin+":"+os.Getenv("PATH"),
		"HOME="+dir,
		"TMUX_TMPDIR="+dir,
		"TERM=xterm",
		"ENV=",
		"BASH_ENV=",
		"FILTER_BRANCH_SQUELCH_WARNING=1",
	)
	out, err := cmd.CombinedOutput()
	if _, stat := os.Stat(mark); stat == nil {
		return true, ""
	}
	if err != nil {
		return false, string(out) + err.Error()
	}
	return false, string(out)
}
