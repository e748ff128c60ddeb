package agent

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"strings"

	"ptyctl/internal/lab"
)

// telnetHost is a Telnet device of the lab as host takes it.
func telnetHost(s *lab.TelnetServer) string { return "telnet://127.0.0.1:" + strconv.Itoa(s.Port) }

// telnetCommand is the command line of a Telnet client.
func telnetCommand(s *lab.TelnetServer) string {
	return "busybox telnet 127.0.0.1 " + strconv.Itoa(s.Port)
}

// peers returns lines for a router. One of them is wrong.
func peers() []string {
	lines := []string{"router bgp 65001", " bgp router-id 192.0.2.9", " timers bgp 10 30"}
	for i := range 9 {
		word := "remote-as"
		if i == 5 {
			word = "remoteas"
		}
		lines = append(lines,
			fmt.Sprintf(" neighbor 192.0.2.%d %s %d", i+1, word, 65002+i),
			fmt.Sprintf(" neighbor 192.0.2.%d description peer-%d", i+1, i+1))
	}
	return append(lines, " exit")
}

// routerPaste pastes a configuration into a router, corrects the line that it refuses, and saves.
var routerPaste = task{
	name:    "router paste",
	prepare: func(w *world) { w.router = lab.StartRouter(w.t) },
	ptyctl: func(w *world, p *ptyctl) {
		r := p.ok(lab.ToolIO, args{"action": "write", "host": telnetHost(w.router), "match": "^%", "steps": []step{
			await("Password: $"), secret(w.router.Password, "r1> $"), line("enable", "Password: $"),
			secret(w.router.Enable, "r1# $"), line("configure terminal", `config\)# $`),
			line(strings.Join(peers(), "\r"), `exit\nr1\(config\)# $`),
		}})
		p.want(r.Chunk, r, "neighbor 192.0.2.6 remoteas", "Specify remote-as or peer-group commands first")
		id := r.SessionID
		p.steps(id, []step{
			line("router bgp 65001", `router\)# $`), line("neighbor 192.0.2.6 remote-as 65007", `router\)# $`),
			line("neighbor 192.0.2.6 description peer-6", `router\)# $`), line("end", "r1# $"), line("write memory", `r1# $`),
			line("show running-config | include 192.0.2.6", `r1# $`),
		}, "saved to", `(?m)^ neighbor 192.0.2.6 remote-as 65007$`, `(?m)^ neighbor 192.0.2.6 description peer-6$`)
	},
	bash: func(w *world, b *bash) {
		b.start("r", telnetCommand(w.router), `Password:`, "Password:")
		b.run(press("r", w.router.Password, "Enter")+"; "+wait("r", `r1>`)+"; "+press("r", "enable", "Enter")+"; "+
			wait("r", `Password:`)+"; "+look("r"), "Password:")
		b.run(press("r", w.router.Enable, "Enter")+"; "+wait("r", `r1#`)+"; "+
			press("r", "terminal length 0", "Enter", "configure terminal", "Enter")+
			"; sleep 0.5; tmux load-buffer - <<'END'\n"+strings.Join(peers(), "\n")+"\nEND\ntmux paste-buffer -t r; "+
			wait("r", `r1\(config\)#$`)+
			"; sleep 1; tmux capture-pane -pJ -S - -t r | grep '^%'", "neighbor 192.0.2.6 remoteas")
		b.run(press("r", "router bgp 65001", "Enter", "neighbor 192.0.2.6 remote-as 65007", "Enter",
			"neighbor 192.0.2.6 description peer-6", "Enter", "end", "Enter", "write memory", "Enter",
			"show running-config | include 192.0.2.6", "Enter")+"; "+wait("r", `^r1#$`)+"; sleep 0.5; "+look("r")+
			" | tail -n 11", "saved to", `(?m)^ neighbor 192.0.2.6 remote-as 65007$`)
	},
	done: func(w *world) string {
		command := strings.Split(string(lab.ReadFile(w.t, fmt.Sprintf("/proc/%d/cmdline", w.router.Process.PID))), "\x00")
		for i, word := range command {
			if word != "-f" {
				continue
			}
			text := string(lab.ReadFile(w.t, command[i+1]))
			for _, line := range []string{
				" neighbor 192.0.2.6 remote-as 65007\n", " neighbor 192.0.2.9 description peer-9\n",
			} {
				if !strings.Contains(text, line) {
					return "the saved configuration lacks" + line + text
				}
			}
			return ""
		}
		return fmt.Sprintf("the router's command line names no file: %q", command)
	},
}

