package demo

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/sshserver"
)

// Limit is the longest that the demonstration may take.
const Limit = 60 * time.Second

// Run plays an agent, through a real MCP client and a real SSH server, and checks each result.
func Run(ctx context.Context, out io.Writer, version string) (err error) {
	password := rand.Text()
	far := sshserver.Config{Passwords: map[string]string{"demo": password}, Shell: "/bin/sh"}
	if runtime.GOOS == "windows" {
		far.Shell, far.Handler = "", standIn
	}
	srv, err := sshserver.Listen(far)
	if err != nil {
		return fmt.Errorf("demo: the SSH server did not start: %w", err)
	}
	defer func() { _ = srv.Close() }()
	dir, err := os.MkdirTemp("", "ptyctl-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	knownHosts := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(knownHosts, []byte(srv.KnownHostsLine()+"\n"), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(
		out,
		"An SSH server runs in this process on %s. ptyctl is started as an MCP client would start it:\n"+
			"  ptyctl mcp --transport stdio\n\n",
		srv.Addr(),
	)
	if far.Handler != nil {
		fmt.Fprint(out, "This system has no /bin/sh: a stand-in answers, which knows the lines of this demonstration alone.\n\n")
	}
	c, err := startSelf(ctx, dir, version)
	if err != nil {
		return err
	}
	d := &demonstration{ctx: ctx, out: out, client: c}
	d.play(srv.Port(), password, knownHosts)
	if d.err == nil {
		d.err = d.stop()
	}
	_ = c.Close()
	if d.err != nil {
		return fmt.Errorf("demo: step %d: %w", d.step, d.err)
	}
	fmt.Fprintf(out, "\nAll %d steps went as expected.\n", d.step)
	return nil
}

// startSelf starts this program as an MCP server and shakes hands with it.
func startSelf(ctx context.Context, dir, version string) (*client.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	empty := filepath.Join(dir, "ptyctl.toml") // the demonstration shows the defaults, not the user's file
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		return nil, err
	}
	c, err := client.NewStdioMCPClient(
		self,
		nil,
		"mcp",
		"--transport",
		"stdio",
		"--config",
		empty,
		"--log-level",
		"warn",
		"--results", // as without a configuration, whatever the environment says
		"compact",
	)
	if err != nil {
		return nil, fmt.Errorf("demo: %s did not start: %w", self, err)
	}
	if errs, ok := client.GetStderr(c); ok {
		go func() { // ends with the child
			lines := bufio.NewScanner(errs)
			for lines.Scan() {
				fmt.Fprintln(os.Stderr, "  [log] "+lines.Text())
			}
		}()
	}
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "ptyctl-demo", Version: version}
	if _, err := c.Initialize(ctx, init); err != nil {
		return nil, fmt.Errorf("demo: the MCP handshake failed: %w", err)
	}
	return c, nil
}

// play goes through the steps. Once one has failed, the others do nothing.
func (d *demonstration) play(port int, password, knownHosts string) {
	open := fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":"demo",`+
			`"auth":{"method":"password","password":"%s"},`+
			`"ssh_options":{"known_hosts_path":%q,"use_openssh_config":false}}`,
		port,
		password,
		knownHosts,
	)
	d.secret = password

	d.say("Open a terminal. The host key is checked before the password is sent.")
	r := d.call("ptyctl_session", open)
	d.want(r.SessionID != "" && r.State == "", "an open session")
	d.session = r.SessionID

	d.say("Run a command beside the terminal: true exit code, split streams.")
	r = d.call("ptyctl_session_exec", `{"session_id":"$S","cmd":"`+lineStreams+`"}`)
	d.want(
		r.ExitCode != nil && *r.ExitCode == 7 && r.Stdout == "to stdout\n" && r.Stderr == "to stderr\n",
		"exit code 7 and both streams",
	)

	d.say("Type into the terminal, and wait in the same call until the answer is there.")
	r = d.call(
		"ptyctl_session_io",
		`{"action":"write","session_id":"$S","data":"`+lineAnswer+`\r"`+
			`,"until_regex":"42 is the answer","timeout_ms":10000}`,
	)
	d.want(r.Matched == nil && strings.Contains(r.Chunk, "42 is the answer"), "the answer")

	d.say("Start something that never ends, and press Ctrl-C.")
	r = d.call(
		"ptyctl_session_io",
		`{"action":"write","session_id":"$S","data":"`+lineEndless+`\r"`+
			`,"until_regex":"\\nready\\s","timeout_ms":10000}`,
	)
	d.want(r.Matched == nil, "its first word")
	d.call("ptyctl_session_io", `{"action":"write","session_id":"$S","key":"ctrl_c"}`)
	r = d.call(
		"ptyctl_session_io",
		`{"action":"write","session_id":"$S","data":"`+lineStatus+`\r"`+
			`,"until_regex":"status \\d+\\s","timeout_ms":10000}`,
	)
	d.want(r.Matched == nil && strings.Contains(r.Chunk, "status 130"), "status 130: interrupted")

	d.say("Resize the window; the far side sees it.")
	r = d.call("ptyctl_session_config", `{"action":"resize","session_id":"$S","cols":100,"rows":30}`)
	d.want(r.Cols == 100 && r.Rows == 30, "the new size")
	r = d.call(
		"ptyctl_session_io",
		`{"action":"write","session_id":"$S","data":"`+lineSize+`\r"`+
			`,"until_regex":"(\\n|[$#] )30 100\\s","timeout_ms":10000}`,
	)
	d.want(r.Matched == nil, "30 rows, 100 columns")

	d.say("Look at the end of the terminal's history. Reading takes nothing away from anyone.")
	r = d.call("ptyctl_session_io", `{"action":"read","session_id":"$S","mode":"tail","max_lines":3}`)
	d.want(strings.Contains(r.Chunk, "30 100"), "the last lines")

	d.say("List the sessions.")
	r = d.call("ptyctl_session", `{"action":"list"}`)
	d.want(len(r.Sessions) == 1 && r.Sessions[0].SessionID == d.session, "the one session")

	d.say("Close it.")
	r = d.call("ptyctl_session", `{"action":"close","session_id":"$S"}`)
	d.want(r.Success, "a closed session")
}
