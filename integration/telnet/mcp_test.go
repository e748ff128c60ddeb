package telnet

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestTelnetOverMCP uses the servers as an agent does: log in, type, read, run commands, wait for quiet.
func TestTelnetOverMCP(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c := lab.HomeFor(t, nil).Connect(t)
			id, opened := c.OpenTelnet(t, s, "")
			if !strings.Contains(opened.SecurityWarning, "not encrypted") || !opened.Telnet.RemoteEcho || opened.Telnet.Raw {
				t.Errorf("%s: %s", s.Name, opened.Text)
			}
			c.LoginTelnet(t, s, id)

			// A command and its echo; a deadline is not an error.
			if r := c.Enter(t, id, "echo 'héllo, 日本'\r", `\nhéllo, 日本\n`); !strings.Contains(r.Chunk, "echo 'h") {
				t.Errorf("%s: no echo: %s", s.Name, r.Text)
			}
			r := c.Call(
				t,
				lab.ToolIO,
				`{"action":"write","session_id":%s,"data":"sleep 3\r","until_regex":"never-there","timeout_ms":300}`,
				id,
			)
			if !r.TimedOut || r.Matched {
				t.Errorf("%s: %s", s.Name, r.Text)
			}
			c.Call(
				t,
				lab.ToolIO,
				`{"action":"write","session_id":%s,"key":"ctrl_c","until_regex":"demo\\$ $","timeout_ms":20000}`,
				id,
			)

			// Quiet ends the wait where no prompt is known.
			r = c.Call(
				t,
				lab.ToolIO,
				`{"action":"write","session_id":%s,"data":"echo o''ne; sleep 0.2; echo t''wo\r","until_idle_ms":700,"timeout_ms":20000}`,
				id,
			)
			if r.TimedOut || !strings.Contains(r.Chunk, "\ntwo\n") {
				t.Errorf("%s: until it is quiet: %s", s.Name, r.Text)
			}

			// The caller gives the class; then there are exit codes. Without it the result claims no exit code.
			r = c.Call(
				t,
				lab.ToolExec,
				`{"session_id":%s,"cmd":"echo out; sh -c 'exit 7'","class":"posix","expect":{"prompt_regex":"demo\\$ $"}}`,
				id,
			)
			if r.Stdout != "out\n" || r.ExitCode == nil || *r.ExitCode != 7 || r.ExecLane != "terminal" {
				t.Errorf("%s: %s", s.Name, r.Text)
			}
			r = c.Call(
				t,
				lab.ToolExec,
				`{"session_id":%s,"cmd":"echo out","class":"unknown","expect":{"prompt_regex":"demo\\$ $"}}`,
				id,
			)
			if r.Stdout != "out\n" || r.ExitCode != nil || r.ExitCodeReason != "no_status" {
				t.Errorf("%s: %s", s.Name, r.Text)
			}
			c.Refused(t, "UNSUPPORTED", lab.ToolExec, `{"session_id":%s,"cmd":"id","lane":"channel"}`, id)

			// The client must send the size where NAWS is agreed.
			c.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":100,"rows":30}`, id)
			lab.Eventually(t, "the new size", func() bool {
				return strings.Contains(c.Enter(t, id, "stty size\r", `\n\d+ \d+\n(?s:.*)demo\$ $`).Chunk, "\n30 100\n")
			})
			get := c.Call(t, lab.ToolConfig, `{"action":"get","session_id":%s}`, id)
			if get.Telnet.Cols != 100 || !slices.Contains(get.Telnet.Local, "naws") {
				t.Errorf("%s: %s", s.Name, get.Text)
			}
			st := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
			if st.Session.Capabilities.Resize != "yes" || st.Session.Capabilities.ExitCode != "best_effort" ||
				st.Session.SecurityWarning == "" ||
				!slices.Contains(st.Session.Telnet.Remote, "echo") {
				t.Errorf("%s: %s", s.Name, st.Text)
			}

			// The keys of the protocol go out as its commands.
			c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"sleep 1000\r"}`, id)
			if s.Name == "inetutils" { // the others do nothing with it
				c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"ayt","until_regex":"yes","timeout_ms":20000}`, id)
			}
			r = c.Call(
				t,
				lab.ToolIO,
				`{"action":"write","session_id":%s,"key":"ctrl_c","encoding":"base64","until_regex":"demo\\$ $","timeout_ms":20000}`,
				id,
			)
			if got, err := base64.StdEncoding.DecodeString(r.Chunk); err != nil || strings.ContainsRune(string(got), 0xfffd) ||
				strings.Contains(string(got), "\xf2") {
				t.Errorf("%s: ctrl_c leaves %q (%v)", s.Name, got, err)
			}
			c.Close(t, id)
		})
	}
}

