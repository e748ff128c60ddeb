//go:build oracle

package hostkeys

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const proxyVariable = "HOSTKEYS_TEST_PROXY"

// TestMain makes the test program its own ProxyCommand, so that ssh accepts any host name and
// port.
func TestMain(m *testing.M) {
	if addr := os.Getenv(proxyVariable); addr != "" {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			os.Exit(1)
		}
		go func() {
			io.Copy(c, os.Stdin)
			c.Close()
		}()
		io.Copy(os.Stdout, c)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestOracle runs the table of TestAsOpenSSH with the installed ssh: go test -tags oracle
// -run TestOracle.
func TestOracle(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ssh", "-V").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	var version int
	if _, err := fmt.Sscanf(string(out), "OpenSSH_%d", &version); err != nil {
		t.Fatalf("ssh -V says %q", out)
	}
	for _, c := range opensshCases(t) {
		if version < c.since {
			t.Logf("%s: not asked, this is OpenSSH %d", c.name, version)
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			addr, accepted := serve(t, c.server...)
			file := writeLines(t, c.lines...)
			strict := map[Policy]string{Strict: "yes", AcceptNew: "accept-new", Disabled: "no"}[c.policy]
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			args := []string{
				"-F", "none", "-N", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=" + strict,
				"-o", "UserKnownHostsFile=" + file, "-o", "GlobalKnownHostsFile=/dev/null", "-o", "UpdateHostKeys=no",
				"-o", "ProxyCommand=" + self, "-p", strconv.Itoa(max(c.port, 22)),
			}
			if c.alias != "" {
				args = append(args, "-o", "HostKeyAlias="+c.alias)
			}
			cmd := exec.CommandContext(ctx, "ssh", append(args, "test@server")...)
			cmd.Env = append(os.Environ(), proxyVariable+"="+addr)
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			got := accept
			if !<-accepted {
				got = unknown
			}
			cancel()
			cmd.Wait()
			if got == unknown {
				switch {
				case strings.Contains(said.String(), "REVOKED HOST KEY"), strings.Contains(said.String(), "was revoked"):
					got = revoked
				case strings.Contains(said.String(), "IDENTIFICATION HAS CHANGED"):
					got = mismatch
				}
			}
			if got != c.want {
				t.Errorf("ssh says %s, the table %s\n%s", got, c.want, said.String())
			}
		})
	}
}
