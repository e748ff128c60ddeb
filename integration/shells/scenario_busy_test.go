package shells

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// scenarioSees is a program that shows the prompt in a file of the folder $1, and writes each line of its input to
// another file, until the line "end".
const scenarioSees = `#!/bin/sh
cd "$1"
prompt=$(cat prompt)
: >seen
while printf %s "$prompt"; read -r line; do
	[ "$line" != end ] || exit 0
	echo "$line" >>seen
done
`

// wantBusy fails the test unless a command for the terminal is refused, because it waits for that kind of thing (empty:
// any), before a byte is typed.
func wantBusy(t *testing.T, s *session.Session, kind string) {
	t.Helper()
	e := lab.WantTerminalRefusal(
		t,
		s,
		session.ExecRequest{Command: "echo typed-into-it", Timeout: lab.Patience},
		term.Busy,
	)
	if term.FactOf[term.Occupied](e).Waiting == nil || term.FactOf[term.Occupied](e).Waiting.Kind == "" ||
		kind != "" && term.FactOf[term.Occupied](e).Waiting.Kind != kind {
		t.Errorf("it is busy (%v), but does not say with %s: %+v", e, kind, e.Facts)
	}
}

// TestScenarioBusy asks for commands while something else than a shell reads the terminal. Not a byte of them is typed.
func TestScenarioBusy(t *testing.T) {
	l := lab.StartShells(t)
	for _, file := range []string{
		"/usr/bin/vim", "/usr/bin/less", "/usr/bin/python3", "/usr/bin/gdb", "/usr/bin/top", "/usr/bin/sqlite3",
	} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v: run scripts/install-test-deps", err)
		}
	}
	l.WriteFile(t, "/run/lab/sees", "755", scenarioSees)
	t.Run("programs", func(t *testing.T) {
		for _, p := range []struct {
			name, start, ready, waits string
			leave, left               string // the keys that end it, and output that proves that it got no other input
		}{
			// -W keeps all that is typed.
			{
				"vim", "vim -Nu NONE -W /run/lab/home/bash/typed", `(?s)\x1b\[\?1049h.*~`, prompt.Editor,
				":q!\r", `(?s)\x1b\[\?1049l.*\$ `,
			},
			{"less", "seq 100 | less", `(?m)^:|\x1b\[7m.*:?`, prompt.Editor, "q", `(?s)\$ `},
			{"less without a screen of its own", "seq 100 | less -X", `:`, prompt.Pager, "q", `(?s)\$ `},
			{"more", "seq 100 | more", `--More--`, prompt.Pager, "q", `(?s)\$ `},
			{
				"python3", "HOME=/nowhere /usr/bin/python3 -q", `>>> `, prompt.REPL,
				"import readline; print([readline.get_history_item(i) for i in range(1, readline.get_current_history_length())])\rexit()\r", `\n\[\]\r`,
			},
			{"python3, within a block", "/usr/bin/python3 -q\rif 1:", `\.\.\. $`, prompt.REPL, "  print(6*7)\r\rexit()\r", `\n42\r`},
			// The first value is $1.
			{"gdb", "gdb -q -nx", `\(gdb\) `, prompt.REPL, "print 40+2\rquit\r", `\$1 = 42`},
			{"sqlite3", "sqlite3", `sqlite> `, prompt.REPL, "select 6*7;\r.quit\r", `\r42\r`},
			{"top", "top -d 1", `PID`, "", "q", `(?s)\$ `},
			{"cat", "cat", `cat\r\n`, prompt.Unknown, "\x04", `(?s)\$ `},
			{"read", "read -p 'Your name: ' name; echo \"[$name]\"", `Your name: $`, prompt.Unknown, "x\r", `\n\[x\]`},
			{"a half-typed line", "", `\$ $`, prompt.Unknown, "\x03", `\$ `},
			{"an open quote", "echo 'a", `> $`, prompt.Continuation, "\x03", `\$ `},
		} {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				s := l.Open(t, "bash")
				if p.start == "" {
					lab.TypeUntil(t, s, "echo 'not finished", `finished$`)
				} else {
					lab.TypeUntil(t, s, p.start+"\r", p.ready)
				}
				// Wait until the program has drawn its screen.
				s.Read(
					t.Context(),
					session.ReadRequest{Cursor: session.Latest, Idle: 300 * time.Millisecond, Timeout: 2 * time.Second},
				)
				wantBusy(t, s, p.waits)
				lab.TypeUntil(t, s, p.leave, p.left)
				s.Read(
					t.Context(),
					session.ReadRequest{Cursor: session.Latest, Idle: 300 * time.Millisecond, Timeout: 2 * time.Second},
				)
				lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
				lab.WantUnseen(t, s, "typed-into-it")
			})
		}
	})
	if typed := l.Run(t, "cat /run/lab/home/bash/typed"); typed != ":q!" {
		t.Errorf("vim was sent %q", typed)
	}

	// Only its look tells a shell's prompt from another program's. Each has its own terminal, without earlier history.
	t.Run("prompts", func(t *testing.T) {
		for i, p := range []struct{ prompt, waits string }{
			{"r1>", prompt.Command},
			{"r1# ", prompt.Command},
			{"r1(config-if)#", prompt.Command},
			{"<HUAWEI>", prompt.Command},
			{"[~HUAWEI]", prompt.Command},
			{"RP/0/RSP0/CPU0:ios#", ""},
			{"*A:router1>config# ", ""},
			{"FGT60 # ", ""},
			{"FortiGate-VM64 (interface) # ", ""},
			{"[admin@MikroTik] > ", ""},
			{"[admin@MikroTik] /ip/address> ", ""},
			{">>> ", prompt.REPL},
			{"... ", prompt.REPL},
			{"In [3]: ", prompt.REPL},
			{"(gdb) ", prompt.REPL},
			{"(Pdb) ", prompt.REPL},
			{"mysql> ", prompt.REPL},
			{"    -> ", ""},
			{"MariaDB [(none)]> ", prompt.REPL},
			{"MySQL [test]> ", ""},
			{"postgres=# ", prompt.REPL},
			{"postgres-> ", prompt.REPL},
			{"postgres'# ", ""},
			{"postgres(> ", ""},
			{"127.0.0.1:6379> ", prompt.REPL},
			{"irb(main):001:0> ", prompt.REPL},
			{"SQL> ", ""},
			{"> ", prompt.REPL},
			{"test> ", ""},
			{"rs0 [direct: primary] test> ", ""},
			{"cqlsh:ks> ", ""},
			{"lftp ftp.example.org:~> ", ""},
			{"ftp> ", prompt.REPL},
			{`smb: \> `, ""},
			{"grub> ", ""},
			{"=> ", ""},
			{"Password: ", prompt.Password},
			{"Enter passphrase for key '/x': ", prompt.Password},
			{"login: ", prompt.Login},
			{"Continue? [Y/n] ", prompt.YesNo},
			{"Proceed (y/N)? ", prompt.YesNo},
			{"Overwrite? (yes/no): ", prompt.YesNo},
			{"(END)", prompt.Pager},
			{" --More-- ", prompt.Pager},
			{"Press any key to continue", prompt.Pager},
			{"100%", ""},
			{"Downloading 42% ", ""},
		} {
			t.Run(p.prompt, func(t *testing.T) {
				t.Parallel()
				s := l.Operator(t, l.Server).MustOpen(l.Server.WithKey(l.Users["bash"]))
				lab.ReadUntil(t, s, 0, `\$ $`)
				dir := fmt.Sprintf("/run/lab/home/bash/%d", i)
				l.Run(t, "mkdir -m 777 "+dir)
				l.WriteFile(t, dir+"/prompt", "644", p.prompt)
				lab.TypeUntil(t, s, "/run/lab/sees "+dir+"\r", `\n`)
				s.Read(
					t.Context(),
					session.ReadRequest{Cursor: session.Latest, Idle: 100 * time.Millisecond, Timeout: 2 * time.Second},
				)
				wantBusy(t, s, p.waits)
				if seen := l.Run(t, "cat "+dir+"/seen"); seen != "" {
					t.Errorf("the program was sent %q", seen)
				}
			})
		}
	})
}
