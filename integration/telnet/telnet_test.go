package telnet

import (
	"slices"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/telnet"
	"ptyctl/term"
)

// TestTelnet runs ptyctl's Telnet against real servers. One test is one thing that must hold; it starts the servers
// that it needs.
//
//	go test -race -run 'TestTelnet/router' ./integration/telnet
func TestTelnet(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"every server: opening and one command", telnetOpenings},
		{"every server: one Enter, one prompt", telnetEnter},
		{"every server: Ctrl-C", telnetInterrupt},

		{"shells: UTF-8", telnetUTF8},
		{"shells: much at a time", telnetBulk},
		{"shells: window size", telnetWindow},
		{"shells: wrong password", telnetWrongPassword},
		{"shells: go-telnet's Caller", telnetCaller},
		{"shells: through a bastion", telnetBastion},
		{"inetutils: timing mark, status, keys", telnetProbes},
		{"inetutils: logout", telnetLogout},

		{"router: configuration", telnetRouterConfiguration},
		{"router: pager", telnetRouterPager},
		{"router: window without end", telnetRouterEndless},
		{"router: wrong passwords", telnetRouterPasswords},

		{"serial line: settings", telnetSerialSettings},
		{"serial line: break", telnetSerialBreak},
		{"serial line: all bytes", telnetSerialBytes},

		{"session: shell", telnetShellSession},
		{"session: router", telnetRouterSession},
		{"session: the server dies", telnetServerDies},

		{"no Telnet server", telnetWrongPorts},
		{"frozen server", telnetFrozen},

		{"TLS", telnetTLS},
		{"go-telnet's server", telnetGoTelnet},
		{"raw port", telnetRaw},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // most of them wait, most of the time
			test.run(t)
		})
	}
}

