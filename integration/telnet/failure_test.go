package telnet

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
	"ptyctl/telnet"
	"ptyctl/term"
)

// telnetWrongPorts connects to servers of other protocols.
func telnetWrongPorts(t *testing.T) {
	bastion := lab.StartSSHD(t)
	secured := lab.StartTLS(t, lab.StartBusybox(t))
	for _, test := range []struct {
		name string
		port int
		kind term.Kind // of the error; empty: it opens
		says string
	}{
		{"nobody listens", lab.FreePort(t), term.ConnectFailed, "refused"},
		{"an SSH server", bastion.Port, term.ConnectFailed, "SSH"},
		{"a server that closes", lab.Listen(t, lab.CloseAtOnce), term.ConnectFailed, "closed"},
		{"a server that says nothing", lab.Listen(t, lab.Silent), "", ""},
		{"a server that wants TLS", secured.Port, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport, err := telnet.Dialer{}.Open(
				t.Context(),
				term.Target{Protocol: "telnet", Host: "127.0.0.1", Port: test.port},
				nil,
				nil,
			)
			if test.kind != "" {
				if term.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: %v; want %s, and %q in it", term.KindOf(err), err, test.kind, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer transport.Close()
			if test.name == "a server that wants TLS" {
				k := newTalk(t, transport)
				k.send("hello\r")
				k.waitEnd()
			}
			if state := transport.(*telnet.Terminal).Conn().State(); !state.Raw {
				t.Errorf("it is said to speak Telnet: %+v", state)
			}
		})
	}
}

// telnetFrozen stops the server's process. Whatever is under way must end when the terminal is closed, and closing must
// not wait for the server.
func telnetFrozen(t *testing.T) {
	for _, secured := range []bool{false, true} {
		s := lab.StartBusybox(t)
		dialer := telnet.Dialer{Config: telnet.Config{LogoutOnClose: true}}
		if secured {
			s = lab.StartTLS(t, s)
			dialer.TLS = &telnet.TLS{InsecureSkipVerify: true}
		}
		terminal, err := dialer.Open(t.Context(), s.Target(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := newTalk(t, terminal)
		k.login(s)
		frozen := append(lab.Descendants(t, s.Process.PID), lab.Process{PID: s.Process.PID, Command: s.Name})
		for _, p := range frozen {
			if err := system.Kill(p.PID, system.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		blocked := make(chan error, 1)
		go func() {
			var err error
			for text := strings.Repeat("a", 64<<10); err == nil; {
				_, err = io.WriteString(terminal, text)
			}
			blocked <- err
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := terminal.(*telnet.Terminal).Conn().TimingMark(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a server that is frozen answers: %v", err)
		}
		cancel()
		began := time.Now()
		terminal.Close()
		if took := time.Since(began); took > lab.Patience {
			t.Errorf("Close took %s, want at most %s", took, lab.Patience)
		}
		select {
		case <-blocked:
		case <-time.After(lab.Patience):
			t.Error("a write still waits after the terminal was closed")
		}
		k.waitEnd()
		for _, p := range frozen {
			_ = system.Kill(p.PID, system.SIGCONT)
		}
	}
}
