package config

import (
	"fmt"
	"strings"
	"testing"
)

// lines returns problems or warnings, each as "Where: Message".
func lines[T Problem | Warning](list []T) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// TestAllAtOnce makes every kind of mistake in one file and two more layers.
func TestAllAtOnce(t *testing.T) {
	const file = `max_sessions = 5
[session]
max_session = 5
  max_sessions = "100"
read_timeout_ms = -1
colour = "red"
idle_timeout_ms = 1.5
output_buffer_max_bytes = 99999999999999999999
[sesion]
everything = "in here is skipped"
[ssh]
host_key_policy = "off"
level = "debug"
caller_paths = ["/a", 'b']
known_hosts_path = true
[[locks]]
default_ttl_ms = 1
[server.transport]
x = 1
`
	const want = `1:1: there is no key max_sessions; did you mean session.max_sessions?
3:1: there is no key session.max_session; did you mean session.max_sessions?
4:18: session.max_sessions is a string; give a whole number from 1 to 10000, without quotes
5:19: session.read_timeout_ms is "-1"; give a whole number of milliseconds from 0 to 2592000000
6:1: there is no key session.colour; remove it, or use a key of [session]: max_sessions, idle_timeout_ms, auto_idle_ms, max_age_ms, orphan_ttl_ms, closed_retention_ms, output_buffer_max_bytes, output_buffer_max_lines, connect_timeout_ms, read_timeout_ms, default_exec_timeout_ms, unattended_exec_timeout_ms, write_timeout_ms, quiet_line_ms, format, answer, record_tx_events
7:19: session.idle_timeout_ms is a float; give a whole number of milliseconds from 0 to 2592000000
8:27: session.output_buffer_max_bytes is "99999999999999999999"; give a whole number from 4096 to 1073741824
9:2: there is no table [sesion]; did you mean [session]?
12:19: ssh.host_key_policy is "off"; give one of strict, ask, accept_new, disabled
13:1: there is no key ssh.level; did you mean logging.level?
14:16: ssh.caller_paths holds "b"; give an absolute path or one that begins with ~/
15:20: ssh.known_hosts_path is a boolean; give an absolute path or one that begins with ~/, or leave it empty, in quotes
16:3: [[locks]] would be a list of tables; write [locks]
18:2: server.transport is a table; give one of stdio, http, both
PTYCTL_LIMITS_MAX_WAIT_MS: limits.max_wait_ms is "1s"; give a whole number of milliseconds from 1 to 2592000000
--log-level: logging.level is "loud"; give one of debug, info, warn, error
--ssh: there is no such key; remove it, or put it in one of the tables server, server.http, server.http.oauth, server.control, server.apps, session, limits, ssh, telnet, serial, local, fs, forward, fleet, auth, locks, audit, record, notify, policy, toolsets.pty, toolsets.r2, daemon, cluster, logging
`
	_, _, problems := load(
		t,
		file,
		[]string{"PTYCTL_LIMITS_MAX_WAIT_MS=1s"},
		map[string]string{"logging.level": "loud", "ssh": "x"},
	)
	if got := lines(problems); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestOneProblem(t *testing.T) {
	tests := []struct {
		name, file string
		env        string
		want       string
	}{
		{"syntax", "[session]\nmax_sessions = \n", "", `2:16: this is not valid TOML (unexpected character U+000A at start of value); correct the line`},
		{"missing quotes", "[logging]\nlevel = debug\n", "", `2:9: this is not valid TOML (unexpected character U+0064 'd' at start of value); correct the line`},
		{"defined twice", "[locks]\nallow_force = true\nallow_force = false", "", `3:1: this is not valid TOML (key allow_force is already defined); correct the line`},
		{"table twice", "[locks]\n[locks]", "", `2:2: this is not valid TOML (table locks already exists); correct the line`},
		{"not UTF-8", "[ssh]\nidentity_agent = \"\xff\"", "", `2:19: this is not valid TOML (invalid UTF-8 character in basic string); correct the line`},
		{"port", "[server.http]\nlisten = \"127.0.0.1\"", "", `2:10: server.http.listen is "127.0.0.1"; give HOST:PORT, such as 127.0.0.1:8765 or [::1]:8765`},
		{"token", "[server.http]\ntokens = \"ci:read:123456789abcdef\"", "", `2:10: server.http.tokens holds a token (number 1) that has fewer than 16 characters; give NAME:ROLE:VALUE or NAME:ROLE:sha256:HEX[:EXPIRES], where the role is read or write, or of a person watch or operate (` + "`ptyctl tokens add NAME`" + ` makes one)`},
		{"token of an old file", "[server]\ntransport = \"http\"\n[server.http]\nauth_token = \"hunter2\"", "", `4:14: server.http.auth_token has fewer than 16 characters; use a random value (openssl rand -hex 32 prints one)`},
		{"token that is no header", "", "PTYCTL_SERVER_HTTP_AUTH_TOKEN=hunter 2", `PTYCTL_SERVER_HTTP_AUTH_TOKEN: server.http.auth_token has characters that a header cannot carry; use letters and digits (openssl rand -hex 32 prints some)`},
		{"isolate without tokens", "[server]\ntransport = \"both\"\n[server.http]\nisolate = true", "", `4:11: server.http.isolate keeps tokens apart, but there are none; set server.http.tokens_file, or leave isolate out`},
		{"certificate without key", "[server]\ntransport = \"http\"\n[server.http]\ntls_cert_file = \"/c.pem\"", "", `4:17: TLS needs both server.http.tls_cert_file and server.http.tls_key_file; set both, or neither`},
		{"two certificates", "[server]\ntransport = \"http\"\nhttp = {tls_cert_file = \"/c.pem\", tls_key_file = \"/k.pem\", tls_self_signed = true}", "", `3:78: server.http.tls_self_signed and server.http.tls_cert_file exclude each other; leave one of them out`},
		{"words", "[server]\ntoolsets = [\"core tools\"]", "", `2:12: server.toolsets holds "core tools"; give a list of words without spaces`},
		{"table for a scalar", "session = 3", "", `1:1: session is an integer, but it is a table; write [session] on a line of its own and its keys below`},
		{"inline table", "session = {max_sessions = 'x'}", "", `1:27: session.max_sessions is a string; give a whole number from 1 to 10000, without quotes`},
		{"scalar for a list", "ssh.caller_paths = '/a'", "", `1:20: ssh.caller_paths is a string; give a list of absolute paths, or of paths that begin with ~/`},
		{"list in a list", "ssh.caller_paths = ['/a', ['/b']]", "", `1:20: ssh.caller_paths holds an array; give a list of absolute paths, or of paths that begin with ~/`},
		{"number in a list", "ssh.caller_paths = ['/a',\n  5]", "", `2:3: ssh.caller_paths holds an integer; give a list of absolute paths, or of paths that begin with ~/`},
		{"list for a scalar", "locks.allow_force\t=\t[true]", "", `1:21: locks.allow_force is an array; give true or false`},
		{"dots in quotes", `"session.max_sessions" = 5`, "", `1:1: there is no key "session.max_sessions"; did you mean session.max_sessions?`},
		{"control character in a name", `session."a\u001b[2J" = 5`, "", `1:1: there is no key session."a\x1b[2J"; remove it, or use a key of [session]: `},
		{"case", "[session]\nMax_Sessions = 5", "", `2:1: there is no key session.Max_Sessions; did you mean session.max_sessions?`},
		{"byte order mark and CRLF", "\ufeff[session]\r\nmax_sessions = 0\r\n", "", `2:16: session.max_sessions is "0"; give a whole number from 1 to 10000`},
		{"only decimal outside of TOML", "", "PTYCTL_SESSION_MAX_SESSIONS=0x10", `PTYCTL_SESSION_MAX_SESSIONS: session.max_sessions is "0x10"; give a whole number from 1 to 10000`},
		{"bad boolean", "", "PTYCTL_LOCKS_ALLOW_FORCE=yes", `PTYCTL_LOCKS_ALLOW_FORCE: locks.allow_force is "yes"; give true or false`},
		{"relative path", "ssh.config_path = 'config'", "", `1:19: ssh.config_path is "config"; give an absolute path or one that begins with ~/`},
		{"home of another", "ssh.config_path = '~bob/config'", "", `1:19: ssh.config_path is "~bob/config"; give an absolute path`},
		{"NUL in a path", `ssh.config_path = "/a\u0000b"`, "", `1:19: ssh.config_path is "/a\x00b"; give an absolute path`},
		{"NUL in a string", `ssh.identity_agent = "a\u0000b"`, "", `1:22: ssh.identity_agent is "a\x00b"; give a string without control characters`},
		{"control character in a path", `ssh.config_path = "~/a\nb"`, "", `1:19: ssh.config_path is "~/a\nb"; give an absolute path`},
		{"a date", "locks.max_ttl_ms = 1979-05-27", "", `1:20: locks.max_ttl_ms is a date or time; give`},
		{"a table for a value", "locks.max_ttl_ms = {a = 1}", "", `1:20: locks.max_ttl_ms is a table; give`},
		{"table unlike any", "[completely-different]", "", `1:2: there is no table [completely-different]; remove it; the tables are server, server.http, server.http.oauth, server.control, server.apps, session, limits, ssh, telnet, serial, local, fs, forward, fleet, auth, locks, audit, record, notify, policy, toolsets.pty, toolsets.r2, daemon, cluster, logging`},
		{"endless name", "[" + strings.Repeat("a.", 1000) + "a]", "", `1:2: there is no table [a.a.`},
		{"no assignment", "telnet.environment = ['LANG']", "", `1:22: telnet.environment holds "LANG"; give a list of NAME=value`},
		{"empty folder", "ssh.caller_paths = ['']", "", `1:20: ssh.caller_paths holds ""; give an absolute path`},
		{"log to stdout", "logging.file = 'stdout'", "", `1:16: logging.file is "stdout", but stdout carries the MCP messages; give an absolute path, or leave it empty to use stderr`},
		{"log to stdout by device", "logging.file = '/dev//stdout'", "", `1:16: logging.file is "/dev//stdout", but stdout carries`},
		{"log to stdout by descriptor", "logging.file = '/proc/self/fd/1'", "", `1:16: logging.file is "/proc/self/fd/1", but stdout carries`},
		{"log to stderr", "logging.file = 'stderr'", "", `1:16: logging.file is "stderr"; leave it empty for stderr`},
		{"long value", "logging.level = '" + strings.Repeat("ä", 100) + "'", "", `1:17: logging.level is "` + strings.Repeat("ä", 60) + `…"; give one of`},

		{"server of another kind", "cluster.servers = ['http://a']", "", `1:19: cluster.servers holds "http://a"; give a list of URLs, such as nats://nats1:4222 or tls://nats1:4222`},
		{"server without a scheme", "cluster.servers = ['nats1:4222']", "", `1:19: cluster.servers holds "nats1:4222"; give a list of URLs`},
		{"server with a path", "cluster.servers = ['nats://a:1/b']", "", `1:19: cluster.servers holds "nats://a:1/b"; give a list of URLs`},
		{"server with a password", "", "PTYCTL_CLUSTER_SERVERS=nats://a:4222,nats://me:hunter2@b:4222", `PTYCTL_CLUSTER_SERVERS: cluster.servers holds a user or a password, which would be shown; name a file of NATS credentials in cluster.credentials_file`},
		{"wrong server with a password", "cluster.servers = ['nats://me:hun%ter2@b']", "", `1:19: cluster.servers holds a user or a password, which would be shown; name`},
		{"node with a dot", "[cluster]\nservers = ['nats://a']\nnode = 'a.b'", "", `3:8: cluster.node is "a.b"; give up to 32 letters, digits and dashes, of which the first is no dash`},
		{"node that begins with a dash", "[cluster]\nservers = ['nats://a']\nnode = '-a'", "", `3:8: cluster.node is "-a"; give up to 32`},
		{"node that is too long", "[cluster]\nservers = ['nats://a']\nnode = '" + strings.Repeat("n", 33) + "'", "", `3:8: cluster.node is "nnn`},
		{"group with a dot", "[cluster]\nservers = ['nats://a']\ngroup = 'a.b'", "", `3:9: cluster.group is "a.b"; give up to 32 letters, digits, dashes and underscores`},
		{"no group", "", "PTYCTL_CLUSTER_GROUP= ", `PTYCTL_CLUSTER_GROUP: cluster.group is " "; give up to 32`},
		{"no label", "[cluster]\nservers = ['nats://a']\nlabels = ['fra']", "", `3:10: cluster.labels holds "fra"; give a list of NAME=value, each of up to 63 letters, digits, dots, dashes and underscores, such as site=fra`},
		{"a label twice", "[cluster]\nservers = ['nats://a']\nlabels = ['site=fra', 'site=ber']", "", `3:10: cluster.labels holds two values of "site"; give one`},
		{"a lease that is too short", "[cluster]\nservers = ['nats://a']\nlease_ttl_ms = 1999", "", `3:16: cluster.lease_ttl_ms is "1999"; give a whole number of milliseconds from 2000 to 3600000`},
		{"a node of no cluster", "[cluster]\nnode = 'a'", "", `2:8: cluster.node is set, but no cluster.servers: no cluster is joined; set it, or leave cluster.node out`},
		{"a node's key without a certificate", "[cluster]\nservers = ['nats://a']\ntls_key_file = '/k.pem'", "", `3:16: a certificate of this node needs both cluster.tls_cert_file and cluster.tls_key_file; set both, or neither`},

		{"policy below the floor", "[ssh]\nhost_key_policy = 'disabled'", "", `2:19: ssh.host_key_policy "disabled" is weaker than ssh.host_key_floor "accept_new"; choose a stronger policy, or lower the floor`},
		{"floor above the policy", "[ssh]\nhost_key_policy = 'accept_new'", "PTYCTL_SSH_HOST_KEY_FLOOR=ask", `2:19: ssh.host_key_policy "accept_new" is weaker than ssh.host_key_floor "ask"`},
		{"connect timeout above its maximum", "", "PTYCTL_SESSION_CONNECT_TIMEOUT_MS=120001", `PTYCTL_SESSION_CONNECT_TIMEOUT_MS: session.connect_timeout_ms 120001 is more than limits.max_connect_timeout_ms 120000; lower the first or raise the second`},
		{"maximum below the default wait", "limits.max_wait_ms = 1999", "", `1:22: session.read_timeout_ms 2000 is more than limits.max_wait_ms 1999; `},
		{"lock lifetime above its maximum", "[locks]\ndefault_ttl_ms = 1000\nmax_ttl_ms = 999", "", `2:18: locks.default_ttl_ms 1000 is more than locks.max_ttl_ms 999; `},
		{"no comparison with a refused value", "[ssh]\nhost_key_policy = 'disabled'\nhost_key_floor = 'none'", "", `3:18: ssh.host_key_floor is "none"; give one of`},
		{"no comparison if a key may be missing", "[ssh]\nhost_key_policy = 'disabled'\nhost_key_flor = 'disabled'", "", `3:1: there is no key ssh.host_key_flor; did you mean ssh.host_key_floor?`},
		{"no comparison if a table was skipped", "[[ssh]]\nhost_key_floor = 'disabled'", "PTYCTL_SSH_HOST_KEY_POLICY=disabled", `1:3: [[ssh]] would be a list of tables; write [ssh]`},
		{"no comparison after a syntax error", "[ssh]\nhost_key_policy = 'disabled'\nhost_key_floor = disabled", "", `3:18: this is not valid TOML (`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, problems := load(t, tt.file, []string{tt.env}, nil)
			if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), tt.want) {
				t.Errorf("got:\n%swant one problem:\n%s", lines(problems), tt.want)
			}
		})
	}
}

