package shells

import (
	"regexp"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
)

// A question is asked by a real program. setup runs before, without a terminal's help.
type question struct {
	setup, command string
	line, kind     string // in the result
	always         bool   // part of the normal run; the others need the build tag long
}

// questions are those of programs that are on the machine. Those of the others, and of devices, are in package prompt.
var questions = []question{
	{"", "ssh-keygen -t ed25519 -N ''", `Enter file in which to save the key`, prompt.Unknown, true},
	{"ssh-keygen -q -t ed25519 -N '' -f k", "ssh-keygen -t ed25519 -N '' -f k", `Overwrite \(y/n\)\? $`, prompt.YesNo, false},
	{"", "ssh-keygen -t ed25519 -f k", `Enter passphrase .*: $`, prompt.Password, false},
	{"touch a", "rm -i a", `remove .*\? $`, prompt.YesNo, false},
	{"touch a b", "cp -i a b", `overwrite .*\? $`, prompt.YesNo, false},
	{"touch a b; chmod 444 b", "mv -i a b", `\? $`, prompt.YesNo, false},
	{"touch a b", "gzip -k a; gzip -k a", `overwrite \(y or n\)\? $`, prompt.YesNo, true},
	{"touch a", "find a -ok rm {} ';'", `\? $`, prompt.Unknown, false},
	{"touch a", "echo a | xargs -p rm", `\?\.\.\.$`, prompt.Unknown, false},
	{"truncate -s 4M i; mkfs.ext4 -q i", "mkfs.ext4 i", `Proceed anyway\? \(y,N\) $`, prompt.YesNo, true},
	{"", "npm init", `package name: .*\) $`, prompt.Unknown, false},
	{
		"git init -q; git config user.email a@b; git config user.name n; echo a >f; git add f; git commit -qm m; echo b >f", "git add -p",
		`Stage this hunk \[.*\]\? $`, prompt.YesNo, false,
	},
	{"git init -q; touch f", "git clean -i", `What now> $`, prompt.Unknown, false},
	{"", "printf 'protocol=https\\nhost=example.org\\n\\n' | git -c credential.helper= credential fill", `Username for .*: $`, prompt.Login, false},
	{"", "openssl req -newkey rsa:2048 -nodes -keyout k -out r", `Country Name .*\]:$`, prompt.Unknown, false},
	{"", "openssl enc -aes-256-cbc -pbkdf2 -in /etc/hostname -out x", `password:$`, prompt.Password, false},
	{"", "gpg --full-generate-key", `Your selection\? $`, prompt.Unknown, false},
	{"echo hello >f; printf -- '--- x/y/none\\n+++ x/y/none\\n@@ -1 +1 @@\\n-zz\\n+yy\\n' >p", "patch <p", `File to patch: $`, prompt.Unknown, false},
	{"", "python3 -c 'input(\"Favourite number? \")'", `Favourite number\? $`, prompt.Unknown, false},
	{"", "python3 -c 'input(\"Project name [demo]: \")'", `Project name \[demo\]: $`, prompt.Unknown, false},
	{"", "python3 -c 'import getpass; getpass.getpass()'", `Password: $`, prompt.Password, false},
	{"", "read -p 'Name: ' x", `Name: $`, prompt.Unknown, false},
	{"", "read -p 'Select an option [1-4]: ' x", `Select an option \[1-4\]: $`, prompt.Unknown, false},
	{"", "select x in one two; do echo $x; break; done", `#\? $`, prompt.Unknown, true},
	{"", "ksh93 -c 'select x in one two; do break; done'", `#\? $`, prompt.Unknown, false},
	{"", "zsh -ic 'select x in one two; do break; done'", `\?# $`, prompt.Unknown, false},
	{"", "zsh -fc 'read \"x?Which host? \"'", `Which host\? $`, prompt.Unknown, false},
	{"", "gdb -q -nx -ex 'shell true' -ex start /bin/true", `\(y or \[n\]\) $|\(gdb\) $`, "", false},
	{"seq 100 >f", "more f", `--More--`, prompt.Pager, false},
	{"seq 100 >f", "cat f | less -X", `^:$`, prompt.Pager, false},
	{"", "perl -e '$|=1; print \"Continue? [y] \"; <STDIN>'", `Continue\? \[y\] $`, prompt.YesNo, false},
	{"", "sh -c 'printf \"Proceed with reload? [confirm]\"; read x'", `\[confirm\]$`, prompt.YesNo, true},
	{"", "sh -c 'printf \"Destination filename [startup-config]? \"; read x'", `Destination filename \[startup-config\]\? $`, prompt.Unknown, false},
	{"", "sh -c 'printf \"Are you sure? (y/n)[n]:\"; read x'", `\(y/n\)\[n\]:$`, prompt.YesNo, false},
	{"", "sh -c 'printf \"Restart services? \"; read x'", `Restart services\? $`, prompt.YesNo, false},
	{"", "sh -c 'printf \"Your choice > \"; read x'", `Your choice > $`, prompt.Unknown, false},
	{"", "sh -c 'printf \"Press [ENTER] to continue\"; read x'", `continue$`, prompt.Pager, false},
	{"", "bash -c 'read -n 1 -p \"(A)bort, (R)etry, (I)gnore? \"'", `\? $`, prompt.Unknown, false},
	{
		"", "node -e 'require(\"readline\").createInterface({input:process.stdin,output:process.stdout}).question(\"Package name: \",()=>process.exit())'",
		`Package name: $`, prompt.Unknown, false,
	},
	{"", "fish -c 'read -P \"City? \" x'", `City\? $`, prompt.Unknown, false},
}

