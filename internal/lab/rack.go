package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxListen is the most addresses that one sshd listens on (MAX_LISTEN_SOCKS in its source), 127.0.0.1 included.
const maxListen = 16

// A Rack has many hosts for one command: servers of OpenSSH, each with many addresses of this machine. Each address is a
// host with a name, in ssh_config, and a key on record.
type Rack struct {
	*Home
	Servers []*SSHD
	Key     Key    // of the user, on all hosts
	Same    string // the text that hosts print, unless Does says otherwise
	Command string // prints Same, after the lines that Does has set for the host

	n, each int // hosts, and those of a server
}

// NewRack starts as many servers as it takes for n hosts, with each hosts a server, at most 15; the last may have fewer.
// The hosts are n001, n002 and so on; those of the first server have the addresses 127.0.1.1, 127.0.1.2 and so on. lines
// are those of NewHome.
func NewRack(tb testing.TB, n, each int, lines ...string) *Rack {
	tb.Helper()
	if each > maxListen-1 {
		tb.Fatalf("a server of a rack has %d hosts, and sshd listens on %d addresses besides 127.0.0.1", each, maxListen-1)
	}
	r := &Rack{
		Home: NewHome(tb, lines...), Key: NewKey(tb, "ed25519"), n: n, each: each,
		Same: "bash 5.2\ncurl 8.5\nnginx 1.24\nopenssl 3.0.15\npython 3.11\nrsync 3.2\nzlib 1.3\n",
	}
	identity := r.Key.Write(tb, r.Dir, "id_ed25519")
	r.Given[identity] = true
	r.Secrets = append(r.Secrets, PrivateKeyLine(r.Key.PEM))
	authorized := filepath.Join(r.Dir, "authorized_keys")
	r.Write(tb, authorized, r.Key.Public()+"\n")

	files := filepath.Join(r.Dir, "sftp")
	r.Write(tb, files, `address=${SSH_CONNECTION#* * }; address=${address% *}; server=`+sftpServer(tb)+`
mkdir -p "`+r.Dir+`/$address"; cd "`+r.Dir+`/$address"
[ ! -f "../$address.sftp" ] || . "../$address.sftp"
exec $server
`)
	var config, known strings.Builder
	for first := 0; first < n; first += each {
		hosts := min(each, n-first)
		listen := []string{"MaxStartups 1000", "AuthorizedKeysFile " + authorized, "Subsystem sftp /bin/sh " + files} // all hosts of a server are one sshd
		for i := range hosts {
			listen = append(listen, "ListenAddress "+r.Address(first+i))
		}
		s := StartSSHD(tb, listen...)
		r.Servers = append(r.Servers, s)
		for i := range hosts {
			address := r.Address(first + i)
			fmt.Fprintf(&known, "[%s]:%d %s\n", address, s.Port, s.HostKey.Public())
			fmt.Fprintf(&config, "Host %s\n\tHostName %s\n\tPort %d\n", r.Name(first+i), address, s.Port)
		}
	}
	r.Trust(tb, known.String())
	r.Write(tb, r.SSHConfig, config.String()+"Host *\n\tIdentityAgent none\n\tIdentitiesOnly yes\n\tIdentityFile "+identity+"\n")

	script := filepath.Join(r.Dir, "command")
	r.Write(tb, script, `address=${SSH_CONNECTION#* * }; address=${address% *}
cd `+r.Dir+`
[ ! -f "$address.sh" ] || . "./$address.sh"
cat same
`)
	r.Write(tb, filepath.Join(r.Dir, "same"), r.Same)
	r.Command = "sh " + script
	return r
}

// Name returns the name of host i, counted from 0.
func (r *Rack) Name(i int) string { return fmt.Sprintf("n%03d", i+1) }

// Address returns the address of host i.
func (r *Rack) Address(i int) string { return fmt.Sprintf("127.0.%d.%d", i/r.each+1, i%r.each+1) }

// Hosts returns all hosts, as an expression.
func (r *Rack) Hosts() string { return fmt.Sprintf("n[001-%03d]", r.n) }

// Server returns the server of host i.
func (r *Rack) Server(i int) *SSHD { return r.Servers[i/r.each] }

// Does makes host i run these lines before it prints the common output.
func (r *Rack) Does(tb testing.TB, i int, lines string) {
	tb.Helper()
	r.Write(tb, filepath.Join(r.Dir, r.Address(i)+".sh"), lines+"\n")
}

// Serves makes the server of files of host i run these lines first. Its relative paths begin in the folder Files(i), and
// $server is the program.
func (r *Rack) Serves(tb testing.TB, i int, lines string) {
	tb.Helper()
	r.Write(tb, filepath.Join(r.Dir, r.Address(i)+".sftp"), lines+"\n")
}

// Files returns the folder of the files of host i, which its first connection for files makes.
func (r *Rack) Files(i int) string { return filepath.Join(r.Dir, r.Address(i)) }

// sftpServer returns the path of OpenSSH's server of files.
func sftpServer(tb testing.TB) string {
	tb.Helper()
	for _, path := range []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/libexec/sftp-server"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Fatal("the tests need OpenSSH's sftp-server; run scripts/install-test-deps")
	return ""
}

// Rekey makes host i one with another key than the one on record.
func (r *Rack) Rekey(tb testing.TB, i int) {
	tb.Helper()
	other := NewKey(tb, "ed25519")
	var lines []string
	for line := range strings.Lines(string(ReadFile(tb, r.KnownHosts))) {
		if strings.HasPrefix(line, fmt.Sprintf("[%s]:", r.Address(i))) {
			at, _, _ := strings.Cut(line, " ")
			line = at + " " + other.Public() + "\n"
		}
		lines = append(lines, line)
	}
	if err := os.WriteFile(r.KnownHosts, []byte(strings.Join(lines, "")), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Refuses points host i to a port without a listener.
func (r *Rack) Refuses(tb testing.TB, i int) {
	tb.Helper()
	text := string(ReadFile(tb, r.SSHConfig))
	at := fmt.Sprintf("Host %s\n\tHostName %s\n\tPort ", r.Name(i), r.Address(i))
	before, after, found := strings.Cut(text, at)
	if !found {
		tb.Fatalf("ssh_config has no host %s:\n%s", r.Name(i), text)
	}
	_, after, _ = strings.Cut(after, "\n")
	free := FreePort(tb)
	r.Write(tb, r.SSHConfig, before+at+fmt.Sprint(free)+"\n"+after)
	r.Trust(tb, fmt.Sprintf("[%s]:%d %s", r.Address(i), free, r.Key.Public()))
}

// UntilFile is a POSIX shell command that waits until path exists, for two minutes at the longest: a test that is killed
// must leave no loop behind.
func UntilFile(path string) string {
	return "for _ in $(seq 1200); do [ ! -e " + path + " ] || break; sleep 0.1; done"
}