// TestTelnetStepsOverMCP logs in, works and logs out in one call.
func TestTelnetStepsOverMCP(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c := lab.HomeFor(t, nil).Connect(t)
			id, _ := c.OpenTelnet(t, s, "")
			c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_prompt":true,"timeout_ms":20000}`, id)
			r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"format":"clean","steps":[`+
				`{"data":%s,"until_regex":"assword: ?$","timeout_ms":20000},`+
				`{"data":%s,"sensitive":true,"until_prompt":true,"timeout_ms":20000},`+
				`{"data":"echo $((6*7)) sheep\r","until_prompt":true,"timeout_ms":20000}]}`, id,
				lab.TelnetUser+"\r", lab.TelnetPassword+"\r")
			if !strings.Contains(r.Chunk, "\n42 sheep\n") || strings.Contains(r.Text, "stopped") ||
				strings.Contains(r.Text, lab.TelnetPassword) {
				t.Errorf("%s: the steps of a login are answered with %s, want the command's output", s.Name, r.Text)
			}
			c.Close(t, id)
		})
	}
}

// TestTelnetRouterOverMCP configures a router, step by step as an agent does, then with commands and the profile.
func TestTelnetRouterOverMCP(t *testing.T) {
	t.Parallel()
	s := lab.StartRouter(t)
	c := lab.HomeFor(t, nil).Connect(t)
	id, _ := c.OpenTelnet(t, s, `,"pty":{"rows":20},"expect":{"profile":"frr"}`)
	r := c.Call(
		t,
		lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"(>|#|login:|username:|Password: )$","timeout_ms":20000}`,
		id,
	)
	if !r.Matched || r.WaitingFor.Kind != "password" {
		t.Fatalf("no question: %s", r.Text)
	}
	// Three wrong passwords, and the router hangs up.
	bad, _ := c.OpenTelnet(t, s, "")
	for range 3 {
		r = c.Call(
			t,
			lab.ToolIO,
			`{"action":"write","session_id":%s,"data":"wrong-1138\r","sensitive":true,"until_regex":"Password: $","timeout_ms":2000}`,
			bad,
		)
	}
	if r = c.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"never-there","timeout_ms":20000}`, bad,
	); !r.EOF {
		t.Errorf("three wrong passwords: %s", r.Text)
	}

	c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s,"sensitive":true,"until_regex":"r1> $","timeout_ms":20000}`,
		id,
		s.Password+"\r",
	)
	c.Enter(t, id, "enable\r", `Password: $`)
	r = c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s,"sensitive":true,"until_regex":"# $","timeout_ms":20000}`,
		id,
		s.Enable+"\r",
	)
	if !r.Matched {
		t.Fatalf("enable: %s", r.Text)
	}
	c.Enter(t, id, "configure terminal\r", `\(config\)# $`)
	r = c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s,"paste":true,"until_regex":"edge\\(config\\)# $","timeout_ms":20000}`,
		id,
		"router bgp 65001\n neighbor 192.0.2.1 remote-as 65002\n neighbor 192.0.2.1 description a peer\nexit\nhostname edge\n",
	)
	if !r.Matched || strings.Contains(r.Chunk, "% ") {
		t.Fatalf("the pasted configuration: %s", r.Text)
	}
	c.Enter(t, id, "end\r", `edge# $`)

	run := func(command, more string) lab.Result {
		t.Helper()
		return c.Call(t, lab.ToolExec, fmt.Sprintf(`{"session_id":%%s,"cmd":%%s,"timeout_ms":20000%s}`, more), id, command)
	}
	r = run("show running-config", `,"expect":{"auto_page":{"max_pages":50}}`)
	if !strings.Contains(r.Stdout, "neighbor 192.0.2.1 description a peer\n") || strings.Contains(r.Stdout, "--More--") ||
		r.ExitCode != nil ||
		r.ExitCodeReason != "no_status" ||
		r.DoneReason != "prompt_seen" {
		t.Errorf("exec of show running-config = %s, want the description, no pager, and no exit code", r.Text)
	}
	if r = run("show nonsense", ""); len(r.ErrorHints) == 0 || !strings.Contains(r.Stdout, "% ") {
		t.Errorf("an error has no hint: %s", r.Text)
	}
	if r = run("list", `,"expect":{"auto_page":{"max_pages":100}}`); r.Pages < 5 ||
		strings.Contains(r.Stdout, "--More--") ||
		r.DoneReason != "prompt_seen" {
		t.Errorf("%d pages were turned, %s: %s", r.Pages, r.DoneReason, lab.Tail(r.Text, 2<<10))
	}
	if r = run("list", `,"expect":{"auto_page":{"max_pages":2}}`); r.Pages != 2 || r.WaitingFor.Kind != "pager" {
		t.Errorf("beyond the bound: %s", lab.Tail(r.Text, 2<<10))
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"q"}`, id)
	if r = c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, r.ExecID); r.DoneReason != "prompt_seen" {
		t.Errorf(
			"after q: %s, waiting for %s; the terminal shows %s",
			r.DoneReason,
			r.WaitingFor.Kind,
			c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"mode":"tail","max_bytes":1000}`, id).Text,
		)
	}
	c.Enter(t, id, "write memory\r", `Configuration saved(?s:.*)# $`)
	c.Close(t, id)
}

