package sshconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseExtraArgs(t *testing.T) {
	for _, tt := range []struct {
		args   string // separated by "|"
		want   string // Keyword=Value, separated by blanks
		config string
	}{
		{"", "", ""},
		{"-o|Port=22", "Port=22", ""},
		{"-oPort=22", "Port=22", ""},
		{"-o|Port 22", "Port=22", ""},
		{"-o|Port = 22", "Port=22", ""},
		{"-p|22", "Port=22", ""},
		{"-p22", "Port=22", ""},
		{"-l|bob", "User=bob", ""},
		{"-lbob", "User=bob", ""},
		{"-l|al ice", `User="al ice"`, ""},
		{"-i|/k/a b", `IdentityFile="/k/a b"`, ""},
		{"-i|/a|-i|/b", "IdentityFile=/a IdentityFile=/b", ""},
		{"-J|a@b:1,c", "ProxyJump=a@b:1,c", ""},
		{"-F|/x", "", "/x"},
		{"-F/x", "", "/x"},
		{"-4", "AddressFamily=inet", ""},
		{"-4|-6", "AddressFamily=inet6", ""},
		{"-4C", "AddressFamily=inet Compression=yes", ""},
		{"-4Cp|22", "AddressFamily=inet Compression=yes Port=22", ""},
		{"-4Cp22", "AddressFamily=inet Compression=yes Port=22", ""},
		{"-A", "ForwardAgent=yes", ""},
		{"-Aa", "ForwardAgent=no", ""},
		{"-t", "RequestTTY=yes", ""},
		{"-tt", "RequestTTY=force", ""},
		{"-t|-t", "RequestTTY=force", ""},
		{"-tT", "RequestTTY=no", ""},
		{"-b|192.0.2.1", "BindAddress=192.0.2.1", ""},
		{"-c|a,b", "Ciphers=a,b", ""},
		{"-c|a|-c|b", "Ciphers=b", ""},
		{"-m|+a", "MACs=+a", ""},
		{"-q", "LogLevel=QUIET", ""},
		{"-vvv", "LogLevel=DEBUG", ""},
		// A flag must come before the -o options.
		{"-o|AddressFamily=any|-4", "AddressFamily=inet AddressFamily=any", ""},
		// An argument may look like an option.
		{"-i|-x", "IdentityFile=-x", ""},
		{"-o|ProxyCommand=nc -x y %h", "ProxyCommand=nc -x y %h", ""},
	} {
		var args []string
		if tt.args != "" {
			args = strings.Split(tt.args, "|")
		}
		got, err := ParseExtraArgs(args)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		var overrides []string
		for _, o := range got.Overrides {
			if o.Origin != (Origin{}) || !o.Origin.Caller() {
				t.Errorf("%q: origin %v", args, o.Origin)
			}
			overrides = append(overrides, o.Keyword+"="+o.Value)
		}
		if s := strings.Join(overrides, " "); s != tt.want || got.ConfigFile != tt.config {
			t.Errorf("%q: %s, config %q; want %s, %q", args, s, got.ConfigFile, tt.want, tt.config)
		}
	}
}

func TestParseExtraArgsRefuses(t *testing.T) {
	for _, letter := range "LRDwWXYxfNnsOSEeIBGgKkMPQVy" {
		_, err := ParseExtraArgs([]string{"-4" + string(letter) + "value"})
		var unsupported *UnsupportedArgError
		if !errors.As(err, &unsupported) || unsupported.Arg != "-"+string(letter) {
			t.Errorf("-%c: %v", letter, err)
		}
	}
	for _, arg := range []string{"host", "--", "-", "", "--option", "-\xff", "-é"} {
		_, err := ParseExtraArgs([]string{arg})
		if _, ok := errors.AsType[*UnsupportedArgError](err); !ok {
			t.Errorf("%q: %v", arg, err)
		}
	}
	for _, args := range [][]string{
		{"-o"}, {"-p"}, {"-4F"}, {"-o", ""}, {"-o", "Port"}, {"-o", "Port="}, {"-o", "# x"}, {"-J", "a", "-J", "b"},
	} {
		_, err := ParseExtraArgs(args)
		if _, ok := errors.AsType[*ArgError](err); !ok {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"", "a", "a b", `a"b`, `a'b`, `a\b`, `a\`, `\"`, "#a", "a=b", "a\tb", " ", `\\ \ '`} {
		args, err := splitArgs(Quote(s))
		if err != nil || !slices.Equal(args, []string{s}) {
			t.Errorf("Quote(%q) = %s, which reads as %q, %v", s, Quote(s), args, err)
		}
	}
}

func TestParseJump(t *testing.T) {
	for _, tt := range []struct {
		spec string
		want []Jump
	}{
		{"none", nil},
		{"NONE", nil},
		{"a", []Jump{{Host: "a"}}},
		{"u@a:1", []Jump{{User: "u", Host: "a", Port: 1}}},
		{"u@v@a", []Jump{{User: "u@v", Host: "a"}}},
		{"a,b@c,d:2", []Jump{{Host: "a"}, {User: "b", Host: "c"}, {Host: "d", Port: 2}}},
		{"[2001:db8::1]", []Jump{{Host: "2001:db8::1"}}},
		{"[2001:db8::1]:22", []Jump{{Host: "2001:db8::1", Port: 22}}},
		{"2001:db8::1", []Jump{{Host: "2001:db8::1"}}},
		{"a:", []Jump{{Host: "a"}}},
		{"ssh://a", []Jump{{Host: "a"}}},
		{"ssh://a/", []Jump{{Host: "a"}}},
		{"ssh://u@a:22/", []Jump{{User: "u", Host: "a", Port: 22}}},
		{"ssh://u%40v@a", []Jump{{User: "u@v", Host: "a"}}},
		{"ssh://u;fingerprint=x@a", []Jump{{User: "u", Host: "a"}}},
		{"ssh://[::1]:22", []Jump{{Host: "::1", Port: 22}}},
		{"%r@%h-gw", []Jump{{User: "%r", Host: "%h-gw"}}},
	} {
		got, err := ParseJump(tt.spec)
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
			t.Errorf("%q: %+v, %v; want %+v", tt.spec, got, err, tt.want)
		}
	}
	for _, spec := range []string{
		"", ",", "a,", ",a", "@a", "u@", "a:0", "a:65536", "a:x", "[a", "[a]b", "[]:22", "a b", "ssh://",
		"ssh://a/path", "ssh://u%zz@a", "a/b",
	} {
		if got, err := ParseJump(spec); err == nil {
			t.Errorf("%q: %+v, want an error", spec, got)
		}
	}
}

