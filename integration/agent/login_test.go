package agent

import (
	"fmt"

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
		r := p.begin("vault", []step{
			await("Password: $"), secret(w.password("bob"), "Verification code: $"), secret(lab.OneTimeCode(), `\$ $`),
			command("cat release"),
		}, w.answers["release"])
		if r.Prompt != nil || r.State != "" {
			p.t.Errorf("after both answers: got %s, want an open session", r.Text)
		}
	},
	bash: func(w *world, b *bash) {
		b.start("v", "ssh vault", `Password:`, `Password:`)
		b.keys("v", `code:`, []string{w.ns.Users["bob"].Password, "Enter"}, `Verification code:`)
		b.run(press("v", lab.OneTimeCode(), "Enter")+"; "+wait("v", `\$$`)+"; ssh vault cat release", w.answers["release"])
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
		p.begin("legacy", []step{
			await("password: $"), secret(now, "Current password: $"), secret(now, "New password: $"),
			secret(next, "Retype new password: $"), secret(next, "updated successfully"),
		}, "password has expired")
		p.begin("legacy", []step{await("password: $"), secret(next, `\$ $`), command("id -un")}, `\nfrank\n`)
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
		leaktest.Secret(p.t, stalePassword)
		password := func(text string) step {
			return step{"data": text + "\r", "sensitive": true, "until_prompt": true, "timeout_ms": patience}
		}
		r := p.call(lab.ToolIO, args{"action": "write", "host": "web1", "steps": []step{
			line("sudo -s", `password for ops: $`), password(stalePassword), command("id -un"),
		}})
		if r.Stopped != "unmatched" || r.Step == nil || *r.Step != 1 {
			p.t.Errorf("after a wrong password: got %s, want a stop at the step that gave it", r.Text)
		}
		p.want(r.Chunk, r, "try again")
		id := r.SessionID
		p.steps(id, []step{password(w.password("ops")), command("ls -l /etc/relay; grep -rn queue /etc/relay")},
			`relay.conf:3:queue_minutes = 5`, `# $`)
		p.steps(id, []step{
			command("sed -i 's/queue_minutes = 5$/queue_minutes = 60/' /etc/relay/relay.conf; cat /etc/relay/relay.conf"),
			typed("exit"),
		}, `(?m)^queue_minutes = 60$`)
	},
	bash: func(w *world, b *bash) {
		b.start("s", "ssh -t web1 sudo -s", `ops:$`, "password for ops:")
		b.run(press("s", stalePassword, "Enter")+"; sleep 1; "+wait("s", `ops:$`)+"; "+look("s"), "try again")
		b.keys("s", `#$`, []string{w.ns.Users["ops"].Password, "Enter"})
		b.keys("s", `#$`, []string{"ls -l /etc/relay; grep -rn queue /etc/relay", "Enter"}, `relay.conf:3:`)
		b.run(press("s", "sed -i 's/queue_minutes = 5$/queue_minutes = 60/' /etc/relay/relay.conf; cat /etc/relay/relay.conf",
			"Enter")+"; "+wait("s", `#$`)+"; "+look("s")+"; "+press("s", "exit", "Enter"), `queue_minutes = 60`)
	},
	done: func(w *world) string {
		if got := w.run("sed -n 3p /etc/relay/relay.conf"); got != "queue_minutes = 60" {
			return "relay.conf has " + got
		}
		return ""
	},
}
