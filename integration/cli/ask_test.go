package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A password that ptyctl asks a person for is not shown, and the terminal is afterwards as it was.
func TestPasswordAtTheTerminal(t *testing.T) {
	h := lab.NewHome(t)
	s := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": "the right password-1138"}})
	h.Trust(t, s.KnownHostsLine())
	cmd := h.Command("doctor", "--config", h.Config, fmt.Sprintf("alice@127.0.0.1:%d", s.Port()))
	tty, err := lab.StartAtTerminal(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	seen, ended := lab.NewCapture(), make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			seen.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	kill := time.AfterFunc(lab.Patience, func() { cmd.Process.Kill() })
	defer kill.Stop()
	if !seen.WaitFor("password: ", ended) {
		t.Fatalf("want a question at the terminal, got:\n%s", seen)
	}
	fmt.Fprint(tty, "the wrong\x15the right password-1138x\x7f\r")
	<-ended
	if err := cmd.Wait(); err != nil {
		t.Errorf("ptyctl ended with %v", err)
	}
	text := seen.String()
	if !strings.Contains(text, "ok    auth            password") || strings.Contains(text, "the right") ||
		strings.Contains(text, "the wrong") {
		t.Errorf("the terminal showed:\n%s", text)
	}
}