// TestQuestions runs programs that ask. Each is reported within a few seconds, before the time after which any
// unfinished line is.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, q := range questions {
		if !q.always && !allPrompts {
			continue
		}
		t.Run(q.command, func(t *testing.T) {
			t.Parallel()
			s := promptRow{argv: bashWith, file: ".rc", config: `PS1='\u@\h:\w\$ '`, quiet: time.Hour}.open(t, true)
			if q.setup != "" {
				r, err := s.Exec(t.Context(),
					session.ExecRequest{Command: q.setup, Lane: session.LaneTerminal, Timeout: time.Minute})
				if err != nil || r.Exit.Code != 0 {
					t.Fatalf("%q: %q, %+v, %v", q.setup, r.Stdout.Bytes(), r.Exit, err)
				}
			}
			r, err := s.Exec(t.Context(),
				session.ExecRequest{Command: q.command, Lane: session.LaneTerminal, Timeout: 2 * patient})
			if err != nil {
				lab.Fatal(t, err)
			}
			if r.WaitingFor == nil || !regexp.MustCompile(q.line).MatchString(r.WaitingFor.Text) ||
				q.kind != "" && r.WaitingFor.Kind != q.kind {
				t.Fatalf("%s after %v with output %q, waiting for %+v; want %s %q", r.Done, r.Duration, r.Stdout.Bytes(),
					r.WaitingFor, q.kind, q.line)
			}
			t.Logf("%-60s %-9s %v", r.WaitingFor.Text, r.WaitingFor.Kind, r.Duration.Round(10*time.Millisecond))
		})
	}
}

