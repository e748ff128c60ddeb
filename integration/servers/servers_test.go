//go:build servers && linux

package servers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }

// A candidate is a server, its tool for commands and the configuration that it needs for a host.
type candidate struct {
	name      string
	command   func(t *testing.T, home string, s *lab.SSHD) *exec.Cmd
	tool      string
	arguments string // of the tool, with %s for the command
}

// hostile is output that no model should get as it is: it sets a window's title and hides a word.
const hostile = `printf '\033]0;title\007\033[8mhidden\033[0m'`

// TestServers prints a row for each server. It fails if a server does not run a plain command, so that a row is always of
// one that works.
func TestServers(t *testing.T) {
	fmt.Println("| server | tools | bytes of tools/list | `seq 1 300000`: bytes of the answer | escape sequences in an answer |" +
		" a host whose key is not the recorded one |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, c := range []candidate{
		{"ptyctl", ptyctl, lab.ToolExec, `{"host":"web1","cmd":%s}`},
		{"ssh-mcp 2.11.0", sshMCP, "run-command", `{"command":%s}`},
		{"mcp-ssh-manager 3.8.5", sshManager, "ssh_execute", `{"server":"web1","command":%s}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := lab.StartSSHD(t)
			home := t.TempDir()
			known := record(t, home, s, s.HostKey)
			log := lab.NewCapture()
			client := connect(t, c.command(t, home, s), log)
			list, err := client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if out := c.run(t, client, "echo works"); !strings.Contains(out, "works") {
				t.Fatalf("it runs no command: %s", out)
			}
			flood := len(c.run(t, client, "seq 1 300000"))
			escapes := "no"
			if out := c.run(t, client, hostile); strings.Contains(out, "\x1b") || strings.Contains(out, `\u001b`) {
				escapes = "yes"
			}
			client.Close()

			if known != record(t, home, s, lab.NewKey(t, "ed25519")) {
				t.Fatal("the file of known hosts has another place")
			}
			other := connect(t, c.command(t, home, s), io.Discard)
			trusts := "refused"
			said := c.run(t, other, "echo $((6*7)) works")
			if strings.Contains(said, "42 works") {
				trusts = "**connected, and ran the command**"
			}
			t.Logf("at a host whose key is not the recorded one: %s", said)
			other.Close()
			fmt.Printf("| %s | %d | %d | %d | %s | %s |\n", c.name, len(list.Tools), listed(t, log.String()), flood, escapes, trusts)
		})
	}
}

// run returns the text blocks of the answer to a call of the server's tool for commands, as a model reads them.
func (c candidate) run(t *testing.T, client *mcp.ClientSession, command string) string {
	t.Helper()
	quoted, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.CallTool(t.Context(), &mcp.CallToolParams{
		Name: c.tool, Arguments: json.RawMessage(fmt.Sprintf(c.arguments, quoted)),
	})
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, part := range got.Content {
		if block, ok := part.(*mcp.TextContent); ok {
			text.WriteString(block.Text)
		}
	}
	return text.String()
}

// listed returns the bytes of the answer to tools/list, of the messages that a client has logged.
func listed(t *testing.T, log string) int {
	t.Helper()
	for line := range strings.Lines(log) {
		_, message, _ := strings.Cut(line, "read: ")
		var answer struct{ Result json.RawMessage }
		if json.Unmarshal([]byte(message), &answer) == nil && strings.Contains(string(answer.Result), `"tools":[{`) {
			return len(answer.Result)
		}
	}
	t.Fatalf("no answer to tools/list: %.200s", log)
	return 0
}

// connect starts a server. The messages go to log, too.
func connect(t *testing.T, cmd *exec.Cmd, log io.Writer) *mcp.ClientSession {
	t.Helper()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "servers", Version: "1"}, nil).
		Connect(t.Context(), &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// record makes key the one that the user of home has recorded for the server.
func record(t *testing.T, home string, s *lab.SSHD, key lab.Key) (path string) {
	t.Helper()
	path = filepath.Join(home, ".ssh", "known_hosts")
	write(t, path, fmt.Sprintf("[127.0.0.1]:%d %s\n", s.Port, key.Public()))
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ptyctl(t *testing.T, home string, s *lab.SSHD) *exec.Cmd {
	t.Helper()
	config, hosts := filepath.Join(home, "ptyctl.toml"), filepath.Join(home, "ssh_config")
	write(t, config, fmt.Sprintf("[ssh]\nknown_hosts_path = '%s'\nconfig_path = '%s'\n",
		filepath.Join(home, ".ssh", "known_hosts"), hosts))
	write(t, hosts, fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser %s\n\tIdentityFile %s\n\tIdentityAgent none\n",
		s.Port, s.User, s.Identity))
	return in(home, exec.Command(lab.Binary, "mcp", "--transport", "stdio", "--config", config))
}

func sshMCP(t *testing.T, home string, s *lab.SSHD) *exec.Cmd {
	t.Helper()
	write(t, filepath.Join(home, ".config", "ssh-mcp", "config.toml"), fmt.Sprintf(`[defaults]
defaultProfile = "web1"
[[profiles]]
name = "web1"
host = "127.0.0.1"
port = %d
user = "%s"
auth = "key"
keyRef = "%s"
role = "admin"
approvalPolicy = "auto"
`, s.Port, s.User, s.Identity))
	return in(home, node(t, "ssh-mcp"))
}

func sshManager(t *testing.T, home string, s *lab.SSHD) *exec.Cmd {
	t.Helper()
	write(t, filepath.Join(home, ".ssh-manager", ".env"), fmt.Sprintf(
		"SSH_SERVER_WEB1_HOST=127.0.0.1\nSSH_SERVER_WEB1_PORT=%d\nSSH_SERVER_WEB1_USER=%s\nSSH_SERVER_WEB1_KEYPATH=%s\n",
		s.Port, s.User, s.Identity))
	return in(home, node(t, "mcp-ssh-manager"))
}

// in has a program run in a home folder of its own, with nothing of the tester's environment.
func in(home string, cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1"}
	return cmd
}

// node returns the program of a package of the lock file, which task bench:servers has installed.
func node(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join("node", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	folder := lab.Unpacked(t, "node-"+hex.EncodeToString(sum[:])[:16], "node_modules")
	script, err := filepath.EvalSymlinks(filepath.Join(folder, ".bin", program))
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command("node", script)
}
