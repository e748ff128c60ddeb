package session

import (
	"io"
	"testing"

	"ptyctl/buffer"
)

func TestClassOf(t *testing.T) {
	for _, tt := range []struct {
		answer string
		want   shell
	}{
		{"/bin/bash\n", shell{ClassPosix, "bash"}},
		{"/bin/bash\r\n", shell{ClassPosix, "bash"}},
		{"/usr/bin/rbash\n", shell{ClassPosix, "rbash"}},
		{"/bin/sh", shell{ClassPosix, "sh"}},
		{"/bin/ash\n", shell{ClassPosix, "ash"}},
		{"/usr/bin/zsh\n", shell{ClassPosix, "zsh"}},
		{"/bin/mksh\n", shell{ClassPosix, "mksh"}},
		{"/usr/bin/fish\n", shell{ClassFish, "fish"}},
		{"/bin/tcsh\n", shell{ClassCsh, "tcsh"}},
		{"/opt/microsoft/powershell/7/pwsh\n", shell{ClassPowerShell, "pwsh"}},
		{"$SHELL\r\n", shell{ClassCmd, ""}},
		{"welcome\nto this host\n/bin/zsh\n", shell{ClassPosix, "zsh"}},
		{"/usr/sbin/nologin\n", shell{ClassUnknown, "nologin"}},
		{"/usr/bin/nu\n", shell{ClassUnknown, "nu"}},
		{"", shell{ClassUnknown, ""}},
		{"\n\n", shell{ClassUnknown, ""}},
		{"bash\n", shell{ClassUnknown, ""}},
		{"/is not/a shell\n", shell{ClassUnknown, ""}},
		{"% Invalid input detected at '^' marker.\n", shell{ClassUnknown, ""}},
		{"This account is currently not available.\n", shell{ClassUnknown, ""}},
		{"\x1b[31m/bin/bash\xff\x00", shell{ClassUnknown, ""}},
	} {
		if got := classOf([]byte(tt.answer)); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.answer, got, tt.want)
		}
	}
}

func TestSameStem(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"r1>", "r1#", true},
		{"r1#", "r1(config)#", true},
		{"r1#", "r1(config-if)# ", true},
		{"me@host:~$ ", "me@host:/tmp$ ", true},
		{"me@host:~$ ", "me@host:/a b/c$ ", true},
		{"[me@host ~]$ ", "[me@host tmp]$ ", true},
		{"me@host ~> ", "me@host /t> ", true},
		{"host% ", "host% ", true},
		{"verylonghostname1234(config)#", "verylonghostname(conf-t)#", true},
		{"r1>", "r2>", false},
		{"r1>", "r10>", false},
		{"me@host:~$ ", "root@host:~# ", false},
		{"me@host:~$ ", "me@host:~$ cat >", false},
		{"me@host:~$ ", "me@host:~$ echo $", false},
		{"me@host:~$ ", "me@host:~$ vi", false},
		{"web1# ", "web1 disk usage 100%", false},
		{"$ ", "$ ", false},
		{"", "", false},
		{"> ", ">>> ", false},
	} {
		if got := sameStem(tt.a, tt.b); got != tt.same {
			t.Errorf("%q and %q: %v", tt.a, tt.b, got)
		}
		if got := sameStem(tt.b, tt.a); got != tt.same {
			t.Errorf("%q and %q: %v", tt.b, tt.a, got)
		}
	}
}

func TestWaitsFor(t *testing.T) {
	for _, tt := range []struct{ line, kind string }{
		{"[sudo] password for me: ", WaitPassword},
		{"me@host's password: ", WaitPassword},
		{"Enter passphrase for key '/home/me/.ssh/id': ", WaitPassword},
		{"Verification code: ", WaitPassword},
		{"Do you want to continue? [Y/n] ", WaitYesNo},
		{"Are you sure (yes/no)? ", WaitYesNo},
		{"Quit anyway? (y or n) ", WaitYesNo},
		{"Are you sure you want to continue connecting (yes/no/[fingerprint])? ", WaitHostKey},
		{"--More--", WaitPager},
		{" --More-- ", WaitPager},
		{"---- More ----", WaitPager},
		{"--More--(42%)", WaitPager},
		{"lines 1-23", WaitPager},
		{"(END)", WaitPager},
		{":", WaitPager},
		{"Press any key to continue . . . ", WaitPager},
		{"host login: ", WaitLogin},
		{"Username: ", WaitLogin},
		{">>> ", WaitREPL},
		{"... ", WaitREPL},
		{"(gdb) ", WaitREPL},
		{"postgres=# ", WaitREPL},
		{"mysql> ", WaitREPL},
		{"sqlite> ", WaitREPL},
		{"127.0.0.1:6379> ", WaitREPL},
		{"> ", WaitREPL},
		{"", ""},
		{"   ", ""},
		{"me@host:~$ ", ""},
		{"r1#", ""},
		{"compiling 10%", ""},
		{"password changed", ""},
		{"~ # ", ""},
	} {
		got := waitsFor(tt.line, nil)
		switch {
		case got == nil && tt.kind != "", got != nil && got.Kind != tt.kind:
			t.Errorf("%q waits for %+v, want %q", tt.line, got, tt.kind)
		case got != nil && got.Text != tt.line:
			t.Errorf("%q is told as %q", tt.line, got.Text)
		}
	}
}