// pager looks for a command in the list of a device that shows it page by page unless told otherwise.
var pager = task{
	name:    "pager",
	prepare: func(w *world) { w.router = lab.StartRouter(w.t) },
	ptyctl: func(w *world, p *ptyctl) {
		r := p.ok(lab.ToolIO, args{"action": "write", "host": telnetHost(w.router), "match": "dampening", "steps": []step{
			await("Password: $"), secret(w.router.Password, "r1> $"), line("terminal length 0", "r1> $"), line("list", "r1> $"),
		}})
		p.want(r.Chunk, r, `show \[ip\] bgp .*dampening parameters`)
	},
	bash: func(w *world, b *bash) {
		b.start("r", telnetCommand(w.router), `Password:`, "Password:")
		b.run(press("r", w.router.Password, "Enter")+"; "+wait("r", `r1>`)+"; "+press("r", "terminal length 0", "Enter", "list", "Enter")+"; "+wait("r", `^r1>$`)+
			"; tmux capture-pane -pJ -S - -t r | grep dampening", `dampening parameters`)
	},
	done: func(*world) string { return "" }, // it is done when the lines are known
}

// console works at a console that one task has, keeps a second one out, and hands over to it.
var console = task{
	name:    "console hand-over",
	lacks:   "keep the second one out before the first has handed over",
	prepare: func(w *world) { w.serial = lab.StartSerial(w.t) },
	ptyctl: func(w *world, p *ptyctl) {
		r := p.ok(lab.ToolSession, args{
			"action": "open", "protocol": "telnet", "host": "127.0.0.1", "port": w.serial.Port,
			"session_type": "console", "device_id": "sw1", "acquire_lock": true, "task_id": "night",
		})
		id := r.SessionID
		const prompt = `device\$ $`
		p.write(id, args{"task_id": "night", "steps": []step{line("", prompt), line("echo night >~/log", prompt)}})
		held := p.call(lab.ToolIO, args{
			"action": "write", "session_id": id, "task_id": "day", "data": "echo day >>~/log\r", "until_regex": prompt,
		})
		if held.ErrorCode != "LOCKED" || !strings.Contains(held.Message, "night") {
			p.t.Errorf("the second task's write: got %s, want LOCKED by night", held.Text)
		}
		p.ok(lab.ToolSession, args{"action": "unlock", "session_id": id, "task_id": "night"})
		p.ok(lab.ToolSession, args{"action": "lock", "session_id": id, "task_id": "day"})
		p.write(id, args{
			"task_id": "day", "data": "echo day >>~/log; cat ~/log | tr '\\n' ' '\r", "until_regex": prompt,
		}, "night day")
	},
	bash: func(w *world, b *bash) {
		b.start("c", telnetCommand(w.serial.TelnetServer), `.`)
		b.keys("c", `device\$$`, []string{"Enter", "echo night >~/log", "Enter"})
		b.keys("c", `device\$$`, []string{"echo day >>~/log; cat ~/log | tr '\\n' ' '", "Enter"}, "night day")
	},
	done: func(*world) string { return "" }, // it is done when the lines have been shown
}

