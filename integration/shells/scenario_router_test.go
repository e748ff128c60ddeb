package shells

import (
	"regexp"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// scenarioRouter is the command line of a network device, as a login shell. It keeps all that it is sent.
const scenarioRouter = `#!/bin/sh
[ "$1" != -c ] || { echo '% exec is not supported'; exit 1; }
mode='>'
while printf 'r1%s' "$mode"; read -r line; do
	echo "$line" >>"$HOME/typed"
	case $line in
	'') ;;
	enable) printf 'Password: '; stty -echo; read -r secret; stty echo; echo; mode='#' ;;
	'configure terminal') mode='(config)#' ;;
	end) mode='#' ;;
	'show version') echo 'RouterOS 1.0'; echo 'r1 uptime is 3 weeks' ;;
	'show long') seq 1 30; printf ' --More-- '; read -r key; printf '\rend of it\n' ;;
	'show slow') echo one; sleep 1; echo two ;;
	exit) exit 0 ;;
	*) echo '% Invalid input detected' ;;
	esac
done
`

// TestScenarioRouter runs commands on a device without a shell: they are typed as a person would, and end with the
// prompt. No exit code is ever claimed, and nothing but the commands is sent.
func TestScenarioRouter(t *testing.T) {
	l := lab.StartShells(t)
	l.WriteFile(t, "/run/lab/router", "755", scenarioRouter)
	l.Account(t, lab.FirstShellUID+60, "router", "/run/lab/router")
	s := l.Operator(t, l.Server).MustOpen(l.Server.WithKey(l.Users["router"]))
	lab.ReadUntil(t, s, 0, `r1>$`)
	ended := func(r session.ExecResult) {
		t.Helper()
		if r.Done != session.DonePrompt || r.ExitReason != "no_status" || r.Prompt == nil || !*r.Prompt ||
			r.Exit.Known {
			t.Errorf(
				"ended because of %s (%+v, %s, prompt %v); the terminal shows %q",
				r.Done,
				r.Exit,
				r.ExitReason,
				r.Prompt,
				lab.Screenful(s),
			)
		}
	}
	run := func(command, output, waits string) session.ExecResult {
		t.Helper()
		r, err := s.Exec(
			t.Context(),
			session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: lab.Patience},
		)
		if err != nil {
			lab.Fatal(t, err)
		}
		if r.Exit.Known || !regexp.MustCompile(output).Match(r.Stdout.Bytes()) {
			t.Errorf("exec of %q: stdout %q, exit %+v; want %q and no code", command, r.Stdout.Bytes(), r.Exit, output)
		}
		if waits != "" {
			lab.WantWaiting(t, s, r, waits)
		} else {
			ended(r)
		}
		return r
	}
	run("show version", `^RouterOS 1.0\nr1 uptime is 3 weeks\n`, "")
	run("show nothing", `^% Invalid input detected\n`, "")
	began := time.Now()
	run("show slow", `^one\ntwo\n`, "")
	if took := time.Since(began); took < time.Second {
		t.Errorf("a command of one second was reported to end after %s", took)
	}
	r := run("enable", `^Password: `, prompt.Password)
	ended(lab.ReplySecret(t, s, r, "enable-Secret-1138\r"))
	run("configure terminal", ``, "")
	run("end", ``, "")
	r = run("show long", `(?s)^1\n.*30\n`, prompt.Pager)
	ended(lab.Reply(t, s, r, "\r"))
	lab.WantUnseen(t, s, "enable-Secret-1138")
	lab.WantTerminalRefusal(t, s, session.ExecRequest{Command: "show version\nshow version"}, term.Unsupported)
	// ptyctl must not believe a caller who names a shell's class: the prompt is a device's.
	lab.WantTerminalRefusal(t, s, session.ExecRequest{Command: "show version", Class: session.ClassPosix}, term.Busy)
	lab.TypeUntil(t, s, "exit\r", `exit`)
	const want = "show version\nshow nothing\nshow slow\nenable\nconfigure terminal\nend\nshow long\nexit"
	// The echo of the last line comes before the device has read the line.
	lab.Eventually(t, "the end of what the device is sent, "+want, func() bool {
		return l.Run(t, "cat /run/lab/home/router/typed") == want
	})
}