func TestNoHome(t *testing.T) {
	_, _, err := Load(Source{Env: []string{"PTYCTL_LOGGING_FILE=~/log"}})
	const want = `PTYCTL_LOGGING_FILE: logging.file is "~/log"; the home folder is unknown, so give an absolute path`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFloorLowered(t *testing.T) {
	c, _, problems := load(t, "[ssh]\nhost_key_policy = 'disabled'\nhost_key_floor = 'disabled'", nil, nil)
	if problems != nil || c.SSH.HostKeyPolicy != HostKeyDisabled {
		t.Errorf("policy %q, problems %v", c.SSH.HostKeyPolicy, problems)
	}
}

func TestWeakerThan(t *testing.T) {
	order := []HostKeyPolicy{HostKeyStrict, HostKeyAsk, HostKeyAcceptNew, HostKeyDisabled, "nonsense"}
	for i, p := range order {
		for j, floor := range order {
			if got, want := p.WeakerThan(floor), i > j; got != want {
				t.Errorf("%q.WeakerThan(%q) = %v", p, floor, got)
			}
		}
	}
}

func TestTooManyProblems(t *testing.T) {
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, "a%d=1\n", i)
	}
	inline := "session = {" + strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", ",") + "}"
	for _, file := range []string{b.String(), inline} {
		_, _, problems := load(t, file, nil, nil)
		if len(problems) != maxFileProblems+1 || !strings.Contains(problems[maxFileProblems].Message, "after 100 problems") {
			t.Errorf("%d problems, the last %v", len(problems), problems[len(problems)-1])
		}
	}
}

