package telnet

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"ptyctl/term"
)

// inNamespace names the variable that is set in the process with a network of its own.
const inNamespace = "PTYCTL_TEST_NETWORK"

// TestDeadNetwork sends to a peer in a network namespace while the network dies. Without a limit the kernel would go
// on sending for a quarter of an hour, and no read or write would fail.
func TestDeadNetwork(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		line := []string{"unshare", "--net"}
		if os.Getuid() != 0 {
			line = append(line, "--user", "--map-root-user")
		}
		line = append(line, os.Args[0], "-test.run=^TestDeadNetwork$", "-test.v", "-test.timeout=5m")
		cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
		cmd.Env = append(os.Environ(), inNamespace+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v: the test needs a network namespace (root, or user namespaces)\n%s", line, err, out)
		}
		return
	}
	ip := func(args ...string) {
		if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}
	limits := map[string]time.Duration{"short": 2 * time.Second}
	if os.Getenv("PTYCTL_LONG") != "" {
		limits["default"] = 0
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			ip("link", "set", "lo", "up")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			accepted := make(chan net.Conn, 1)
			go func() {
				peer, _ := l.Accept()
				accepted <- peer
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			d := Dialer{Config: Config{Mode: ModeTelnet, lossLimit: limit}}
			conn, err := d.Open(ctx, term.Target{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			defer (<-accepted).Close()
			ip("link", "set", "lo", "down")
			began := time.Now()
			if _, err := conn.Write([]byte("show version\r")); err != nil {
				t.Fatal(err)
			}
			over := make(chan error, 1)
			go func() {
				for {
					if _, err := conn.Read(make([]byte, 100)); err != nil {
						over <- err
						return
					}
				}
			}()
			select {
			case err := <-over:
				_, lost := conn.(term.Waiter).Wait()
				t.Logf("after %s: %v; %v", time.Since(began).Round(time.Second), err, lost)
				if !errors.Is(lost, term.RemoteClosed) {
					t.Errorf("Wait = %v, want RemoteClosed", lost)
				}
			case <-ctx.Done():
				t.Errorf("the dead network is not noticed after %s", time.Since(began).Round(time.Second))
			}
		})
	}
}