// The prompts of shells without start-up files are not taken for a device's.
func TestDevicePrompt(t *testing.T) {
	for line, device := range map[string]bool{
		"r1>": true, "r1#": true, "r1(config-if)#": true, "<HUAWEI>": true, "[~HUAWEI]": true, "sw-1.lab/0>": true, "RP/0/0#": true,
		"bash-5.2# ": false, "sh-5.1#": false, "bash-5.2$ ": false, "~ # ": false, "me@host:~$ ": false, "$ ": false, "# ": false,
	} {
		if got := devicePrompt.MatchString(line) && !shellVersion.MatchString(line); got != device {
			t.Errorf("%q: device %v", line, got)
		}
	}
}

func TestEcho(t *testing.T) {
	for _, tt := range []struct{ name, line, in, want string }{
		{"verbatim", "show ver", "show ver\r\nout\r\n", "out\n"},
		{"doubled CR", "show ver", "show ver\r\r\nout\r\n", "out\n"},
		{"wrapped", "show ver", "show \rver\r\nout", "out"},
		{"wrapped as readline does", "show ver", "show v \rer\r\nout", "out"},
		{"no line end", "show ver", "show verout", "out"},
		{"blank line after it", "ls", "ls\r\n\r\nout", "\nout"},
		{"not echoed", "ls", "out\r\n", "out\n"},
		{"not echoed, begins alike", "ls", "lost+found\r\n", "lost+found\n"},
		{"never whole", "show ver", "show", "show"},
		{"nothing", "ls", "", ""},
		{"bash", "ls", "ls\r\n\x1b[?2004l\rout\r\n", "out\n"},
		{"bash, a blank line after it", "ls", "ls\r\n\x1b[?2004l\r\r\nout", "\nout"},
		{"zsh", "ls", "ls\x1b[?2004l\r\r\nout\r\n", "out\n"},
		{"colour after it", "ls", "ls\r\n\x1b[31mout", "\x1b[31mout"},
		{"another mode after it", "ls", "ls\r\n\x1b[?2004h$ ", "\x1b[?2004h$ "},
		{"nothing after it", "ls", "ls\r\n\x1b[?2004l\r", ""},
		{"cut off", "ls", "ls\r\n\x1b[?200", "\x1b[?200"},
		{"CR at the end", "ls", "ls\r\n10%\r", "10%\r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range len(tt.in) + 1 {
				e, ends := echo{line: []byte(tt.line)}, lineEnds{}
				var out []byte
				for _, p := range []string{tt.in[:i], tt.in[i:]} {
					out = append(out, e.strip(ends.convert(nil, []byte(p)))...)
				}
				out = append(append(out, e.strip(ends.flush(nil))...), e.flush()...)
				if string(out) != tt.want {
					t.Errorf("cut at %d: %q, want %q", i, out, tt.want)
				}
			}
		})
	}
}

func TestSameSign(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"me@host:~$ ", "me@host:/tmp$ ", true}, {"me@host:~$ ", "root@host:~# ", true}, {"me@host:~$ ", "me@host ~> ", false}, {"host% ", "host$", false},
	} {
		if sameSign(tt.a, tt.b) != tt.want {
			t.Errorf("%q and %q", tt.a, tt.b)
		}
	}
}

// Where nobody can be asked for the login shell, as over Telnet, a marker at the prompt that the terminal began with says
// of which class it is, and a shell started by hand does not change that.
func TestClassWhereItBegan(t *testing.T) {
	s := &Session{buf: buffer.New(buffer.Options{}), first: "demo$ "}
	at := func(line string, want Class) {
		t.Helper()
		_, _ = io.WriteString(s.buf, "\r\n"+line)
		if got := s.shellOf(t.Context(), ""); got.class != want {
			t.Errorf("at %q: %s, want %s", line, got.class, want)
		}
	}
	s.shown(ClassPosix, "demo$ ")
	at("demo$ ", ClassPosix)
	s.shown(ClassCsh, "% ")
	at("% ", ClassCsh)
	at("demo$ ", ClassPosix)
	s.shown("", "") // refused: it is another shell that shows the same prompt
	at("demo$ ", ClassUnknown)
}
