package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
)

// plannedHome is a home with two servers on one address, which the operator's ssh_config calls prod and other.
func plannedHome(tb testing.TB, lines ...string) (h *lab.Home, prod, other *lab.SSHD) {
	tb.Helper()
	prod, other = lab.StartSSHD(tb), lab.StartSSHD(tb)
	h = lab.HomeFor(tb, []*lab.SSHD{prod, other}, append([]string{"[policy]"}, lines...)...)
	config, err := os.ReadFile(h.SSHConfig)
	if err != nil {
		tb.Fatal(err)
	}
	aliases := fmt.Sprintf(
		"Host prod\n HostName 127.0.0.1\n Port %d\n User %s\nHost other\n HostName 127.0.0.1\n Port %d\n User %s\n",
		prod.Port,
		prod.User,
		other.Port,
		other.User,
	)
	h.Write(tb, h.SSHConfig, string(config)+aliases)
	for _, s := range []*lab.SSHD{prod, other} { // by whatever name, the key is on record
		h.Trust(tb, fmt.Sprintf("[localhost]:%d,[::1]:%[1]d %s", s.Port, s.HostKey.Public()))
	}
	return h, prod, other
}

// TestPlannedHosts checks that rules for hosts judge a connection's real destinations, however the caller has written
// them, and that a refused connection logs in nowhere.
func TestPlannedHosts(t *testing.T) {
	for name, tt := range map[string]struct {
		rules  []string
		open   string // members of the call; %p and %o are the ports of the servers, %c a file of the caller's, %u the user
		denied string // the rule; empty: it opens
	}{
		"alias":                  {[]string{`hosts = ["prod"]`}, `"host":"prod"`, ""},
		"address of an alias":    {[]string{`hosts = ["127.0.0.1"]`}, `"host":"prod"`, ""},
		"own pattern":            {[]string{`hosts = ["127.0.0.*"]`}, `"host":"127.0.0.1","port":%o`, ""},
		"two hops":               {[]string{`hosts = ["prod", "other"]`}, `"host":"prod","ssh_options":{"proxy_jump":"%u@other"}`, ""},
		"two readers of a line":  {[]string{`hosts = ["127.0.0.1"]`}, `"host":"127.0.0.1","port":%p,"ssh_options":{"extra_args":["-o","ProxyJump localhost:%o,u=x@127.0.0.1:%o"]}`, "policy.hosts"},
		"URL as a jump":          {[]string{`hosts = ["127.0.0.1"]`}, `"host":"127.0.0.1","port":%p,"ssh_options":{"extra_args":["-J","ssh://%u@localhost:%o/"]}`, "policy.hosts"},
		"brackets":               {[]string{`hosts = ["127.0.0.1"]`}, `"host":"127.0.0.1","port":%p,"ssh_options":{"proxy_jump":"[localhost]:%o"}`, "policy.hosts"},
		"second jump":            {[]string{`hosts = ["prod", "127.0.0.1"]`}, `"host":"prod","ssh_options":{"proxy_jump":"127.0.0.1:%o,localhost:%o"}`, "policy.hosts"},
		"keyword in capitals":    {[]string{`hosts = ["127.0.0.1"]`}, `"host":"127.0.0.1","port":%p,"ssh_options":{"extra_args":["-4oPROXYJUMP=localhost:%o"]}`, "policy.hosts"},
		"ProxyCommand as a jump": {[]string{`hosts = ["127.0.0.1"]`}, `"host":"127.0.0.1","port":%p,"ssh_options":{"extra_args":["-o","ProxyCommand ssh -W %h:%p -p %o localhost"]}`, "policy.hosts"},
		"proxy":                  {[]string{`hosts = ["127.0.0.1"]`}, `"host":"127.0.0.1","port":%p,"ssh_options":{"proxy_url":"socks5://localhost:%o"}`, "policy.hosts"},
		"without ssh_config":     {[]string{`hosts = ["prod"]`}, `"host":"prod","ssh_options":{"use_openssh_config":false}`, "policy.hosts"},
		"another port":           {[]string{`hosts = ["prod"]`}, `"host":"prod","port":%o`, "policy.hosts"},
		"-o HostName":            {[]string{`hosts = ["prod"]`}, `"host":"prod","ssh_options":{"extra_args":["-o","HostName=localhost"]}`, "policy.hosts"},
		"config_path":            {[]string{`hosts = ["prod"]`}, `"host":"prod","ssh_options":{"config_path":"%c"}`, "policy.hosts"},
		"-F":                     {[]string{`hosts = ["prod"]`}, `"host":"prod","ssh_options":{"extra_args":["-F","%c"]}`, "policy.hosts"},
		"address for the name":   {[]string{`hosts = ["prod"]`}, `"host":"127.0.0.1","port":%p`, "policy.hosts"},
		"denied by its address":  {[]string{`deny_hosts = ["127.0.0.1"]`}, `"host":"localhost","port":%p`, "policy.deny_hosts"},
		"denied by its name":     {[]string{`deny_hosts = ["localhost"]`}, `"host":"127.0.0.1","port":%p`, "policy.deny_hosts"},
		"denied alias":           {[]string{`deny_hosts = ["prod"]`}, `"host":"127.0.0.1","port":%p`, "policy.deny_hosts"},
		"its neighbour":          {[]string{`deny_hosts = ["prod"]`}, `"host":"127.0.0.1","port":%o`, ""},
		"denied jump":            {[]string{`deny_hosts = ["prod"]`}, `"host":"other","ssh_options":{"proxy_jump":"ssh://prod/"}`, "policy.deny_hosts"},
		"denied, mapped":         {[]string{`deny_hosts = ["127.0.0.1"]`}, `"host":"::ffff:127.0.0.1","port":%p`, "policy.deny_hosts"},
		"denied, unspecified":    {[]string{`deny_hosts = ["127.0.0.1"]`}, `"host":"0.0.0.0","port":%p`, "policy.deny_hosts"},
		"denied behind a jump":   {[]string{`deny_hosts = ["127.0.0.2"]`}, `"host":"2130706434","port":%p,"ssh_options":{"proxy_jump":"other"}`, "policy.deny_hosts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, prod, other := plannedHome(t, tt.rules...)
			callers := filepath.Join(h.Dir, "callers_config")
			h.Write(t, callers, fmt.Sprintf("Host prod\n HostName localhost\n Port %d\n", other.Port))
			c := h.Connect(t)
			members := strings.NewReplacer(
				"%h:%p",
				"%h:%p",
				"%p",
				fmt.Sprint(prod.Port),
				"%o",
				fmt.Sprint(other.Port),
				"%c",
				callers,
				"%u",
				prod.User,
			).
				Replace(
					tt.open,
				)
			call := strings.ReplaceAll(`{"action":"open","protocol":"ssh",`+members+`}`, "%h:%p", "%%h:%%p")
			if !strings.Contains(call, `"host":"prod"`) && !strings.Contains(call, `"host":"other"`) {
				call = strings.Replace(call, `"protocol":"ssh",`, `"protocol":"ssh","username":"`+prod.User+`",`, 1)
			}
			if tt.denied == "" {
				c.Close(t, c.Call(t, lab.ToolSession, call).SessionID)
				return
			}
			c.DeniedBy(t, tt.denied, lab.ToolSession, call)
			for _, s := range []*lab.SSHD{prod, other} {
				if log := s.Log.String(); strings.Contains(log, "Accepted") {
					t.Errorf("the server has a login, want none:\n%s", log)
				}
			}
			c.Finish()
			refused := false
			for _, n := range lab.AuditLines(t, h.Audit, "plan") {
				refused = refused || n.Outcome == "POLICY_DENIED" && n.Refused && n.Plan != ""
			}
			if !refused {
				t.Error("the refused plan is not on record")
			}
		})
	}
}