// TestTelnetWaysOverMCP reaches a server through a bastion, behind TLS, and where nothing is a Telnet server.
func TestTelnetWaysOverMCP(t *testing.T) {
	t.Parallel()
	bastion, s := lab.StartSSHD(t), lab.StartBusybox(t)
	secured := lab.StartTLS(t, s)
	sum := sha256.Sum256(secured.Trust.Certificate.Raw)
	pin := "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
	h := lab.HomeFor(t, []*lab.SSHD{bastion})
	c := h.Connect(t)

	id, opened := c.OpenTelnet(
		t,
		s,
		fmt.Sprintf(`,"ssh_options":{"proxy_jump":"%s@127.0.0.1:%d"}`, bastion.User, bastion.Port),
	)
	c.LoginTelnet(t, s, id)
	if !strings.Contains(opened.SecurityWarning, "not encrypted") {
		t.Errorf("through a bastion: %s", opened.Text)
	}
	st := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id)
	if hops := st.Session.Ladder; len(hops) != 2 || hops[0].Port != bastion.Port || hops[1].Port != s.Port ||
		len(hops[1].Steps) < 2 {
		t.Errorf("the ladder through a bastion: %s", st.Text)
	}
	c.Close(t, id)

	r := c.Refused(
		t,
		"HOSTKEY_UNKNOWN",
		lab.ToolSession,
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"telnet":{"tls":{"enabled":true}}}`,
			secured.Port,
		),
	)
	if !strings.Contains(r.Message, "certificate") {
		t.Errorf("an unknown authority: %s", r.Text)
	}
	id, opened = c.OpenTelnet(t, secured, fmt.Sprintf(`,"telnet":{"tls":{"enabled":true,"pin":%q}}`, pin))
	if opened.SecurityWarning != "" {
		t.Errorf("pinned: %s", opened.Text)
	}
	c.LoginTelnet(t, secured, id)
	c.Close(t, id)
	trusting := lab.HomeFor(t, nil, "[telnet]", "tls_ca_file = '"+secured.Trust.File+"'").Connect(t)
	id, _ = trusting.OpenTelnet(t, secured, `,"telnet":{"tls":{"enabled":true}}`)
	trusting.Close(t, id)

	// Mistakes.
	for arguments, code := range map[string]string{
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d}`, bastion.Port,
		): "CONNECT_FAILED",
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d}`, lab.FreePort(t),
		): "CONNECT_FAILED",
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"auth":{"password":"telnet-1138"}}`, s.Port,
		): "INVALID_ARGUMENT",
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"ssh_options":{"known_hosts_path":"/x"}}`, s.Port,
		): "INVALID_ARGUMENT",
		fmt.Sprintf(
			`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"telnet":{"enter":"cr"}}`, bastion.Port,
		): "INVALID_ARGUMENT",
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"expect":{"profile":"no_such"}}`, s.Port,
		): "INVALID_ARGUMENT",
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"telnet":{"tls":{"pin":%q}}}`, secured.Port, pin,
		): "INVALID_ARGUMENT",
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"telnet":{"tls":{"enabled":true,"pin":"SHA256:abc"}}}`,
			secured.Port,
		): "INVALID_ARGUMENT",
	} {
		c.Refused(t, code, lab.ToolSession, strings.ReplaceAll(arguments, "%", "%%"))
	}
}

