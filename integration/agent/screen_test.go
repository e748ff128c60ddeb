package agent

import (
	"fmt"
	"strings"
)

// mailerDialogs is how a package asks for its settings: a menu, a text, and a question.
const mailerDialogs = `#!/bin/sh
out=/run/lab/home/ops/mailer/answers
rm -f $out
kind=$(dialog --stdout --menu 'General type of mail configuration' 15 60 5 \
	none 'No configuration' local 'Local only' smarthost 'Sent by smarthost' \
	internet 'Internet site' satellite 'Satellite')
[ -n "$kind" ] || exit 1
name=$(dialog --stdout --inputbox 'System mail name' 10 60 web1.localdomain) || exit 1
if dialog --defaultno --yesno 'Restart the mailer now?' 8 50; then now=yes; else now=no; fi
clear
echo "$kind $name $now" >$out
echo 'mailer: configured'
`

// dialogs answers the dialogs of a package.
var dialogs = task{
	name: "package dialogs",
	kind: screen,
	prepare: func(w *world) {
		w.folder(ops + "/mailer")
		w.file(ops+"/mailer/configure", "755", mailerDialogs)
	},
	ptyctl: func(w *world, p *ptyctl) {
		r := p.begin("web1", []step{shown("mailer/configure", "Cancel")}, "General type", `none .*\n<-`)
		id := r.SessionID
		r = p.write(id, args{"keys": []string{"down", "down", "enter"}, "until_screen": "mail name", "since": r.Version},
			"web1.localdomain")
		r = p.write(id, args{"steps": []step{{"key": "ctrl_u"}, shown("mail.example.org", "mailer now")}, "since": r.Version},
			`< No  >.*\n<-`)
		p.write(id, args{"keys": []string{"left", "enter"}, "until_prompt": true, "rows": "1"}, "mailer: configured")
	},
	bash: func(w *world, b *bash) {
		b.start("d", `ssh -t web1 "mailer/configure; bash -l"`, `Cancel`, "General type", "smarthost")
		b.screen("d", []string{"Down", "Down", "Enter"}, "System mail name")
		b.screen("d", []string{"C-u", "mail.example.org", "Enter"}, "Restart the mailer")
		b.keys("d", `\$$`, []string{"Left", "Enter"}, "mailer: configured")
	},
	done: wantAnswers("mailer", "smarthost mail.example.org yes"),
}