// TestPlannedSessions checks that the rules for actions on a host hold under every name or address that opened the
// session.
func TestPlannedSessions(t *testing.T) {
	for name, tt := range map[string]struct{ rule, host string }{
		"alias":         {`read_only_hosts = ["127.0.0.1"]`, `"host":"prod"`},
		"its address":   {`read_only_hosts = ["prod"]`, `"host":"127.0.0.1","port":%d,"username":%q`},
		"resolved name": {`read_only_hosts = ["127.0.0.1"]`, `"host":"localhost","port":%d,"username":%q`},
		"behind a jump": {`read_only_hosts = ["prod"]`, `"host":"127.0.0.1","port":%d,"username":%q,"ssh_options":{"proxy_jump":"other"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, prod, _ := plannedHome(t, tt.rule)
			c := h.Connect(t)
			members := tt.host
			if strings.Contains(members, "%") {
				members = fmt.Sprintf(members, prod.Port, prod.User)
			}
			id := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"ssh",`+members+`}`).SessionID
			c.DeniedBy(t, "policy.read_only_hosts", lab.ToolExec, `{"session_id":%s,"cmd":"true"}`, id)
			c.DeniedBy(t, "policy.read_only_hosts", lab.ToolIO, `{"action":"write","session_id":%s,"data":"true\r"}`, id)
			c.Close(t, id)
		})
	}
}