// slow are programs that print parts of lines and work. PAUSE is a second or so.
var slow = []struct {
	script string
	always bool
}{
	{`printf 'Reading package lists... '; PAUSE; echo Done; printf 'Building dependency tree... '; PAUSE; echo Done`, true},
	{`for i in 1 2 3; do printf '\rReading package lists... %d0%%' $i; PAUSE; done; echo`, false},
	{`printf 'Get:1 http://deb.example.org/debian bookworm/main '; PAUSE; echo 'amd64 x [12 kB]'`, false},
	{`printf '0%% [Working]'; PAUSE; printf '\r0%% [Connecting to deb.example.org (192.0.2.1)]'; PAUSE; echo`, true},
	{`printf 'tests/test_a.py '; for i in 1 2 3 4; do PAUSE; printf .; done; echo ' [100%]'`, true},
	{`printf 'tests/test_a.py ..F.s'; PAUSE; printf x; PAUSE; echo`, false},
	{`for i in 1 2 3; do printf .; PAUSE; done; echo ok`, false},
	{`printf 'compiling: '; PAUSE; echo ok`, true},
	{`printf 'Compiling main.c: '; PAUSE; echo ok`, false},
	{`printf 'Linking: '; PAUSE; printf 'almost '; PAUSE; echo`, false},
	{`printf 'Progress: [ 42%%]'; PAUSE; printf '\rProgress: [ 43%%]'; PAUSE; echo`, true},
	{`printf 'Progress: [#####     ] '; PAUSE; printf '\rProgress: [##########] '; PAUSE; echo`, false},
	{`printf '[ 42%%] Building C object x.o'; PAUSE; echo`, false},
	{`printf '[3/10] Linking CXX executable x'; PAUSE; printf '\r[4/10] Linking CXX executable y'; PAUSE; echo`, false},
	{`printf 'checking for gcc... '; PAUSE; echo gcc`, false},
	{`printf 'checking whether the C compiler works... '; PAUSE; echo yes`, false},
	{`printf 'Step 3/10 : '; PAUSE; echo RUN`, false},
	{`printf 'Sending build context to Docker daemon  3.584kB'; PAUSE; echo`, false},
	{`printf 'a1b2c3: Downloading [=====>      ]  12.3MB/45.6MB'; PAUSE; printf '\ra1b2c3: Extracting '; PAUSE; echo`, false},
	{`printf '  %% Total    %% Received'; PAUSE; printf '\r 42  100M   42 42.0M    0     0  10.0M'; PAUSE; echo`, false},
	{`printf 'remote: Counting objects:  42%% (42/100)'; PAUSE; printf '\rremote: Counting objects: 100%% (100/100), done.'; PAUSE; echo`, false},
	{`printf 'Receiving objects:  42%% (42/100), 1.2 MiB | 1.1 MiB/s'; PAUSE; echo`, false},
	{`printf '⠋ installing'; PAUSE; printf '\r⠙ installing'; PAUSE; echo`, false},
	{`printf '⠋ '; PAUSE; printf '\r⠙ '; PAUSE; echo`, true},
	{`printf '|'; PAUSE; printf '\b/'; PAUSE; printf '\b-'; echo`, false},
	{`printf 'Starting sshd: '; PAUSE; echo '[  OK  ]'`, false},
	{`printf 'Waiting for the cluster: '; PAUSE; echo ready`, false},
	{`printf '  CC      init/main.o'; PAUSE; echo`, false},
	{`printf 'make[1]: '; PAUSE; echo done`, false},
	{`printf 'Uploading x (1.2 MB): '; PAUSE; echo ok`, false},
	{`printf '12:00:05 [worker]: '; PAUSE; echo ok`, false},
	{`printf '>>> Downloading 🚀 '; PAUSE; echo ok`, false},
	{`printf 'ETA: '; PAUSE; printf '00:10'; PAUSE; echo`, false},
	{`printf 'x.iso    42%%   12MB   1.1MB/s   00:10 ETA'; PAUSE; printf '\rx.iso    43%%   12MB   1.1MB/s   00:10 ETA'; PAUSE; echo`, false},
	{`dd if=/dev/zero of=/dev/null bs=1M count=30000 status=progress`, false},
	{`python3 -c 'import time,sys
for i in range(3): print(i, end=" ", flush=True); time.sleep(1)'`, false},
	{`fsck='Pass 1: Checking inodes, blocks, and sizes'; printf "$fsck"; PAUSE; echo`, false},
}

// TestSlowPrograms runs programs that print parts of lines: none of them asks.
func TestSlowPrograms(t *testing.T) {
	t.Parallel()
	for _, p := range slow {
		if !p.always && !allPrompts {
			continue
		}
		t.Run(p.script, func(t *testing.T) {
			t.Parallel()
			s := promptRow{argv: bashWith, file: ".rc", config: "PAUSE() { sleep 1; }\n" + `PS1='\u@\h:\w\$ '`}.open(t, true)
			r, err := s.Exec(t.Context(),
				session.ExecRequest{Command: p.script, Lane: session.LaneTerminal, Timeout: time.Minute})
			if err != nil {
				lab.Fatal(t, err)
			}
			if r.WaitingFor != nil || !r.Exit.Known {
				t.Errorf("%s after %v with output %q, waiting for %+v", r.Done, r.Duration, r.Stdout.Bytes(), r.WaitingFor)
			}
		})
	}
}