// cut loses the connection during a job that ends with it, finds out how far the job came, and resumes it.
var cut = task{
	name: "cut connection",
	prepare: func(w *world) {
		w.folder(dba + "/backup")
		w.file(dba+"/backup/backup", "755", `#!/bin/sh
cd "$(dirname "$0")"
from=1
[ "$1" != --resume ] || from=$(($(cat state) + 1))
for i in $(seq $from 6); do
	echo "table $i" || exit 7
	sleep 0.5
	echo $i >state
done
echo 'backup complete'
`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		severed := w.sever()
		r := p.call(lab.ToolExec, args{"host": "db1", "cmd": "backup/backup"})
		<-severed
		if r.ExitCode != nil || r.ExitCodeReason != "connection_lost" {
			p.t.Errorf("amid the cut: got %s, want no exit code, since the connection was lost", r.Text)
		}
		p.exec(0, args{
			"host": "db1", "cmd": "sleep 1; cat backup/state; pgrep -r R,S -x backup || echo not running",
		}, `^[2-4]\n`, "not running")
		p.exec(0, args{"host": "db1", "cmd": "backup/backup --resume"}, "backup complete")
	},
	bash: func(w *world, b *bash) {
		severed := w.sever()
		b.run("ssh db1 backup/backup; echo exit $?", "exit 255")
		<-severed
		b.run("ssh db1 'sleep 1; cat backup/state; pgrep -r R,S -x backup || echo not running'", "not running")
		b.run("ssh db1 backup/backup --resume; echo exit $?", "backup complete", "exit 0")
	},
	done: func(w *world) string {
		if got := w.run("cat " + dba + "/backup/state"); got != "6" {
			return "the backup came to table " + got
		}
		return ""
	},
}

// sever ends all connections of the database account once its job has done two parts. The channel is closed after that.
func (w *world) sever() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(`cd /run/lab/home/dba/backup
for i in $(seq 300); do
	if [ "$(cat state 2>/dev/null)" = 2 ]; then
		for p in $(pgrep -f '^sshd: dba'); do kill -KILL $p; done
		exit
	fi
	sleep 0.05
done
echo 'no backup was seen'`)
	}()
	return done
}

// files takes a file to a host, has it packed there, and brings the result back.
var files = task{
	name: "a file up and down",
	prepare: func(w *world) {
		w.folder(ops + "/packing")
		w.file(ops+"/packing/pack", "755", `#!/bin/sh
cd "$(dirname "$0")"
name=$(sha256sum <"$1" | cut -c 1-8).gz
gzip -n -c "$1" >"$name"
echo "packed as packing/$name"
`)
		data := make([]byte, 300_000)
		for i := range data {
			data[i] = byte(i * i >> 3)
		}
		w.local("report.bin", data)
		_ = os.Remove(w.work + "/report.gz")
	},
	ptyctl: func(w *world, p *ptyctl) {
		up := p.ok(toolFiles, args{
			"action": "copy", "from": args{"path": w.work + "/report.bin"},
			"to": args{"host": "web1", "path": "packing/report.bin"},
		})
		there := w.run("sha256sum <" + ops + "/packing/report.bin")
		if up.Verified == nil && !strings.HasPrefix(there, up.SHA256) {
			p.t.Errorf("the copy: got %s, but the file there has the checksum %s", up.Text, there)
		}
		r := p.exec(0, args{"host": "web1", "cmd": "packing/pack report.bin"}, "packed as")
		name := field(p.t, r.Stdout, `packed as (\S+)`)
		p.ok(toolFiles, args{
			"action": "copy", "from": args{"host": "web1", "path": name}, "to": args{"path": w.work + "/report.gz"},
		})
	},
	bash: func(w *world, b *bash) {
		r := b.run("scp -q "+w.work+"/report.bin web1:packing/ && ssh web1 packing/pack report.bin", "packed as")
		name := field(b.t, r, `packed as (\S+)`)
		b.run("cd " + w.work + " && scp -q web1:" + name + " report.gz && sha256sum report.gz && ssh web1 sha256sum " + name)
	},
	done: func(w *world) string {
		far := w.run("sha256sum <$(ls " + ops + "/packing/*.gz)")
		here, err := os.ReadFile(w.work + "/report.gz")
		if err != nil {
			return err.Error()
		}
		if got := fmt.Sprintf("%x  -", sum(here)); got != far {
			return "the file here has the checksum " + got + ", there " + far
		}
		return ""
	},
}

// sum is the checksum of a file.
func sum(data []byte) []byte {
	s := sha256.Sum256(data)
	return s[:]
}