// TestTelnetRawOverMCP speaks to a port without a Telnet server: every byte passes, and no byte is added.
func TestTelnetRawOverMCP(t *testing.T) {
	t.Parallel()
	s, _ := lab.StartRaw(t)
	c := lab.HomeFor(t, nil).Connect(t)
	id, opened := c.OpenTelnet(t, s, "")
	if !opened.Telnet.Raw {
		t.Errorf("open of a raw port = %s, want telnet.raw", opened.Text)
	}
	c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"echo ready\\r\\n","timeout_ms":20000}`, id)
	all := make([]byte, 255) // IAC itself would be a command
	for i := range all {
		all[i] = byte(i)
	}
	text := base64.StdEncoding.EncodeToString(all)
	r := c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s,"encoding":"base64","until_idle_ms":500,"timeout_ms":20000}`,
		id,
		text,
	)
	if r.Chunk != text {
		t.Errorf("write of bytes 0 to 254 = %s, want the chunk %s", r.Text, text)
	}
	c.Close(t, id)
}

// TestTelnetOpenUntil opens a session and has its login prompt in one call, by a pattern and without one.
func TestTelnetOpenUntil(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c := lab.HomeFor(t, nil).Connect(t)
			for _, until := range []string{`"until_regex":"login: $"`, `"until_prompt":true`} {
				r := c.Call(t, lab.ToolSession,
					`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%s,"timeout_ms":20000,`+until+`}`, s.Port)
				if r.State != "open" || !strings.HasSuffix(r.Chunk, "login: ") || r.TimedOut ||
					r.Matched != strings.Contains(until, "regex") || r.WaitingForInput == r.Matched {
					t.Errorf("%s: open with %s: %s; want the login prompt", s.Name, until, r.Text)
				}
				// The text after it is read from the cursor of the result.
				next := c.Call(t, lab.ToolIO,
					`{"action":"write","session_id":%s,"data":"demo\r","until_regex":"assword: ","timeout_ms":20000}`, r.SessionID)
				if !next.Matched {
					t.Errorf("%s: after open with %s: %s", s.Name, until, next.Text)
				}
				c.Close(t, r.SessionID)
			}
		})
	}
}
