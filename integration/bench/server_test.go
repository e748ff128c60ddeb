package bench

import (
	"bufio"
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// A benchServer is OpenSSH's sshd, with a key for the user that runs the benchmarks. Its login shells find an empty
// home folder, since a startup file would be measured with every command; and its limits are too high for any benchmark
// to reach.
type benchServer struct {
	user     string
	port     int
	address  string
	hostKey  ssh.PublicKey
	userKey  ssh.Signer
	identity string // the file with userKey
}

// startBenchServer starts a server that ends with the benchmark.
func startBenchServer(b *testing.B) *benchServer {
	b.Helper()
	me, err := user.Current()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		b.Fatal(err)
	}
	if os.Getuid() == 0 { // sshd(8) confines its unprivileged part there
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			b.Fatal(err)
		}
	}
	hostFile, hostKey := benchKey(b, dir, "host_key")
	s := &benchServer{user: me.Username, hostKey: hostKey.PublicKey()}
	s.identity, s.userKey = benchKey(b, dir, "user_key")
	benchWrite(b, dir, "authorized_keys", string(ssh.MarshalAuthorizedKey(s.userKey.PublicKey())))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s.address = free.Addr().String()
	s.port = free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	config := benchWrite(b, dir, "sshd_config", strings.Join([]string{
		"Port " + strconv.Itoa(s.port), "ListenAddress 127.0.0.1", "PidFile none",
		"HostKey " + hostFile, "AuthorizedKeysFile " + filepath.Join(dir, "authorized_keys"), "StrictModes no",
		"UsePAM no", "UseDNS no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password",
		"PrintMotd no", "PrintLastLog no", "MaxStartups 2000", "MaxSessions 2000", "Subsystem sftp internal-sftp",
		"SetEnv HOME=" + home + " HISTFILE=/dev/null", "",
	}, "\n"))

	cmd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", config)
	log, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatalf("%v: the benchmarks need OpenSSH's server; run scripts/install-test-deps", err)
	}
	lines := bufio.NewScanner(log)
	said := ""
	for !strings.Contains(said, "Server listening") {
		if !lines.Scan() {
			b.Fatalf("sshd ended:\n%s", said)
		}
		said += lines.Text() + "\n"
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		_, _ = io.Copy(io.Discard, log)
	}()
	b.Cleanup(func() { // its connections end with their clients
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // closes log, which a connection may hold open at its other end
		<-logged
	})
	return s
}

// benchKey makes a key and writes it to a file in dir.
func benchKey(b *testing.B, dir, name string) (path string, signer ssh.Signer) {
	b.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	signer, err = ssh.NewSignerFromKey(private)
	if err != nil {
		b.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		b.Fatal(err)
	}
	return benchWrite(b, dir, name, string(pem.EncodeToMemory(block))), signer
}

// benchWrite writes a file in dir and returns its path.
func benchWrite(b *testing.B, dir, name, text string) string {
	b.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// dial logs in with x/crypto/ssh, the baseline of the benchmarks.
func (s *benchServer) dial(b *testing.B) *ssh.Client {
	b.Helper()
	c, err := ssh.Dial("tcp", s.address, &ssh.ClientConfig{
		User: s.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(s.userKey)}, HostKeyCallback: ssh.FixedHostKey(s.hostKey),
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// knownHosts is the line of a known_hosts file for the server.
func (s *benchServer) knownHosts() string {
	return fmt.Sprintf("[127.0.0.1]:%d %s", s.port, ssh.MarshalAuthorizedKey(s.hostKey))
}

// benchShell starts a login shell on a terminal of the size that ptyctl has by default, and returns its two streams.
func benchShell(b *testing.B, c *ssh.Client) (io.Writer, io.Reader) {
	b.Helper()
	s, err := c.NewSession()
	if err != nil {
		b.Fatal(err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.RequestPty("xterm-256color", 40, 120, ssh.TerminalModes{}); err != nil {
		b.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		b.Fatal(err)
	}
	return in, out
}
