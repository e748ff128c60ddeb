package telnet

import (
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/term"
)

// telnetGoTelnet talks to go-telnet's shell, which wants CR LF and would fail at any command.
func telnetGoTelnet(t *testing.T) {
	s := lab.StartGoTelnet(t)
	target := s.Target()
	target.Telnet.Enter = "crlf"
	terminal, k := openTelnet(t, target)
	k.login(s)
	k.ask("show version", `^show: command not found\r\ngo-telnet> $`)
	if state := terminal.Conn().State(); !state.Raw || state.Enter != "crlf" {
		t.Errorf("state at go-telnet = %+v, want raw with enter crlf", state)
	}
	k.send("exit\r")
	if last := k.waitEnd(); !strings.HasSuffix(last, "Goodbye!\r\n") {
		t.Errorf("the last it says is %q", last)
	}
}

// telnetRaw sends to a port without Telnet: it must get the typed bytes, and nothing else.
func telnetRaw(t *testing.T) {
	s, received := lab.StartRaw(t)
	terminal, k := openTelnet(t, s.Target())
	k.login(s)
	k.ask("hello", `^hello\r$`)
	k.send("a\r\nb\n\tc\x00d\x03")
	k.wait("\x03$")
	if got, want := received.String(), "hello\ra\r\nb\n\tc\x00d\x03"; got != want {
		t.Errorf("the port got %q, want %q", got, want)
	}
	for _, key := range term.ProtocolKeys() {
		if err := terminal.SendKey(t.Context(), key); term.KindOf(err) != term.Unsupported {
			t.Errorf("key %s: %v", key, err)
		}
	}
	if err := terminal.Resize(80, 24); term.KindOf(err) != term.Unsupported {
		t.Errorf("it has a window: %v", err)
	}
	if state := terminal.Conn().State(); !state.Raw {
		t.Errorf("state at a port without Telnet = %+v, want raw", state)
	}
	terminal.Close()

	s, received = lab.StartRaw(t)
	target := s.Target()
	target.Telnet.Mode = "raw"
	_, k = openTelnet(t, target)
	k.login(s)
	var all strings.Builder
	for b := range 256 {
		all.WriteByte(byte(b))
	}
	k.send(all.String())
	lab.Eventually(t, "every byte", func() bool { return received.String() == all.String() })
	if echoed := k.quiet(100 * time.Millisecond); echoed != all.String() {
		t.Errorf("echoed: %q", echoed)
	}
}
