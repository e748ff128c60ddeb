package agent

import (
	"fmt"
	"strings"

	"ptyctl/internal/lab"
)

// inventoryService is the script of a service. Its process is a sleep with the service's name.
const inventoryService = `#!/bin/sh
dir=/run/lab/home/ops/inventory
running() { [ -e $dir/pid ] && kill -0 "$(cat $dir/pid)" 2>/dev/null; }
case $1 in
start)
	line=$(grep -n '^port' $dir/inventory.conf)
	port=$(echo "$line" | sed 's/.*= *//')
	case $port in
	*[!0-9]*)
		echo "$(date '+%F %T') FATAL inventory.conf line ${line%%:*}: port is not a number: $port" >>$dir/inventory.log
		echo 'inventory: did not start' >&2
		exit 1 ;;
	esac
	setsid /bin/bash -c 'exec -a inventoryd sleep 600' >/dev/null 2>&1 </dev/null &
	echo $! >$dir/pid
	echo "inventory: started on port $port" ;;
stop) running && kill "$(cat $dir/pid)"; rm -f $dir/pid ;;
status) running && { echo 'inventory: running'; exit 0; }; echo 'inventory: not running'; exit 3 ;;
esac
`

// service finds out why a service does not run, and starts it.
var service = task{
	name: "failing service",
	prepare: func(w *world) {
		w.ns.WriteFile(w.t, "/etc/init.d/inventory", "755", inventoryService)
		w.run("[ ! -e /run/lab/home/ops/inventory/pid ] || /etc/init.d/inventory stop")
		w.folder(ops + "/inventory")
		var conf, log strings.Builder
		for i := range 40 {
			fmt.Fprintf(&conf, "setting_%02d = %d\n", i+1, i*i)
			if i == 22 {
				conf.WriteString("# where the clients come\nport = 8o80\n")
			}
		}
		for i := range 400 {
			fmt.Fprintf(&log, "2026-11-24 23:%02d:%02d INFO request %d from 192.0.2.%d served in %d ms\n",
				i/60, i%60, 7000+i, i%250, i*7%90)
		}
		w.file(ops+"/inventory/inventory.conf", "644", conf.String())
		w.file(ops+"/inventory/inventory.log", "644", log.String())
		w.run("su ops -s /bin/sh -c '/etc/init.d/inventory start || true'")
	},
	ptyctl: func(w *world, p *ptyctl) {
		p.exec(3, args{
			"host": "web1",
			"cmd":  "tail -n 100 inventory/inventory.log | grep -E 'ERROR|FATAL'; /etc/init.d/inventory status",
		}, "FATAL inventory.conf line 25", "not running")
		p.exec(0, args{"host": "web1", "cmd": "sed -n 23,26p inventory/inventory.conf"}, "port = 8o80")
		p.exec(0, args{
			"host": "web1",
			"cmd": "sed -i 's/8o80/8080/' inventory/inventory.conf && /etc/init.d/inventory start && " +
				"/etc/init.d/inventory status",
		}, "started on port 8080", "inventory: running")
	},
	bash: func(w *world, b *bash) {
		b.run("ssh web1 'tail -n 100 inventory/inventory.log | grep -E \"ERROR|FATAL\"; /etc/init.d/inventory status'",
			"FATAL inventory.conf line 25", "not running")
		b.run("ssh web1 sed -n 23,26p inventory/inventory.conf", "port = 8o80")
		b.run("ssh web1 \"sed -i 's/8o80/8080/' inventory/inventory.conf && /etc/init.d/inventory start && "+
			"/etc/init.d/inventory status\"", "inventory: running")
	},
	done: func(w *world) string {
		pid := w.run("cat /run/lab/home/ops/inventory/pid || true")
		if !strings.Contains(w.run("tr '\\0' ' ' </proc/"+pid+"/cmdline || true"), "inventoryd") {
			return "inventory does not run"
		}
		w.run("/etc/init.d/inventory stop; grep -q '^port = 8080$' /run/lab/home/ops/inventory/inventory.conf")
		return ""
	},
}