// menu ticks two boxes of a list and confirms, in the other program that packages ask with.
var menu = task{
	name: "package menu",
	kind: screen,
	prepare: func(w *world) {
		w.folder(ops + "/locale")
		w.file(ops+"/locale/configure", "755", `#!/bin/sh
out=/run/lab/home/ops/locale/answers
rm -f $out
chosen=$(whiptail --separate-output --checklist 'Locales to be generated' 18 60 8 \
	de_DE '' off en_GB '' off en_US '' on fr_FR '' off nl_NL '' off 3>&1 1>&2 2>&3) || exit 1
echo $chosen >$out
echo 'locales: generated'
`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		r := p.begin("web1", []step{shown("locale/configure", "Cancel")}, "Locales to be generated", `\*\] en_US`)
		p.write(r.SessionID, args{"since": r.Version, "steps": []step{
			{"keys": []string{"space", "down", "space"}, "until_screen": `(?s)\*\] de_DE.*\*\] en_GB`},
			{"keys": []string{"tab", "enter"}, "until_prompt": true, "timeout_ms": patience},
		}}, "locales: generated")
	},
	bash: func(w *world, b *bash) {
		b.start("w", `ssh -t web1 "locale/configure; bash -l"`, `Cancel`, "en_US")
		b.keys("w", `\$$`, []string{"Space", "Down", "Space", "Tab", "Enter"}, "locales: generated")
	},
	done: wantAnswers("locale", "de_DE en_GB en_US"),
}

// wantAnswers returns the check of the answers that a package has got.
func wantAnswers(name, want string) func(w *world) string {
	return func(w *world) string {
		if got := w.run("cat " + ops + "/" + name + "/answers || true"); got != want {
			return "the answers are " + got + ", not " + want
		}
		return ""
	}
}

// vim changes one value and adds a line below another, in an editor.
var vim = task{
	name: "vim",
	kind: screen,
	prepare: func(w *world) {
		var text strings.Builder
		for i := range 60 {
			fmt.Fprintf(&text, "option_%02d = %d\n", i+1, 10*i)
			if i == 30 {
				text.WriteString("# most clients at once\nmax_clients = 20\nmax_queue = 40\n")
			}
		}
		w.folder(ops + "/proxy")
		w.file(ops+"/proxy/proxy.conf", "644", text.String())
	},
	ptyctl: func(w *world, p *ptyctl) {
		r := p.begin("web1", []step{
			shown("vim proxy/proxy.conf", `\d+L, \d+B`), {"data": "/max_clients\r", "until_stable_ms": 200},
		}, "max_clients = 20")
		p.write(r.SessionID, args{"since": r.Version, "steps": []step{
			{"data": "C"}, {"data": "max_clients = 200"}, {"key": "esc"}, {"data": "jotimeout = 30"}, {"key": "esc"},
			shown(":w", "written"),
		}}, "max_clients = 200\n.*\n.*timeout = 30\n", "written")
	},
	bash: func(w *world, b *bash) {
		b.start("e", `ssh -t web1 "vim proxy/proxy.conf; bash -l"`, `Top$`)
		b.screen("e", []string{"/max_clients", "Enter"}, "max_clients = 20")
		b.keys("e", `\$$`, []string{"C", "max_clients = 200", "Escape", "jo", "timeout = 30", "Escape", ":wq", "Enter"})
	},
	done: func(w *world) string {
		got := w.run("grep -A 2 max_clients " + ops + "/proxy/proxy.conf")
		if got != "max_clients = 200\nmax_queue = 40\ntimeout = 30" {
			return "the file has " + got
		}
		return ""
	},
}

// htop finds a process among others, and ends it there.
var htop = task{
	name: "htop",
	kind: screen,
	prepare: func(w *world) {
		w.run("for p in $(pgrep -x -U ops runaway); do kill $p; done")
		// It has a parent that waits for it, so that it is gone when it has ended.
		w.run(`cd /run/lab/home/ops
cp /bin/sleep runaway
echo './runaway 600' >keeper
setpriv --reuid ops --regid ops --clear-groups setsid sh ./keeper >/dev/null 2>&1 </dev/null &
sleep 0.2`)
	},
	ptyctl: func(w *world, p *ptyctl) {
		r := p.begin("web1", []step{
			shown("htop -u ops", "F10"), {"key": "f4"}, shown("runaway", "runaway 600"),
			{"key": "f9", "until_screen": "SIGTERM", "timeout_ms": patience},
		}, `15 SIGTERM.*\n<-`, "runaway 600")
		p.steps(r.SessionID, []step{{"key": "enter"}, {"data": "q", "until_prompt": true, "timeout_ms": patience}})
		p.exec(1, args{"host": "web1", "cmd": "pgrep -x runaway"}, "^$")
	},
	bash: func(w *world, b *bash) {
		b.start("h", `ssh -t web1 "htop -u ops; bash -l"`, `F10`)
		b.screen("h", []string{"F4", "runaway", "Enter", "F9"}, "runaway 600")
		b.run(press("h", "Enter") + "; sleep 1; " + press("h", "q") + "; " + wait("h", `\$$`) + "; " + look("h"))
		b.run("ssh web1 pgrep -x runaway; echo exit $?", "exit 1")
	},
	done: func(w *world) string {
		if w.run("pgrep -x -U ops runaway || true") != "" {
			return "the process still runs"
		}
		return ""
	},
}
