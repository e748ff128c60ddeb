package integration

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// openTelnet opens a session on a server and returns its id. more is a list of members that begins with a comma, or
// nothing.
func (c tools) openTelnet(tb testing.TB, s *telnetServer, more string) (id string, opened result) {
	tb.Helper()
	r := c.call(
		tb,
		toolSession,
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":%q,"port":%d%s}`, s.host(), s.port, more),
	)
	if r.State != "open" || r.SessionID == "" || r.Cursor != "0" {
		tb.Fatalf("open: %s", r.text)
	}
	return r.SessionID, r
}

// loginTelnet answers the server's questions, reading from the first byte on.
func (c tools) loginTelnet(tb testing.TB, s *telnetServer, id string) {
	tb.Helper()
	cursor := "0"
	for _, step := range []struct{ asked, answer string }{{s.login, s.user}, {`Password: $`, s.password}} {
		if step.answer == "" {
			continue
		}
		r := c.call(
			tb,
			toolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"until_regex":%s,"timeout_ms":20000}`,
			id,
			cursor,
			step.asked,
		)
		if !r.Matched {
			tb.Fatalf("%s does not ask %s: %s", s.name, step.asked, r.text)
		}
		cursor = r.NextCursor
		c.call(
			tb,
			toolIO,
			`{"action":"write","session_id":%s,"data":%s,"sensitive":%s}`,
			id,
			step.answer+"\r",
			step.answer == s.password,
		)
	}
	r := c.call(
		tb,
		toolIO,
		`{"action":"read","session_id":%s,"cursor":%s,"until_regex":%s,"timeout_ms":20000}`,
		id,
		cursor,
		s.prompt,
	)
	if !r.Matched || strings.Contains(r.Chunk, s.password) {
		tb.Fatalf("no prompt of %s: %s", s.name, r.text)
	}
}

// TestTelnetOverMCP is what an agent does with the servers: log in, type, read, run commands, wait for quiet.
func TestTelnetOverMCP(t *testing.T) {
	for _, start := range []func(testing.TB) *telnetServer{startInetutils, startBusybox} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c := homeFor(t, nil).connect(t)
			id, opened := c.openTelnet(t, s, "")
			if !strings.Contains(opened.SecurityWarning, "not encrypted") || !opened.Telnet.RemoteEcho || opened.Telnet.Raw {
				t.Errorf("%s: %s", s.name, opened.text)
			}
			c.loginTelnet(t, s, id)

			// A command and its echo; a deadline is no error.
			if r := c.enter(t, id, "echo 'héllo, 日本'\r", `\nhéllo, 日本\r\n`); !strings.Contains(r.Chunk, "echo 'h") {
				t.Errorf("%s: no echo: %s", s.name, r.text)
			}
			r := c.call(
				t,
				toolIO,
				`{"action":"write","session_id":%s,"data":"sleep 3\r","until_regex":"never-there","timeout_ms":300}`,
				id,
			)
			if !r.TimedOut || r.Matched {
				t.Errorf("%s: %s", s.name, r.text)
			}
			c.call(
				t,
				toolIO,
				`{"action":"write","session_id":%s,"key":"ctrl_c","until_regex":"demo\\$ $","timeout_ms":20000}`,
				id,
			)

			// Quiet ends the wait where no prompt is known.
			r = c.call(
				t,
				toolIO,
				`{"action":"write","session_id":%s,"data":"echo o''ne; sleep 0.2; echo t''wo\r","until_idle_ms":700,"timeout_ms":20000}`,
				id,
			)
			if r.TimedOut || !strings.Contains(r.Chunk, "\ntwo\r\n") {
				t.Errorf("%s: until it is quiet: %s", s.name, r.text)
			}

			// The class is the caller's to say; then there are exit codes. Without it none is claimed.
			r = c.call(
				t,
				toolExec,
				`{"session_id":%s,"cmd":"echo out; sh -c 'exit 7'","class":"posix","expect":{"prompt_regex":"demo\\$ $"}}`,
				id,
			)
			if r.Stdout != "out\n" || r.ExitCode == nil || *r.ExitCode != 7 || r.ExecLane != "terminal" {
				t.Errorf("%s: %s", s.name, r.text)
			}
			r = c.call(
				t,
				toolExec,
				`{"session_id":%s,"cmd":"echo out","class":"unknown","expect":{"prompt_regex":"demo\\$ $"}}`,
				id,
			)
			if r.Stdout != "out\n" || r.ExitCode != nil || r.ExitCodeReason != "unsupported_shell" {
				t.Errorf("%s: %s", s.name, r.text)
			}
			c.refused(t, "UNSUPPORTED", toolExec, `{"session_id":%s,"cmd":"id","lane":"channel"}`, id)

			// The size is told where it is agreed.
			c.call(t, toolConfig, `{"action":"resize","session_id":%s,"cols":100,"rows":30}`, id)
			eventually(t, "the new size", func() bool {
				return strings.Contains(c.enter(t, id, "stty size\r", `\n\d+ \d+\r\n(?s:.*)demo\$ $`).Chunk, "\n30 100\r\n")
			})
			get := c.call(t, toolConfig, `{"action":"get","session_id":%s}`, id)
			if get.Telnet.Cols != 100 || !slices.Contains(get.Telnet.Local, "naws") {
				t.Errorf("%s: %s", s.name, get.text)
			}
			st := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id)
			if st.Session.Capabilities.Resize != "yes" || st.Session.Capabilities.ExitCode != "best_effort" ||
				st.Session.SecurityWarning == "" ||
				!slices.Contains(st.Session.Telnet.Remote, "echo") {
				t.Errorf("%s: %s", s.name, st.text)
			}

			// The keys of the protocol go out as its commands.
			c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"sleep 1000\r"}`, id)
			if s.name == "inetutils" { // the others do nothing with it
				c.call(t, toolIO, `{"action":"write","session_id":%s,"key":"ayt","until_regex":"yes","timeout_ms":20000}`, id)
			}
			r = c.call(
				t,
				toolIO,
				`{"action":"write","session_id":%s,"key":"ctrl_c","encoding":"base64","until_regex":"demo\\$ $","timeout_ms":20000}`,
				id,
			)
			if got, err := base64.StdEncoding.DecodeString(r.Chunk); err != nil || strings.ContainsRune(string(got), 0xfffd) ||
				strings.Contains(string(got), "\xf2") {
				t.Errorf("%s: ctrl_c leaves %q (%v)", s.name, got, err)
			}
			c.close(t, id)
		})
	}
}

