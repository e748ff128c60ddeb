package agent

import (
	"fmt"
	"strings"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// mfa reads a file on a host behind a bastion, which asks for a password and a one-time code.
var mfa = task{
	name: "mfa through a bastion",
	prepare: func(w *world) {
		w.answers["release"] = random(w)
		w.file(vault+"/release", "600", w.answers["release"])
	},
	ptyctl: func(w *world, p *ptyctl) {
		r := p.ok(lab.ToolSession, args{"action": "open", "protocol": "ssh", "host": "vault"})
		if r.State != "authenticating" || r.Prompt == nil || !strings.Contains(r.Prompt.Text, "Password: ") {
			p.t.Errorf("open: got %s, want the question for the password", r.Text)
		}
		last := p.steps(r.SessionID, []step{
			secret(w.password("bob"), ""), secret(lab.OneTimeCode(), ""),
		})
		if last.Prompt != nil {
			p.t.Errorf("after both answers: got %s, want an open session", last.Text)
		}
		p.exec(0, args{"session_id": r.SessionID, "cmd": "cat release"}, w.answers["release"])
	},
	bash: func(w *world, b *bash) {
		b.start("v", "ssh vault", `Password:`, `Password:`)
		b.keys("v", `code:`, []string{w.ns.Users["bob"].Password, "Enter"}, `Verification code:`)
		b.keys("v", `\$$`, []string{lab.OneTimeCode(), "Enter"})
		b.run("ssh vault cat release", w.answers["release"])
	},
	done: func(w *world) string { return "" }, // it is done when the text is known
}

// passwordChange logs in where the password has expired, sets another one, and logs in with it.
var passwordChange = task{
	name: "forced password change",
	prepare: func(w *world) {
		w.run(fmt.Sprintf(`echo 'frank:%s' | chpasswd --crypt-method SHA256
sed -i 's/^\(frank:[^:]*\):[0-9]*:/\1:0:/' /etc/shadow`, w.password("frank")))
		w.answers["new"] = leaktest.Secret(w.t, "Fresh passphrase "+random(w)+"-1138")
	},
	ptyctl: func(w *world, p *ptyctl) {
		now, next := w.password("frank"), w.answers["new"]
		r := p.ok(lab.ToolSession, args{
			"action": "open", "protocol": "ssh", "host": "legacy",
			"auth": args{"password": now}, "until_regex": "Current password: $", "timeout_ms": patience,
		})
		p.want(r.Chunk, r, "password has expired")
		p.steps(r.SessionID, []step{
			secret(now, "New password: $"), secret(next, "Retype new password: $"), secret(next, "updated successfully"),
		})
		r = p.ok(lab.ToolSession, args{
			"action": "open", "protocol": "ssh", "host": "legacy", "auth": args{"password": next},
		})
		p.exec(0, args{"session_id": r.SessionID, "cmd": "id -un"}, "^frank\n$")
	},
	bash: func(w *world, b *bash) {
		now, next := w.ns.Users["frank"].Password, w.answers["new"]
		b.run("tmux new-session -d -x 120 -y 40 -s l \"PS1='agent$ ' bash --norc\"; sleep 0.3; "+
			press("l", "ssh legacy", "Enter")+"; "+wait("l", `password:`)+"; "+look("l"), "password:")
		b.keys("l", `Current password:`, []string{now, "Enter"}, "password has expired")
		b.keys("l", `New password:`, []string{now, "Enter"}, "New password:")
		b.keys("l", `Retype new password:`, []string{next, "Enter"}, "Retype new password:")
		b.keys("l", `agent\$$`, []string{next, "Enter"}, "updated successfully")
		b.keys("l", `password:`, []string{"ssh legacy id -un", "Enter"})
		b.keys("l", `\$$`, []string{next, "Enter"}, "frank")
	},
	done: func(w *world) string {
		if day := w.run("awk -F: '$1 == \"frank\" {print $3}' /etc/shadow"); day == "0" {
			return "the password is still expired"
		}
		return ""
	},
}

// stalePassword is one that the account had before.
const stalePassword = "what it was before-1138"

// sudo corrects a setting that only root may see, in a shell of root. The host lets sudo run at a terminal alone, and
// the first of two passwords that may be right is not.
var sudo = task{
	name: "sudo",
	prepare: func(w *world) {
		w.run(`mkdir -p /etc/relay
printf '# where mail waits\nlisten = 25\nqueue_minutes = 5\nrelay_host = mx1\nqueue_size = 900\n' >/etc/relay/relay.conf
printf 'mx1 192.0.2.25\nmx2 192.0.2.26\n' >/etc/relay/hosts
chmod 700 /etc/relay; chmod 600 /etc/relay/*`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		id := p.open("web1")
		leaktest.Secret(p.t, stalePassword)
		password := func(text string) step {
			return step{"data": text + "\r", "sensitive": true, "until_prompt": true, "timeout_ms": patience}
		}
		r := p.call(lab.ToolIO, args{"action": "write", "session_id": id, "steps": []step{
			line("sudo -s", `password for ops: $`), password(stalePassword), command("id -un"),
		}})
		if r.Stopped != "unmatched" || r.Step == nil || *r.Step != 1 {
			p.t.Errorf("after a wrong password: got %s, want a stop at the step that gave it", r.Text)
		}
		p.want(r.Chunk, r, "try again")
		p.steps(id, []step{password(w.password("ops"))}, `# $`)
		p.exec(0, args{"session_id": id, "cmd": "ls -l /etc/relay; grep -rn queue /etc/relay"},
			`relay.conf:3:queue_minutes = 5`)
		p.exec(0, args{
			"session_id": id,
			"cmd":        "sed -i 's/queue_minutes = 5$/queue_minutes = 60/' /etc/relay/relay.conf; cat /etc/relay/relay.conf",
		}, `(?m)^queue_minutes = 60$`)
		p.steps(id, []step{command("exit")}, `\$ $`)
	},
	bash: func(w *world, b *bash) {
		b.start("s", "ssh web1", `\$$`)
		b.keys("s", `ops:$`, []string{"sudo -s", "Enter"}, "password for ops:")
		b.run(press("s", stalePassword, "Enter")+"; sleep 1; "+wait("s", `ops:$`)+"; "+look("s"), "try again")
		b.keys("s", `#$`, []string{w.ns.Users["ops"].Password, "Enter"})
		b.keys("s", `#$`, []string{"ls -l /etc/relay; grep -rn queue /etc/relay", "Enter"}, `relay.conf:3:`)
		b.keys("s", `#$`, []string{
			"sed -i 's/queue_minutes = 5$/queue_minutes = 60/' /etc/relay/relay.conf; cat /etc/relay/relay.conf", "Enter",
		}, `queue_minutes = 60`)
		b.keys("s", `\$$`, []string{"exit", "Enter"})
	},
	done: func(w *world) string {
		if got := w.run("sed -n 3p /etc/relay/relay.conf"); got != "queue_minutes = 60" {
			return "relay.conf has " + got
		}
		return ""
	},
}
