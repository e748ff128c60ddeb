package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ptyctl/internal/lab"
)

const tool = "ptyctl_fleet"

// same is what all hosts print unless they are told otherwise.
const same = "bash 5.2\ncurl 8.5\nnginx 1.24\nopenssl 3.0.15\npython 3.11\nrsync 3.2\nzlib 1.3\n"

// perServer is the number of addresses of one sshd, which takes 16 at most.
const perServer = 13

// A rack has servers of OpenSSH on many addresses of this machine: each address is a host with a key on record.
type rack struct {
	*lab.Home
	servers []*lab.SSHD
	dir     string // of the files that hosts print
	command string // prints the file of its host, or does what the file's name says
}

// newRack starts servers with 13 addresses each: 127.0.1.1 to 127.0.1.13, 127.0.2.1 and so on.
func newRack(t *testing.T, servers int, lines ...string) *rack {
	t.Helper()
	r := &rack{dir: t.TempDir()}
	for n := 1; n <= servers; n++ {
		listen := []string{"MaxStartups 100"} // all hosts of a rack are one server
		for i := 1; i <= perServer; i++ {
			listen = append(listen, fmt.Sprintf("ListenAddress 127.0.%d.%d", n, i))
		}
		r.servers = append(r.servers, lab.StartSSHD(t, listen...))
	}
	r.Home = lab.HomeFor(t, r.servers, lines...)
	for n, s := range r.servers {
		for i := 1; i <= perServer; i++ {
			r.Trust(t, fmt.Sprintf("[127.0.%d.%d]:%d %s", n+1, i, s.Port, s.HostKey.Public()))
		}
	}
	script := filepath.Join(r.dir, "command")
	text := `address=${SSH_CONNECTION#* * }; address=${address% *}
cd ` + r.dir + `
[ ! -f "$address.sh" ] || . "./$address.sh"
cat same
`
	for path, text := range map[string]string{script: text, filepath.Join(r.dir, "same"): same} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.command = "sh " + script
	return r
}

// does makes a host run these lines before it prints what all print.
func (r *rack) does(t *testing.T, address, lines string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, address+".sh"), []byte(lines+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hosts are all hosts of the rack, as expressions.
func (r *rack) hosts() (list []string) {
	for n, s := range r.servers {
		list = append(list, fmt.Sprintf("127.0.%d.[1-%d]:%d", n+1, perServer, s.Port))
	}
	return list
}

// host is one host, as an expression.
func (r *rack) host(server, i int) string {
	return fmt.Sprintf("127.0.%d.%d:%d", server, i, r.servers[server-1].Port)
}

// connect starts ptyctl with the tool, and compact results as agents get them.
func (r *rack) connect(t *testing.T) *lab.Client {
	t.Helper()
	return r.Connect(t, "--toolsets", "core,fleet", "--results", "compact")
}

// An answer is a result of the tool.
type answer struct {
	FleetID    string `json:"fleet_id"`
	DoneReason string `json:"done_reason"`
	Hosts      int
	Groups     []struct {
		Hosts      string
		N          int
		ExitCode   int `json:"exit_code"`
		Stdout     string
		StdoutDiff string `json:"stdout_diff"`
		Truncated  bool
		Bytes      int64 `json:"output_bytes"` // if lines are left out
	}
	Failures []struct {
		ErrorCode string `json:"error_code"`
		Hosts     string
		N         int
		Reason    string
	}
	NotRun []struct {
		Hosts, Reason string
		N             int
	} `json:"not_run"`

	text string
}

// call makes a call of the tool.
func call(t *testing.T, c *lab.Client, arguments string, values ...any) (a answer) {
	t.Helper()
	r := c.Call(t, tool, arguments, values...)
	if err := json.Unmarshal([]byte(r.Text), &a); err != nil {
		t.Fatalf("%s %s: the result %s: %v", tool, arguments, r.Text, err)
	}
	a.text = r.Text
	return a
}

// failure returns the hosts that failed with a code, and why.
func (a answer) failure(code string) (hosts, reason string) {
	for _, f := range a.Failures {
		if f.ErrorCode == code {
			return f.Hosts, f.Reason
		}
	}
	return "", ""
}