func TestJumpString(t *testing.T) {
	for _, s := range []string{"a", "u@a", "a:22", "u@a:22", "[::1]", "u@[::1]:22"} {
		jumps, err := ParseJump(s)
		if err != nil || len(jumps) != 1 || jumps[0].String() != s {
			t.Errorf("%q: %v, %v", s, jumps, err)
		}
	}
}

func TestJumpFromCommand(t *testing.T) {
	operator := Origin{Source: UserFile, File: "f", Line: 1}
	for _, tt := range []struct{ command, want string }{
		{"ssh -W %h:%p gw", "gw"},
		{"ssh gw -W %h:%p", "gw"},
		{"ssh -W%h:%p gw", "gw"},
		{"ssh -qW %h:%p gw", "gw[LogLevel=QUIET]"},
		{`ssh -W "[%h]:%p" gw`, "gw"},
		{"exec ssh -W %h:%p gw", "gw"},
		{"/usr/bin/ssh -W %h:%p gw", "gw"},
		{`C:\\Windows\\System32\\OpenSSH\\ssh.exe -W %h:%p gw`, "gw"},
		{"ssh -W %h:%p gw 2>/dev/null", "gw"},
		{"ssh -W %h:%p gw 2> /dev/null", "gw"},
		{"ssh -W %h:%p -p 2222 u@gw", "u@gw:2222"},
		{"ssh -W %h:%p -oPort=2222 u@gw", "u@gw:2222"},
		{"ssh -W %h:%p ssh://u@gw:2222", "u@gw:2222"},
		{"ssh -W %h:%p -l u gw", "gw[User=u]"},
		{"ssh -W %h:%p -i ~/.ssh/k -o BatchMode=yes gw", "gw[IdentityFile=~/.ssh/k BatchMode=yes]"},
		{"ssh -J a,b -W %h:%p gw", "a,b,gw"},
		{"ssh -A -x -T -N -n -4 -W %h:%p -e none gw", "gw[AddressFamily=inet ForwardAgent=yes RequestTTY=no]"},
		{"ssh gw", ""},
		{"ssh -F /other -W %h:%p gw", ""},
		{"ssh -W %h:22 gw", ""},
		{"ssh -W %h:%p", ""},
		{"ssh -W %h:%p gw uptime", ""},
		{"ssh -W %h:%p gw; rm x", ""},
		{"ssh -W %h:%p $(cat gw)", ""},
		{"ssh -W %h:%p gw > /tmp/x", ""},
		{"ssh -L 1:a:1 -W %h:%p gw", ""},
		{"ssh -f -W %h:%p gw", ""},
		{"nc -W %h:%p gw", ""},
		{"notssh -W %h:%p gw", ""},
		{"", ""},
		{"exec", ""},
		{`ssh -W %h:%p "gw`, ""},
	} {
		jumps, ok := jumpFromCommand(tt.command, operator)
		var parts []string
		for _, j := range jumps {
			s := j.String()
			var overrides []string
			for _, o := range j.Overrides {
				if o.Origin != operator {
					t.Errorf("%s: %s has origin %s", tt.command, o.Keyword, o.Origin)
				}
				overrides = append(overrides, o.Keyword+"="+o.Value)
			}
			if overrides != nil {
				s += "[" + strings.Join(overrides, " ") + "]"
			}
			parts = append(parts, s)
		}
		if got := strings.Join(parts, ","); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %s, %t; want %s", tt.command, got, ok, tt.want)
		}
	}
}
