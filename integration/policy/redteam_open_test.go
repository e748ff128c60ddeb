package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// anyNameLine is a line of known_hosts for the server under whatever name.
func anyNameLine(s *lab.SSHD) string { return fmt.Sprintf("[*]:%d %s", s.Port, s.HostKey.Public()) }

// TestRedTeamCommandsOfTheConnection: nothing that steers a connection runs a command or a variable's value on the far
// side.
func TestRedTeamCommandsOfTheConnection(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{
		"allow": readers, "read-only host": `read_only_hosts = ["*"]`, "deny": `deny = ["canary*"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lab.StartSSHD(t, "AcceptEnv *", "LogLevel VERBOSE")
			h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]", rules)
			c := h.Connect(t)
			b := newCanary(t)
			config := filepath.Join(h.Dir, "caller_config")
			h.Write(t, config, "RemoteCommand "+b.path+"\n")
			var options []string
			for _, o := range []string{
				"RemoteCommand=CMD", "RemoteCommand CMD", "remotecommand=CMD", " RemoteCommand = CMD", `RemoteCommand="CMD"`, "SetEnv=PROMPT_COMMAND=CMD", "SetEnv PROMPT_COMMAND=CMD", `SetEnv="PROMPT_COMMAND=CMD"`,
				"SetEnv=LANG=C PROMPT_COMMAND=CMD", "SetEnv=BASH_ENV=CMD ENV=CMD", "SetEnv=PS1=$(CMD)", "SetEnv=LC_ALL=$(CMD)", "ProxyCommand=CMD", "LocalCommand=CMD", "KnownHostsCommand=CMD", "ProxyUseFdpass=yes",
			} {
				o = strings.ReplaceAll(o, "CMD", b.path)
				options = append(
					options,
					fmt.Sprintf(`{"extra_args":["-o",%q]}`, o),
					fmt.Sprintf(`{"extra_args":[%q]}`, "-o"+o),
					fmt.Sprintf(`{"extra_args":["-oPermitLocalCommand=yes","-o",%q]}`, o),
				)
			}
			options = append(
				options,
				fmt.Sprintf(`{"config_path":%q}`, config),
				fmt.Sprintf(`{"extra_args":["-F",%q]}`, config),
				fmt.Sprintf(`{"extra_args":["127.0.0.1",%q]}`, b.path),
			)
			for _, o := range options {
				for _, pty := range []string{"", `,"pty":{"enabled":false}`} {
					r, err := c.Try(
						t.Context(),
						lab.ToolSession,
						`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s,"ssh_options":`+strings.ReplaceAll(
							o,
							"%",
							"%%",
						)+pty+`}`,
						s.Port,
						s.User,
					)
					if err != nil {
						t.Fatal(err)
					}
					if r.SessionID == "" {
						continue
					}
					attempt(t,
						c.Tools,
						lab.ToolIO,
						`{"action":"read","session_id":%s,"cursor":"0","until_idle_ms":200,"timeout_ms":1000}`,
						r.SessionID,
					)
					if b.ran(t) {
						t.Errorf("ssh_options %s ran the canary: %.300s", o, r.Text)
					}
					attempt(t, c.Tools, lab.ToolSession, `{"action":"close","session_id":%s,"force":true}`, r.SessionID)
				}
			}
			for _, env := range []string{
				`["PROMPT_COMMAND=CMD"]`, `["BASH_ENV=CMD"]`, `["PS1=$(CMD)"]`, `["PS4=$(CMD)"]`, `["LD_PRELOAD=CMD"]`,
			} {
				env = strings.ReplaceAll(env, "CMD", b.path)
				text := attempt(t,
					c.Tools,
					lab.ToolSession,
					`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s,"env":`+env+`}`,
					s.Port,
					s.User,
				)
				if b.ran(t) {
					t.Errorf("env %s ran the canary: %.300s", env, text)
				}
			}
			b.stays(t, "later")
		})
	}
}

// TestRedTeamHosts: no way to write a host, or the way to it, leads to one that the rules do not name.
func TestRedTeamHosts(t *testing.T) {
	t.Parallel()
	forbidden, allowed := lab.StartSSHD(t), lab.StartSSHD(t)
	// The forbidden server is reached as localhost, the allowed one as 127.0.0.1.
	jump := func(spec string) string {
		return strings.NewReplacer("PORT", fmt.Sprint(forbidden.Port), "ALLOWED", fmt.Sprintf("127.0.0.1:%d", allowed.Port)).
			Replace(spec)
	}
	unresolved := []string{
		"a short address",
		"a number",
		"hexadecimal",
		"octal",
		"a jump with a dot",
		"a name with a dot",
	} // names that some resolvers take, for example inet_aton(3), and Go's may not
	for _, tt := range []struct{ name, rules, config, host, options string }{ // host and options are of the call
		{"two readers of one option", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"extra_args":["-o","ProxyJump localhost:PORT,u=x@ALLOWED"]}`},
		{"a blank before the sign", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"extra_args":["-o","ProxyJump =localhost:PORT"]}`},
		{"quotes", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"extra_args":["-o","ProxyJump=\"localhost:PORT\""]}`},
		{"small letters", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"extra_args":["-oproxyjump=localhost:PORT"]}`},
		{"a jump", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"proxy_jump":"localhost:PORT"}`},
		{"a jump, -J", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"extra_args":["-Jlocalhost:PORT"]}`},
		{"a jump by URI", `deny_hosts = ["localhost"]`, "", "127.0.0.1", `{"proxy_jump":"ssh://localhost:PORT/"}`},
		{"a jump by URI, no path", `deny_hosts = ["localhost"]`, "", "127.0.0.1", `{"proxy_jump":"ssh://localhost:PORT"}`},
		{"a jump in capitals", `deny_hosts = ["localhost"]`, "", "127.0.0.1", `{"proxy_jump":"LOCALHOST:PORT"}`},
		{"a jump with a dot", `deny_hosts = ["localhost"]`, "", "127.0.0.1", `{"proxy_jump":"localhost.:PORT"}`},
		{"HostName", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"extra_args":["-o","HostName=localhost","-p","PORT"]}`},
		{"HostName, a blank", `hosts = ["127.0.0.1"]`, "", "127.0.0.1", `{"extra_args":["-o","HostName localhost","-p","PORT"]}`},
		{"an address for a denied name", `deny_hosts = ["localhost"]`, "", "LOCALHOST", `{"extra_args":["-p","PORT"]}`},
		{"a name for a denied address", `deny_hosts = ["127.0.0.1"]`, "", "localhost", `{"extra_args":["-p","PORT"]}`},
		{"a short address", `deny_hosts = ["127.0.0.1"]`, "", "127.1", `{"extra_args":["-p","PORT"]}`},
		{"a number", `deny_hosts = ["127.0.0.1"]`, "", "2130706433", `{"extra_args":["-p","PORT"]}`},
		{"hexadecimal", `deny_hosts = ["127.0.0.1"]`, "", "0x7f000001", `{"extra_args":["-p","PORT"]}`},
		{"octal", `deny_hosts = ["127.0.0.1"]`, "", "0177.0.0.1", `{"extra_args":["-p","PORT"]}`},
		{"mapped", `deny_hosts = ["127.0.0.1"]`, "", "::ffff:127.0.0.1", `{"extra_args":["-p","PORT"]}`},
		{"a name with a dot", `deny_hosts = ["localhost"]`, "", "localhost.", `{"extra_args":["-p","PORT"]}`},
		{"an alias", `deny_hosts = ["127.0.0.1"]`, "Host other\n\tHostName 127.0.0.1\n", "other", `{"extra_args":["-p","PORT"]}`},
		{"without the configuration", `hosts = ["localhost"]`, "Host localhost\n\tHostName 127.0.0.2\n", "localhost", `{"use_openssh_config":false,"extra_args":["-p","PORT","-i","KEY"]}`},
		{"another configuration", `hosts = ["db"]`, "", "db", `{"config_path":"CONFIG"}`},
		{"another configuration, -F", `hosts = ["db"]`, "", "db", `{"extra_args":["-F","CONFIG"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			open := func(rules ...string) string {
				h := lab.HomeFor(t, []*lab.SSHD{forbidden, allowed}, rules...)
				h.Trust(t, anyNameLine(forbidden), anyNameLine(allowed))
				h.Write(
					t,
					h.SSHConfig,
					tt.config+"Host *\n\tIdentityAgent none\n\tIdentitiesOnly yes\n\tIdentityFile "+forbidden.Identity+
						"\n\tIdentityFile "+allowed.Identity+"\n",
				)
				other := filepath.Join(h.Dir, "other_config")
				h.Write(
					t,
					other,
					fmt.Sprintf(
						"HostName localhost\nPort %d\nIdentityAgent none\nIdentityFile %s\nUserKnownHostsFile %s\n",
						forbidden.Port,
						forbidden.Identity,
						h.KnownHosts,
					),
				)
				options := strings.NewReplacer("CONFIG", other, "KEY", forbidden.Identity).Replace(jump(tt.options))
				port := fmt.Sprintf(`"port":%d,`, allowed.Port)
				switch {
				case strings.Contains(options, `"-p"`):
					port = fmt.Sprintf(`"port":%d,`, forbidden.Port)
				case strings.Contains(tt.options, "CONFIG"): // the configuration names the port
					port = ""
				}
				return attempt(
					t,
					h.Connect(t).Tools,
					lab.ToolSession,
					`{"action":"open","protocol":"ssh","host":%s,`+port+`"username":%s,"ssh_options":`+options+`}`,
					tt.host,
					forbidden.User,
				)
			}
			logins := func() int { return strings.Count(forbidden.Log.String(), "Accepted publickey") }
			before := logins()
			rule, _, _ := strings.Cut(tt.rules, " ")
			if text := open("[policy]", tt.rules); !strings.Contains(text, "POLICY_DENIED") ||
				!strings.Contains(text, "policy."+rule) {
				t.Errorf("%s with ssh_options %s is not denied by %s: %.500s", tt.host, tt.options, rule, text)
			}
			if logins() > before {
				t.Errorf("%s with ssh_options %s logged in at the forbidden host", tt.host, tt.options)
			}
			// Without rules the same call gets there, or it would say nothing.
			text := open()
			if slices.Contains(unresolved, tt.name) && strings.Contains(text, "CONNECT_FAILED") {
				t.Logf(
					"this row cannot be reached: ptyctl's resolver on this machine does not take its spelling of the host: %.200s",
					text,
				)
				return
			}
			// The server's log comes beside the answer.
			lab.Eventually(t, fmt.Sprintf("without rules %s with ssh_options %s logs in: %.500s", tt.host, tt.options, text),
				func() bool { return logins() > before })
		})
	}
}

// TestRedTeamHostKeys checks that under a floor no argument makes ptyctl trust a host key that contradicts the
// operator's record or is missing there.
func TestRedTeamHostKeys(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t, "LogLevel VERBOSE")
	other := lab.NewKey(t, "ed25519")
	for floor, records := range map[string]map[string]bool{ // whether a pin admits the host
		"strict":     {"another key": false, "no key": false, "revoked": false},
		"ask":        {"another key": false, "no key": false, "revoked": false},
		"accept_new": {"another key": false, "no key": true, "revoked": false},
	} {
		for record, admits := range records {
			t.Run(floor+", "+record, func(t *testing.T) {
				h := lab.NewHome(t, fmt.Sprintf("host_key_floor = %q", floor))
				switch record {
				case "another key":
					h.Trust(t, lab.KnownHostsLine(s.Port, other))
				case "revoked":
					h.Trust(t, "@revoked * "+s.HostKey.Public())
				}
				h.Write(t, h.SSHConfig, "IdentityAgent none\nIdentitiesOnly yes\nIdentityFile "+s.Identity+"\n")
				own := filepath.Join(h.Dir, "own_known_hosts")
				h.Write(t, own, s.KnownHosts()+"\n")
				config := filepath.Join(h.Dir, "own_config")
				h.Write(t, config, "UserKnownHostsFile "+own+"\nIdentityFile "+s.Identity+"\n")
				c := h.Connect(t)
				logins := func() int { return strings.Count(s.Log.String(), "Accepted publickey") }
				before := logins()
				if admits {
					open := `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s,"ssh_options":{"host_key_fingerprint":%s}}`
					c.Refused(t, "HOSTKEY_MISMATCH", lab.ToolSession, open, s.Port, s.User, other.Fingerprint())
					text := attempt(t, c.Tools, lab.ToolSession, open, s.Port, s.User, s.HostKey.Fingerprint())
					if !strings.Contains(text, `"state":"open"`) {
						t.Fatalf("the host's own fingerprint does not admit it: %.300s", text)
					}
					lab.Eventually(t, "the login", func() bool { return logins() > before })
					if n := logins() - before; n != 1 {
						t.Errorf("%d logins, want one", n)
					}
					return
				}
				for _, options := range []string{
					`{}`, fmt.Sprintf(`{"host_key_fingerprint":%q}`, s.HostKey.Fingerprint()), fmt.Sprintf(`{"known_hosts_path":%q}`, own), fmt.Sprintf(`{"extra_args":["-o","UserKnownHostsFile=%s"]}`, own),
					fmt.Sprintf(
						`{"extra_args":["-o","GlobalKnownHostsFile=%s"]}`, own,
					), fmt.Sprintf(`{"config_path":%q}`, config),
					fmt.Sprintf(`{"extra_args":["-F",%q]}`, config), `{"extra_args":["-o","StrictHostKeyChecking=no"]}`,
					`{"host_key_policy":"disabled"}`, `{"extra_args":["-o","HostKeyAlias=elsewhere","-o","StrictHostKeyChecking=accept-new"]}`, `{"extra_args":["-o","NoHostAuthenticationForLocalhost=yes"]}`, `{"extra_args":["-o","RevokedHostKeys=/dev/null"]}`, `{"extra_args":["-o","UserKnownHostsFile=/dev/null"]}`,
					fmt.Sprintf(`{"host_key_fingerprint":%q,"known_hosts_path":%q}`, s.HostKey.Fingerprint(), own),
				} {
					if floor == "accept_new" && strings.Contains(options, "HostKeyAlias") {
						continue
					}
					text := attempt(t,
						c.Tools,
						lab.ToolSession,
						`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":%s,"ssh_options":`+options+`}`,
						s.Port,
						s.User,
					)
					if after := logins(); after > before {
						before = after
						t.Errorf("ssh_options %s made the host trusted: %.300s", options, text)
					}
				}
				if text, err := os.ReadFile(h.KnownHosts); err != nil ||
					strings.Count(string(text), s.HostKey.Public()) > map[bool]int{true: 1}[record == "revoked"] {
					t.Errorf("the key was recorded: %v %s", err, text)
				}
			})
		}
	}
}
