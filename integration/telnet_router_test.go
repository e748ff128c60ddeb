package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// startRouter starts FRRouting's bgpd, whose command line is that of a router. It reads and writes files in a folder of
// its own, touches no kernel route and opens no BGP port: all that it offers is the command line.
func startRouter(tb testing.TB) *telnetServer {
	tb.Helper()
	// The path of a Unix socket is limited to 107 bytes, which a test's own folder may exceed.
	dir, err := os.MkdirTemp("", "ptyctl-router-") //nolint:usetesting // see above
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	s := &telnetServer{
		name:     "router",
		login:    `Password: $`,
		password: "a-login-secret-1138",
		enable:   "an-enable-secret-1138",
		prompt:   `r1> $`,
	}
	config := filepath.Join(dir, "bgpd.conf")
	text := "hostname r1\npassword " + s.password + "\nenable password " + s.enable + "\nline vty\n exec-timeout 0 0\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.process, s.port = startTelnet(tb, func(port int) []string {
		return []string{
			"/usr/lib/frr/bgpd",
			"-S",       // as whoever runs the test
			"-n", "-Z", // no route in the kernel, no connection to the process that owns them
			"-p", "0", // no BGP port
			"-A", "127.0.0.1", "-P", strconv.Itoa(port),
			"-f", config, "-i", filepath.Join(dir, "bgpd.pid"), "--vty_socket", dir, "-z", filepath.Join(dir, "zserv.api"),
			"--log", "stdout", "--log-level", "warnings",
		}
	})
	return s
}