// build finds the error of a build in the noise of a compiler, corrects it, and builds again.
var build = task{
	name: "build",
	prepare: func(w *world) {
		w.folder(ops + "/shop")
		var script strings.Builder
		script.WriteString("cd /run/lab/home/ops/shop\n")
		for i := range 24 {
			field := "total_cents"
			if i == 16 {
				field = "total_cent"
			}
			fmt.Fprintf(&script, `cat >m%02[1]d.c <<'end'
struct order { int total_cents; };
int m%02[1]d(const struct order *o) {
	int spare = %[1]d;
	return o->%[2]s + %[1]d;
}
end
`, i, field)
		}
		script.WriteString(`cat >main.c <<'end'
#include <stdio.h>
int main(void) { puts("shop is ready"); return 0; }
end
cat >Makefile <<'end'
CFLAGS = -Wall -g
OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))
shop: $(OBJECTS)
	$(CC) -o $@ $(OBJECTS)
end
chown -R ops: .`)
		w.run(script.String())
	},
	ptyctl: func(w *world, p *ptyctl) {
		p.exec(2, args{"host": "web1", "cmd": "make -k -C shop 2>&1", "match": `error|\*\*\*`, "timeout_ms": 120000},
			`m16.c:4:\d+: error: .*total_cent`)
		p.exec(0, args{
			"host": "web1", "cmd": `cd shop && sed -i 's/total_cent\b/total_cents/' m16.c && make 2>&1 && ./shop`,
			"match": `error|\*\*\*|ready`, "timeout_ms": 120000,
		}, "shop is ready")
	},
	bash: func(w *world, b *bash) {
		b.run(`ssh web1 'make -k -C shop 2>&1' | grep -E 'error|\*\*\*'; echo "exit ${PIPESTATUS[0]}"`,
			`m16.c:4:\d+: error: .*total_cent`, "exit 2")
		b.run(`ssh web1 'cd shop && sed -i "s/total_cent\b/total_cents/" m16.c && make 2>&1 && ./shop' |
grep -E 'error|\*\*\*|ready'; echo "exit ${PIPESTATUS[0]}"`, "shop is ready", "exit 0")
	},
	done: func(w *world) string {
		if got := w.run("/run/lab/home/ops/shop/shop || true"); got != "shop is ready" {
			return "the program shows " + got
		}
		return ""
	},
}