// openTelnet opens a terminal, which is closed when the test ends.
func openTelnet(tb testing.TB, target term.Target) (*telnet.Terminal, *talk) {
	tb.Helper()
	transport, err := telnet.Dialer{}.Open(tb.Context(), target, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return transport.(*telnet.Terminal), newTalk(tb, transport)
}

// telnetOpenings connects to each server with default options, and checks the agreed options, the reported state, and
// that a command works.
func telnetOpenings(t *testing.T) {
	for _, test := range []struct {
		start         func(testing.TB) *lab.TelnetServer
		ask, answer   string
		local, remote []string // agreed options
		raw           bool
		warned        bool // of the clear text
	}{
		{
			start: lab.StartInetutils, ask: "echo $TERM/$((6*7))", answer: `\nxterm-256color/42\r\ndemo\$ $`, warned: true,
			local:  []string{"binary", "terminal_type", "naws", "terminal_speed", "new_environment"},
			remote: []string{"echo", "status"},
		},
		{
			start: lab.StartBusybox, ask: "echo $((6*7))", answer: `\n42\r\ndemo\$ $`, warned: true,
			local: []string{"naws"}, remote: []string{"echo", "suppress_go_ahead"},
		},
		{
			start: lab.StartRouter, ask: "show version", answer: `\nFRRouting [^\n]*\n(?s:.*)\nr1> $`, warned: true,
			local: []string{"naws"}, remote: []string{"echo", "suppress_go_ahead"},
		},
		{
			start: func(tb testing.TB) *lab.TelnetServer { return lab.StartSerial(tb).TelnetServer },
			ask:   "echo $((6*7))", answer: `\n42\r\ndevice\$ $`, warned: true,
			local: []string{
				"binary", "suppress_go_ahead", "com_port_control",
			}, remote: []string{"binary", "echo", "suppress_go_ahead"},
		},
		{start: lab.StartGoTelnet, ask: "show\n", answer: `show: command not found\r\ngo-telnet> $`, raw: true, warned: true},
		{
			start: func(tb testing.TB) *lab.TelnetServer { s, _ := lab.StartRaw(tb); return s },
			ask:   "hello", answer: `hello\r$`, raw: true, warned: true,
		},
	} {
		s := test.start(t)
		t.Run(s.Name, func(t *testing.T) {
			terminal, k := openTelnet(t, s.Target())
			k.login(s)
			k.ask(test.ask, test.answer)
			d := terminal.Describe()
			if d.Telnet.Raw != test.raw || !slices.Equal(d.Telnet.Local, test.local) ||
				!slices.Equal(d.Telnet.Remote, test.remote) {
				t.Errorf("agreed: %+v; want raw %t, local %q, remote %q", d.Telnet, test.raw, test.local, test.remote)
			}
			resize := term.No
			if slices.Contains(test.local, "naws") {
				resize = term.Yes
			}
			if d.Capabilities.Resize != resize {
				t.Errorf("resize is %s, want %s", d.Capabilities.Resize, resize)
			}
			if (d.Security != "") != test.warned {
				t.Errorf("the warning is %q", d.Security)
			}
			if d.Telnet.Suppressed != 0 || d.Telnet.Malformed != 0 {
				t.Errorf("suppressed %d, malformed %d; want none", d.Telnet.Suppressed, d.Telnet.Malformed)
			}
		})
	}
}

// telnetEnter counts the prompts that a press of Enter brings, with eight-bit data and without.
func telnetEnter(t *testing.T) {
	for _, test := range []struct {
		name    string
		start   func(testing.TB) *lab.TelnetServer
		options []term.TelnetOptions
	}{
		{"inetutils", lab.StartInetutils, []term.TelnetOptions{{}, {Binary: "always"}, {Binary: "never"}, {Binary: "never", Enter: "crlf"}, {Enter: "lf"}}},
		{"busybox", lab.StartBusybox, []term.TelnetOptions{{}, {Binary: "always"}, {Binary: "never"}, {Enter: "crlf"}}},
		{"router", lab.StartRouter, []term.TelnetOptions{{}, {Binary: "always"}, {Binary: "never"}, {Enter: "crlf"}}},
		// ser2net passes its input on, so that CR NUL would bring a NUL to the device.
		{"ser2net", func(tb testing.TB) *lab.TelnetServer { return lab.StartSerial(tb).TelnetServer }, []term.TelnetOptions{{}, {Binary: "never", Enter: "cr"}}},
		{"go-telnet", lab.StartGoTelnet, []term.TelnetOptions{{Enter: "crlf"}}},
	} {
		for _, options := range test.options {
			t.Run(test.name+" "+options.Binary+" "+options.Enter, func(t *testing.T) {
				s := test.start(t)
				target := s.Target()
				target.Telnet = options
				terminal, k := openTelnet(t, target)
				k.login(s)
				const times = 3
				for range times {
					k.ask("", s.Prompt)
				}
				if extra := k.quiet(150 * time.Millisecond); extra != "" {
					t.Errorf("more than %d prompts for %d times Enter: %q", times, times, extra)
				}
				state := terminal.Conn().State()
				if want := s.Name == "inetutils" && options.Binary == "" ||
					s.Name == "ser2net" && options.Binary == ""; options.Binary != "always" &&
					state.BinaryOut != want {
					t.Errorf("binary out is %t, want %t", state.BinaryOut, want)
				}
				// It agrees to perform BINARY itself, and takes that back when it sets up its terminal.
				if s.Name == "inetutils" && options.Binary == "always" && !state.BinaryOut {
					t.Errorf("binary is not agreed: %+v", state)
				}
			})
		}
	}
}

// telnetInterrupt presses Ctrl-C while a command runs. inetutils answers with IAC DM, with the DM as urgent data: none
// of it may reach the output.
func telnetInterrupt(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{
		lab.StartInetutils, lab.StartBusybox, lab.StartRouter,
		func(tb testing.TB) *lab.TelnetServer { return lab.StartSerial(tb).TelnetServer },
	} {
		s := start(t)
		t.Run(s.Name, func(t *testing.T) {
			_, k := openTelnet(t, s.Target())
			k.login(s)
			command, running := lab.TelnetSleep, "\nbegun"
			if s.Enable != "" { // a router ends its commands at once; it drops the line being typed
				command, running = "show vers", "show vers$"
			}
			for range 5 {
				if s.Enable != "" {
					k.send(command)
				} else {
					k.send(command + "\r")
				}
				k.wait(running)
				k.send("\x03")
				if shown := k.wait(s.Prompt); holdsProtocol(shown) {
					t.Errorf("Ctrl-C shows %q", shown)
				}
			}
			if s.Enable == "" {
				k.ask("echo $((6*7))", `\n42\r\n`)
			}
		})
	}
}