// TestSteeringByCaller checks that a caller can neither run a command through the connection's options nor send a
// variable that chooses one, and that commands of the operator's own configuration are on record.
func TestSteeringByCaller(t *testing.T) {
	s := lab.StartSSHD(t, "AcceptEnv *")
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]", `read_only_hosts = ["127.0.0.1"]`)
	marker, file := filepath.Join(s.Dir, "marker"), filepath.Join(h.Dir, "callers_config")
	c := h.Connect(t)
	open := fmt.Sprintf(`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":%q`, s.Port, s.User)
	for _, option := range []string{
		"RemoteCommand=touch " + marker, "remotecommand touch " + marker, "SetEnv=PROMPT_COMMAND=touch${IFS}" + marker, "setenv LANG=C ENV=" + marker, "SendEnv=PATH", "SendEnv *",
	} {
		h.Write(t, file, "IdentityFile "+s.Identity+"\nHost *\n "+option+"\n")
		for _, options := range []string{`{"extra_args":["-o",%s]}`, `{"config_path":%s}`, `{"extra_args":["-F",%s]}`} {
			value := file
			if strings.Contains(options, "-o") {
				value = option
			}
			r := c.Refused(t, "POLICY_DENIED", lab.ToolSession, open+`,"ssh_options":`+options+`}`, value)
			if !strings.Contains(r.Message, "is refused") {
				t.Errorf("%s: %s", option, r.Text)
			}
		}
	}
	if log := s.Log.String(); strings.Contains(log, "Accepted") {
		t.Errorf("the server has a login, want none:\n%s", log)
	}
	c.Close(
		t,
		c.Call(t, lab.ToolSession, open+`,"ssh_options":{"extra_args":["-o","SetEnv=LC_ALL=C","-oSendEnv=LANG"]}}`).SessionID,
	)
	c.Finish()
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command ran")
	}

	config, err := os.ReadFile(h.SSHConfig)
	if err != nil {
		t.Fatal(err)
	}
	h.Write(t, h.SSHConfig, string(config)+"RemoteCommand echo menu; exec sh\nSetEnv TOKEN=token-1138\n")
	h.Secrets = append(h.Secrets, lab.PrivateKeyLine("token-1138"))
	c = h.Connect(t)
	c.Close(t, c.Call(t, lab.ToolSession, open+`}`).SessionID)
	c.Finish()
	lines := lab.AuditLines(t, h.Audit, "plan")
	last := lines[len(lines)-1]
	for _, want := range []string{
		fmt.Sprintf("%s@127.0.0.1:%d", s.User, s.Port), "host key", "key " + s.Identity, "env TOKEN", "a remote command",
	} {
		if !strings.Contains(last.Plan, want) {
			t.Errorf("the plan on record, %q, lacks %q", last.Plan, want)
		}
	}
	if last.Command != "echo menu; exec sh" || last.Outcome != "ok" {
		t.Errorf("on record is %+v", last)
	}
}