// testRun runs tests, looks at those that fail, corrects the code, and runs them again.
var testRun = task{
	name: "test run",
	prepare: func(w *world) {
		w.folder(ops + "/checks")
		w.file(ops+"/checks/rates.txt", "644", "standard 19\nreduced 7\nzero 0\nbooks 70\n")
		w.file(ops+"/checks/run", "755", `#!/bin/sh
# 240 checks of which one looks at a file.
echo 1..240
failed=0
for i in $(seq 240); do
	if [ $i = 173 ] && ! grep -qx 'books 7' rates.txt; then
		failed=1
		echo "not ok $i - rate of books"
		echo "#   file: rates.txt"
		echo "#   got:  $(grep books rates.txt)"
		echo "#   want: books 7"
	else
		echo "ok $i - check number $i of the rates and their rounding"
	fi
done
echo "# failed $failed"
echo $failed >status
exit $failed
`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		p.exec(1, args{"host": "web1", "cmd": "cd checks && ./run", "match": "^not ok|^#"},
			"not ok 173", "want: books 7", "failed 1")
		p.exec(0, args{
			"host": "web1", "cmd": "cd checks && sed -i 's/^books 70$/books 7/' rates.txt && ./run", "match": "^not ok|^#",
		}, "failed 0")
	},
	bash: func(w *world, b *bash) {
		b.run(`ssh web1 'cd checks && ./run' | grep -E '^not ok|^#'; echo "exit ${PIPESTATUS[0]}"`, "want: books 7", "exit 1")
		b.run(`ssh web1 "cd checks && sed -i 's/^books 70$/books 7/' rates.txt && ./run" |
grep -E '^not ok|^#'; echo "exit ${PIPESTATUS[0]}"`, "failed 0", "exit 0")
	},
	done: func(w *world) string {
		if got := w.run("cat /run/lab/home/ops/checks/status"); got != "0" {
			return "the last run of the tests ended with status " + got
		}
		return ""
	},
}

// manyHosts asks twelve hosts for a version, and brings those up to date that are behind.
var manyHosts = task{
	name: "twelve hosts",
	kind: hosts,
	prepare: func(w *world) {
		var script strings.Builder
		w.folder(ops + "/versions")
		for i, name := range manyHostNames {
			version := "2.4.1"
			if i == 4 {
				version = "2.3.9"
			}
			fmt.Fprintf(&script, "echo %s >%s/versions/%s\n", version, ops, name)
		}
		w.run(script.String() + "chown -R ops: " + ops + "/versions")
	},
	ptyctl: func(w *world, p *ptyctl) {
		for i, name := range manyHostNames {
			want := `^2\.4\.1\n$`
			if i == 4 {
				want = `^2\.3\.9\n$`
			}
			p.exec(0, args{"host": name, "cmd": "cat versions/$NODE"}, want)
		}
		p.exec(0, args{"host": "n05", "cmd": "echo 2.4.1 >versions/$NODE; cat versions/$NODE"}, `^2\.4\.1\n$`)
	},
	fleet: func(w *world, p *ptyctl) {
		r := p.ok("ptyctl_fleet", args{"action": "run", "hosts": []string{"n[01-12]"}, "cmd": "cat versions/$NODE"})
		p.want(r.Text, r, `"groups":\[\{"n":11,"stdout":"2\.4\.1"`, `"hosts":"n05",.*2\.3\.9`)
		p.exec(0, args{"host": "n05", "cmd": "echo 2.4.1 >versions/$NODE; cat versions/$NODE"}, `^2\.4\.1\n$`)
	},
	bash: func(w *world, b *bash) {
		b.run("for h in n{01..12}; do echo \"$h $(ssh $h 'cat versions/$NODE')\"; done", "n05 2.3.9")
		b.run("ssh n05 'echo 2.4.1 >versions/$NODE; cat versions/$NODE'", "2.4.1")
	},
	done: func(w *world) string {
		if got := w.run("sort -u " + ops + "/versions/*"); got != "2.4.1" {
			return "the versions are " + got
		}
		return ""
	},
}

// logAndJob runs a job on one host that waits for a word, which may be given when another host's log says so.
var logAndJob = task{
	name: "log and job at once",
	prepare: func(w *world) {
		w.folder(ops + "/migration")
		w.answers["rows"] = random(w)
		w.file(ops+"/migration/app.log", "644", strings.Repeat("lag 90 of the second copy\n", 200))
		w.file(ops+"/migration/rows", "600", w.answers["rows"])
		w.file(ops+"/migration/migrate", "755", `#!/bin/sh
cd "$(dirname "$0")"
echo 'copying'
for lag in 71 34 12 0; do
	sleep 0.7
	echo "lag $lag of the second copy" >>app.log
done
i=0
until [ -e go ]; do
	sleep 0.1
	i=$((i + 1))
	[ $i -lt 300 ] || { echo 'nobody said go'; exit 9; }
done
grep -q 'lag 0 ' app.log || { echo 'too early'; exit 8; }
echo "switched with $(cat rows)"
echo done >state
`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		job := p.begin("web1", []step{line("migration/migrate &", "copying")})
		log := p.ok(lab.ToolExec, args{"host": "web2", "cmd": "tail -n 1 -F migration/app.log | grep --line-buffered 'lag 0 '", "wait_ms": 0})
		r := p.ok(lab.ToolSession, args{"action": "wait", "timeout_ms": 30000, "on": []args{
			{"session_id": job.SessionID, "cursor": job.NextCursor, "until_regex": "Done|Exit"},
			{"session_id": log.SessionID, "exec_id": log.ExecID, "until_output": true},
		}})
		if len(r.Fired) != 1 || r.Fired[0].On != 1 {
			p.t.Errorf("the wait: got %s, want the log, since the job waits for it", r.Text)
		}
		p.steps(job.SessionID, []step{line("touch migration/go; wait $!; echo exit=$?", `exit=\d`)},
			"switched with "+w.answers["rows"], "exit=0")
	},
	bash: func(w *world, b *bash) {
		b.run(`ssh web1 'nohup sh -c "migration/migrate; echo exit \$?" >migration/out 2>&1 </dev/null &'`)
		b.run(`until ssh web2 'grep "lag 0 " migration/app.log' || ssh web1 'grep exit migration/out'; do sleep 0.5; done`,
			"lag 0")
		b.run(`ssh web1 'touch migration/go; until grep -q exit migration/out; do sleep 0.3; done; cat migration/out'`,
			"switched with "+w.answers["rows"], "exit 0")
	},
	done: func(w *world) string {
		w.run("for p in $(pgrep -x -U ops tail); do kill $p; done")
		if got := w.run("cat " + ops + "/migration/state || true"); got != "done" {
			return "the job is not done"
		}
		return ""
	},
}
