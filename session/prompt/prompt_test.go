package prompt

import "testing"

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
		if got := SameStem(tt.a, tt.b); got != tt.same {
			t.Errorf("%q and %q: %v", tt.a, tt.b, got)
		}
		if got := SameStem(tt.b, tt.a); got != tt.same {
			t.Errorf("%q and %q: %v", tt.b, tt.a, got)
		}
	}
}

func TestWaitsFor(t *testing.T) {
	for _, tt := range []struct{ line, kind string }{
		{"[sudo] password for me: ", Password},
		{"me@host's password: ", Password},
		{"Enter passphrase for key '/home/me/.ssh/id': ", Password},
		{"Verification code: ", Password},
		{"Do you want to continue? [Y/n] ", YesNo},
		{"Are you sure (yes/no)? ", YesNo},
		{"Quit anyway? (y or n) ", YesNo},
		{"Are you sure you want to continue connecting (yes/no/[fingerprint])? ", HostKey},
		{"--More--", Pager},
		{" --More-- ", Pager},
		{"---- More ----", Pager},
		{"--More--(42%)", Pager},
		{"lines 1-23", Pager},
		{"(END)", Pager},
		{":", Pager},
		{"Press any key to continue . . . ", Pager},
		{"host login: ", Login},
		{"Username: ", Login},
		{">>> ", REPL},
		{"... ", REPL},
		{"(gdb) ", REPL},
		{"postgres=# ", REPL},
		{"mysql> ", REPL},
		{"sqlite> ", REPL},
		{"127.0.0.1:6379> ", REPL},
		{"> ", REPL},
		{"", ""},
		{"   ", ""},
		{"me@host:~$ ", ""},
		{"r1#", ""},
		{"compiling 10%", ""},
		{"password changed", ""},
		{"~ # ", ""},
	} {
		got := Waits(tt.line, nil)
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
		if got := isDevice(line); got != device {
			t.Errorf("%q: device %v", line, got)
		}
	}
}

func TestSameSign(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"me@host:~$ ", "me@host:/tmp$ ", true}, {"me@host:~$ ", "root@host:~# ", true}, {"me@host:~$ ", "me@host ~> ", false}, {"host% ", "host$", false},
	} {
		if SameSign(tt.a, tt.b) != tt.want {
			t.Errorf("%q and %q", tt.a, tt.b)
		}
	}
}