// TestPlannedTelnet: a Telnet session is judged by its address and its jump hosts, too.
func TestPlannedTelnet(t *testing.T) {
	s := lab.StartGoTelnet(t)
	for name, tt := range map[string]struct {
		rules, open string
		denied      string // the rule that denies opening; empty: one denies typing
	}{
		"denied by its address":    {`deny_hosts = ["127.0.0.1"]`, `"host":"localhost"`, "policy.deny_hosts"},
		"denied by its name":       {`deny_hosts = ["localhost"]`, `"host":"127.0.0.1"`, "policy.deny_hosts"},
		"jump host":                {`hosts = ["127.0.0.1"]`, `"host":"127.0.0.1","ssh_options":{"proxy_jump":"ssh://localhost:%d/"}`, "policy.hosts"},
		"behind a jump host":       {`deny_hosts = ["127.0.0.1"]`, `"host":"127.1","ssh_options":{"proxy_jump":"192.0.2.1:%d"}`, "policy.deny_hosts"},
		"read-only by its address": {`read_only_hosts = ["localhost"]`, `"host":"127.0.0.1"`, ""},
		"read-only by its name":    {`read_only_hosts = ["127.0.0.1"]`, `"host":"localhost"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bastion := lab.StartSSHD(t)
			c := lab.HomeFor(t, []*lab.SSHD{bastion}, "[policy]", tt.rules).Connect(t)
			members := tt.open
			if strings.Contains(members, "%d") {
				members = fmt.Sprintf(members, bastion.Port)
			}
			call := fmt.Sprintf(`{"action":"open","protocol":"telnet","port":%d,%s}`, s.Port, members)
			if tt.denied != "" {
				c.DeniedBy(t, tt.denied, lab.ToolSession, call)
				return
			}
			id := c.Call(t, lab.ToolSession, call).SessionID
			c.DeniedBy(t, "policy.read_only_hosts", lab.ToolIO, `{"action":"write","session_id":%s,"data":"reload\r"}`, id)
			c.Close(t, id)
		})
	}
}

// TestRuledCredentials checks that a login shows a host only the credentials that a table allows there, and that a host
// that the operator has not recorded does not become a recorded one on the second request.
func TestRuledCredentials(t *testing.T) {
	s := lab.StartSSHD(t)
	mine := "key:" + ssh.FingerprintSHA256(s.UserKey.PublicKey())
	accept := fmt.Sprintf(
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%d,"username":%q,"ssh_options":{"host_key_policy":"accept_new"}}`,
		s.Port,
		s.User,
	)
	for name, tt := range map[string]struct {
		table   []string
		unknown bool // the host is not on record
		opens   bool
	}{
		"the key":             {[]string{`source = "` + mine + `"`, `hosts = ["127.0.0.1"]`, `host_key = "recorded"`}, false, true},
		"at another host":     {[]string{`source = "` + mine + `"`, `hosts = ["web*"]`}, false, false},
		"for another user":    {[]string{`source = "` + mine + `"`, `users = ["nobody-else"]`}, false, false},
		"only the agent":      {[]string{`source = "agent"`}, false, false},
		"not on record":       {[]string{`source = "` + mine + `"`, `host_key = "recorded"`}, true, false},
		"on nobody's record":  {[]string{`source = "` + mine + `"`}, true, true},
		"without fingerprint": {[]string{`source = "` + mine + `"`, `host_key = "pinned"`}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := lab.HomeFor(t, []*lab.SSHD{s}, append([]string{"[[policy.credential]]"}, tt.table...)...)
			if tt.unknown {
				h.Write(t, h.KnownHosts, "")
			}
			c := h.Connect(t)
			for range 2 {
				if tt.opens {
					c.Close(t, c.Call(t, lab.ToolSession, accept).SessionID)
				} else {
					c.DeniedBy(t, "policy.credential", lab.ToolSession, accept)
				}
			}
		})
	}
}
