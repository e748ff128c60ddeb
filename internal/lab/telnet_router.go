package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// StartRouter starts FRRouting's bgpd for its router command line. It reads and writes files in its own folder, touches
// no kernel route and opens no BGP port: it offers the command line alone.
func StartRouter(tb testing.TB) *TelnetServer {
	tb.Helper()
	// The path of a Unix socket is limited to 107 bytes, which a test's own folder may exceed.
	dir, err := os.MkdirTemp("", "ptyctl-router-") //nolint:usetesting // see above
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	s := &TelnetServer{
		Name:     "router",
		Login:    `Password: $`,
		Password: "a-login-secret-1138",
		Enable:   "an-enable-secret-1138",
		Prompt:   `r1> $`,
		Folder:   dir,
	}
	config := filepath.Join(dir, "bgpd.conf")
	// Encrypted, they are not in what "show running-config" prints: a sensitive write is looked for in the output for five
	// seconds alone.
	text := "hostname r1\nservice password-encryption\npassword " + s.Password + "\nenable password " + s.Enable + "\nline vty\n exec-timeout 0 0\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.Process, s.Port = startTelnet(tb, func(port int) []string {
		return []string{
			"/usr/lib/frr/bgpd",
			"-S",       // as the user that runs the test
			"-n", "-Z", // no route in the kernel, no connection to the process that owns them
			"-p", "0", // no BGP port
			"-A", "127.0.0.1", "-P", strconv.Itoa(port),
			"-f", config, "-i", filepath.Join(dir, "bgpd.pid"), "--vty_socket", dir, "-z", filepath.Join(dir, "zserv.api"),
			"--log", "stdout", "--log-level", "warnings",
		}
	})
	return s
}
