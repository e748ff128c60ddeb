package policy_test

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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
//
//go:embed testdata/runners.txt
var runnersTable string

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

// goCache is where go keeps its compiled packages, also for a go that has another home.
var goCache = func() func(*testing.T) string {
	find := sync.OnceValues(func() ([]byte, error) { return exec.Command("go", "env", "GOCACHE").Output() })
	return func(t *testing.T) string {
		t.Helper()
		dir, err := find()
		if err != nil {
			t.Fatalf("go env GOCACHE: %v", err)
		}
		return strings.TrimSpace(string(dir))
	}
}()

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
		"GOCACHE="+goCache(t), // else go run compiles the standard library, for half a minute
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