// TestTelnetRouterOverMCP configures a router, step by step as an agent does, then with commands and the profile.
func TestTelnetRouterOverMCP(t *testing.T) {
	t.Parallel()
	s := startRouter(t)
	c := homeFor(t, nil).connect(t)
	id, _ := c.openTelnet(t, s, `,"pty":{"rows":20},"expect":{"profile":"frr"}`)
	r := c.call(
		t,
		toolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"(>|#|login:|username:|Password: )$","timeout_ms":20000}`,
		id,
	)
	if !r.Matched || r.WaitingFor.Kind != "password" {
		t.Fatalf("no question: %s", r.text)
	}
	// Three wrong passwords, and the router hangs up.
	bad, _ := c.openTelnet(t, s, "")
	for range 3 {
		r = c.call(
			t,
			toolIO,
			`{"action":"write","session_id":%s,"data":"wrong-1138\r","sensitive":true,"until_regex":"Password: $","timeout_ms":2000}`,
			bad,
		)
	}
	if r = c.call(t, toolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"never-there","timeout_ms":20000}`, bad); !r.EOF {
		t.Errorf("three wrong passwords: %s", r.text)
	}

	c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s,"sensitive":true,"until_regex":"r1> $","timeout_ms":20000}`,
		id,
		s.password+"\r",
	)
	c.enter(t, id, "enable\r", `Password: $`)
	r = c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s,"sensitive":true,"until_regex":"# $","timeout_ms":20000}`,
		id,
		s.enable+"\r",
	)
	if !r.Matched {
		t.Fatalf("enable: %s", r.text)
	}
	c.enter(t, id, "configure terminal\r", `\(config\)# $`)
	r = c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s,"paste":true,"until_regex":"edge\\(config\\)# $","timeout_ms":20000}`,
		id,
		"router bgp 65001\n neighbor 192.0.2.1 remote-as 65002\n neighbor 192.0.2.1 description a peer\nexit\nhostname edge\n",
	)
	if !r.Matched || strings.Contains(r.Chunk, "% ") {
		t.Fatalf("the pasted configuration: %s", r.text)
	}
	c.enter(t, id, "end\r", `edge# $`)

	run := func(command, more string) result {
		t.Helper()
		return c.call(t, toolExec, fmt.Sprintf(`{"session_id":%%s,"cmd":%%s,"timeout_ms":20000%s}`, more), id, command)
	}
	r = run("show running-config", `,"expect":{"auto_page":{"max_pages":50}}`)
	if !strings.Contains(r.Stdout, "neighbor 192.0.2.1 description a peer\n") || strings.Contains(r.Stdout, "--More--") ||
		r.ExitCode != nil ||
		r.ExitCodeReason != "unsupported_shell" ||
		r.DoneReason != "prompt_seen" {
		t.Errorf("%s", r.text)
	}
	if r = run("show nonsense", ""); len(r.ErrorHints) == 0 || !strings.Contains(r.Stdout, "% ") {
		t.Errorf("an error has no hint: %s", r.text)
	}
	if r = run("list", `,"expect":{"auto_page":{"max_pages":100}}`); r.Pages < 5 ||
		strings.Contains(r.Stdout, "--More--") ||
		r.DoneReason != "prompt_seen" {
		t.Errorf("%d pages were turned, %s: %s", r.Pages, r.DoneReason, tail(r.text, 2<<10))
	}
	if r = run("list", `,"expect":{"auto_page":{"max_pages":2}}`); r.Pages != 2 || r.WaitingFor.Kind != "pager" {
		t.Errorf("beyond the bound: %s", tail(r.text, 2<<10))
	}
	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"q"}`, id)
	if r = c.call(t, toolExec, `{"session_id":%s,"exec_id":%s}`, id, r.ExecID); r.DoneReason != "prompt_seen" {
		t.Errorf(
			"after q: %s, waiting for %s; the terminal shows %s",
			r.DoneReason,
			r.WaitingFor.Kind,
			c.call(t, toolIO, `{"action":"read","session_id":%s,"mode":"tail","max_bytes":1000}`, id).text,
		)
	}
	c.enter(t, id, "write memory\r", `Configuration saved(?s:.*)# $`)
	c.close(t, id)
}

