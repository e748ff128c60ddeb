package telnet

import (
	"errors"
	"io"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/term"
)

// enabled logs in to the router and enters the mode that may change it.
func (k *talk) enabled(s *lab.TelnetServer) {
	k.tb.Helper()
	k.login(s)
	k.ask("enable", `Password: $`)
	if shown := k.ask(s.Enable, `r1# $`); strings.Contains(shown, s.Enable) {
		k.tb.Errorf("the password is echoed: %q", shown)
	}
}

// telnetRouterConfiguration changes a router as an engineer does: each mode has a prompt of its own, lines are pasted,
// one of them is wrong, and the prompt changes with the name.
func telnetRouterConfiguration(t *testing.T) {
	s := lab.StartRouter(t)
	target := s.Target()
	target.PTY.Rows = 511 // no pager
	_, k := openTelnet(t, target)
	k.enabled(s)
	k.ask("configure terminal", `\nr1\(config\)# $`)
	k.send("router bgp 65001\r" +
		" bgp router-id 192.0.2.9\r" +
		" neighbor 192.0.2.1 remote-as 65002\r" +
		" neighbor 192.0.2.1 description uplink, do not touch\r" +
		" neighbor 192.0.2.2 remote-as nonsense\r" +
		" exit\r")
	pasted := k.wait(`\(config-router\)#  exit\r\nr1\(config\)# $`)
	if !strings.Contains(pasted, "% [BGP] Unknown command:  neighbor 192.0.2.2 remote-as nonsense\r\n") {
		t.Errorf("the line that is wrong is not refused:\n%s", pasted)
	}
	if n := strings.Count(pasted, "% "); n != 1 {
		t.Errorf("%d lines are refused, want one:\n%s", n, pasted)
	}
	k.ask("hostname edge", `\nedge\(config\)# $`)
	k.ask("end", `\nedge# $`)
	shown := k.ask("show running-config", `\nend\r\nedge# $`)
	for _, line := range []string{
		"hostname edge", " bgp router-id 192.0.2.9", " neighbor 192.0.2.1 remote-as 65002",
		" neighbor 192.0.2.1 description uplink, do not touch",
	} {
		if !strings.Contains(shown, "\r\n"+line+"\r\n") {
			t.Errorf("the configuration is without %q:\n%s", line, shown)
		}
	}
	if strings.Contains(shown, "--More--") {
		t.Errorf("a window of 511 rows has a pager:\n%s", shown)
	}
	k.ask("write memory", `Configuration saved to .*\r\nedge# $`)
	k.ask("bogus", `\n% \[BGP\] Unknown command: bogus\r\nedge# $`)
	k.ask("neighbor", `\n% .*\r\nedge# $`)
	k.send("exit\r")
	k.waitEnd()
}

// telnetRouterPager turns pages. The router has a page of the window's height, and wipes its question with backspaces.
func telnetRouterPager(t *testing.T) {
	s := lab.StartRouter(t)
	target := s.Target()
	target.PTY.Rows = 12
	terminal, k := openTelnet(t, target)
	k.enabled(s)
	page := k.ask("list", ` --More-- $`)
	if lines := strings.Count(page, "\n"); lines < 10 || lines > 12 {
		t.Errorf("a page of a window of 12 rows has %d lines:\n%s", lines, page)
	}
	const wiped = "\b\b\b\b\b\b\b\b\b\b          \b\b\b\b\b\b\b\b\b\b"
	for _, key := range []string{" ", "\r"} {
		k.send(key)
		if next := k.wait(` --More-- $`); !strings.HasPrefix(next, wiped) || strings.Count(next, "\n") < 10 {
			t.Errorf("the page after key %q is %q", key, next)
		}
	}
	k.send("q")
	k.wait(wiped + `r1# $`)

	if err := terminal.Resize(80, 40); err != nil {
		t.Fatal(err)
	}
	k.ask("", `r1# $`) // the size goes before it at the latest
	lab.Eventually(t, "pages of 40 lines", func() bool {
		page := k.ask("list", ` --More-- $`)
		k.send("q")
		k.wait(`r1# $`)
		return strings.Count(page, "\n") > 30
	})
	k.ask("terminal length 0", `r1# $`)
	if all := k.ask("list", `\nr1# $`); strings.Contains(all, "--More--") || len(all) < 10000 {
		t.Errorf("without a pager the list has %d bytes", len(all))
	}
}

// telnetRouterEndless sends no rows, which the router takes for a window without end.
func telnetRouterEndless(t *testing.T) {
	s := lab.StartRouter(t)
	target := s.Target()
	target.PTY = term.PTY{Cols: -1, Rows: -1}
	terminal, k := openTelnet(t, target)
	k.login(s)
	if all := k.ask("list", `\nr1> $`); strings.Contains(all, "--More--") {
		t.Errorf("there is a pager:\n%s", all)
	}
	if state := terminal.Conn().State(); state.Cols != 0 || state.Rows != 0 {
		t.Errorf("the agreed window is %d by %d, want none", state.Cols, state.Rows)
	}
}

// telnetRouterPasswords gives a wrong password three times, for the login and for enable.
func telnetRouterPasswords(t *testing.T) {
	s := lab.StartRouter(t)
	for _, test := range []struct{ name, says string }{
		{"login", "% Bad passwords, too many failures!"},
		{"enable", "% Bad enable passwords, too many failures!"},
	} {
		t.Run(test.name, func(t *testing.T) {
			terminal, k := openTelnet(t, s.Target())
			if test.name == "enable" {
				k.login(s)
				k.send("enable\r")
			}
			for range 3 {
				k.wait(`Password: $`)
				k.send("wrong\r")
			}
			if last := k.waitEnd(); !strings.Contains(last, test.says) {
				t.Errorf("the last it says is %q, want %q", last, test.says)
			}
			if lost := terminal.Conn().Lost(); !errors.Is(lost, io.EOF) {
				t.Errorf("the stream ended with %v, want %v", lost, io.EOF)
			}
		})
	}
}