func TestWarnings(t *testing.T) {
	const want = `1:11: telnet.telnet_path has no effect, because ptyctl starts no telnet program; remove it
2:1: ssh.openssh_path has no effect, because ptyctl speaks SSH itself and starts no ssh program; remove it
"PTYCTL_\x1b[2J": has no effect, because no key has this variable; remove it
PTYCTL_LOG_FILE: has no effect, because no key has this variable; did you mean PTYCTL_LOGGING_FILE?
PTYCTL_LOG_LEVL: has no effect, because no key has this variable; did you mean PTYCTL_LOG_LEVEL?
PTYCTL_SERVER_TRANSPORT: has no effect, because no key has this variable; did you mean PTYCTL_TRANSPORT?
PTYCTL_SSH_OPENSSH_PATH: has no effect, because ptyctl speaks SSH itself and starts no ssh program; remove it
PTYCTL_WHATEVER_ELSE_THIS_IS: has no effect, because no key has this variable; remove it
`
	env := []string{
		"PTYCTL_LOG_LEVL=hunter2-1138", "PTYCTL_SERVER_TRANSPORT=http", "PTYCTL_SSH_OPENSSH_PATH=/usr/bin/ssh", "PTYCTL_EMPTY=",
		"PTYCTL_CONTROL_SOCKET=/x", "PTYCTL_LOG_FILE=/x", "PTYCTL_WHATEVER_ELSE_THIS_IS=1", "PTYCTL_\x1b[2J=1", "PTYCTLX=1", "ptyctl_x=1",
	}
	_, warnings, problems := load(t, "telnet = {telnet_path = 5}\nssh.openssh_path = 'ssh'\n", env, nil)
	if problems != nil {
		t.Errorf("problems %v", problems)
	}
	for i, w := range warnings {
		if _, place, ok := strings.Cut(w.Where, "ptyctl.toml:"); ok {
			warnings[i].Where = place
		}
	}
	if got := lines(warnings); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