// TestTelnetWaysOverMCP reaches a server through a bastion, behind TLS, and where nothing is a Telnet server.
func TestTelnetWaysOverMCP(t *testing.T) {
	t.Parallel()
	bastion, s := startSSHD(t), startBusybox(t)
	secured := startTLS(t, s)
	sum := sha256.Sum256(secured.trust.certificate.Raw)
	pin := "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
	h := homeFor(t, []*sshd{bastion})
	c := h.connect(t)

	id, opened := c.openTelnet(
		t,
		s,
		fmt.Sprintf(`,"ssh_options":{"proxy_jump":"%s@127.0.0.1:%d"}`, bastion.user, bastion.port),
	)
	c.loginTelnet(t, s, id)
	if !strings.Contains(opened.SecurityWarning, "not encrypted") {
		t.Errorf("through a bastion: %s", opened.text)
	}
	st := c.call(t, toolSession, `{"action":"status","session_id":%s}`, id)
	if hops := st.Session.Ladder; len(hops) != 2 || hops[0].Port != bastion.port || hops[1].Port != s.port ||
		len(hops[1].Steps) < 2 {
		t.Errorf("the ladder through a bastion: %s", st.text)
	}
	c.close(t, id)

	r := c.refused(
		t,
		"HOSTKEY_UNKNOWN",
		toolSession,
		fmt.Sprintf(
			`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"telnet":{"tls":{"enabled":true}}}`,
			secured.port,
		),
	)
	if !strings.Contains(r.Message, "certificate") {
		t.Errorf("an unknown authority: %s", r.text)
	}
	id, opened = c.openTelnet(t, secured, fmt.Sprintf(`,"telnet":{"tls":{"enabled":true,"pin":%q}}`, pin))
	if opened.SecurityWarning != "" {
		t.Errorf("pinned: %s", opened.text)
	}
	c.loginTelnet(t, secured, id)
	c.close(t, id)
	trusting := homeFor(t, nil, "[telnet]", "tls_ca_file = '"+secured.trust.file+"'").connect(t)
	id, _ = trusting.openTelnet(t, secured, `,"telnet":{"tls":{"enabled":true}}`)
	trusting.close(t, id)

	// Mistakes.
	for arguments, code := range map[string]string{
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d}`, bastion.port):                                                      "CONNECT_FAILED",
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d}`, freePort(t)):                                                       "CONNECT_FAILED",
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"auth":{"password":"telnet-1138"}}`, s.port):                          "INVALID_ARGUMENT",
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"ssh_options":{"known_hosts_path":"/x"}}`, s.port):                    "INVALID_ARGUMENT",
		fmt.Sprintf(`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"telnet":{"enter":"cr"}}`, bastion.port):                                 "INVALID_ARGUMENT",
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"expect":{"profile":"no_such"}}`, s.port):                             "INVALID_ARGUMENT",
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"telnet":{"tls":{"pin":%q}}}`, secured.port, pin):                     "INVALID_ARGUMENT",
		fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"telnet":{"tls":{"enabled":true,"pin":"SHA256:abc"}}}`, secured.port): "INVALID_ARGUMENT",
	} {
		c.refused(t, code, toolSession, strings.ReplaceAll(arguments, "%", "%%"))
	}
}

// TestTelnetRawOverMCP speaks to a port that is no Telnet server's: every byte passes, and none is added.
func TestTelnetRawOverMCP(t *testing.T) {
	t.Parallel()
	s, _ := startRaw(t)
	c := homeFor(t, nil).connect(t)
	id, opened := c.openTelnet(t, s, "")
	if !opened.Telnet.Raw {
		t.Errorf("%s", opened.text)
	}
	all := make([]byte, 255) // IAC itself would be a command
	for i := range all {
		all[i] = byte(i)
	}
	text := base64.StdEncoding.EncodeToString(all)
	r := c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s,"encoding":"base64","until_idle_ms":500,"timeout_ms":20000}`,
		id,
		text,
	)
	if r.Chunk != text {
		t.Errorf("%s", r.text)
	}
	c.close(t, id)
}
