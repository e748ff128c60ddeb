package forward

import (
	"encoding/json"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

const call = `{"action":"forward","session_id":%s,"to":%s}`

// No spelling reaches an address that the operator does not list.
func TestSpellings(t *testing.T) {
	sshd := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[forward]\nallow = ['db1:5432', '10.0.0.*:443', '[2001:db8::5]:80']")
	c := h.Connect(t)
	id := c.Open(t, sshd)
	for _, to := range []string{
		"db1:5433", "db2:5432", "db1.evil.net:5432", "localhost:5432", "127.0.0.1:5432", "[::1]:5432", "10.0.1.1:443",
		"10.0.0.1:80", "10.0.0.evil.net:443", "[::10.0.0.1]:443", "[64:ff9b::a00:1]:443", "[2001:db8::6]:80",
		"web.example.net:443", // whatever it resolves to
	} {
		c.DeniedBy(t, "forward.allow", lab.ToolSession, call, id, to)
	}
	for _, to := range []string{
		"db1", "db1:05432", "db1:5432 ", "db1:+5432", "db1:5432\n", "db1\x00:5432", "db1:5432\x00.evil.net", "10.1:443",
		"0x0a000001:443", "167772161:443", "012.0.0.1:443", "10.0.0.01:443", "[fe80::1%eth0]:80", "[10.0.0.1]:443",
		"2001:db8::5:80", "*:443", "10.0.0.*:443", "db１:5432", "db1。:5432", "ssh://db1:5432", "a@db1:5432", "db1%3a5432:5432",
	} {
		r := c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, call, id, to)
		if !strings.Contains(r.Message, "the address") {
			t.Errorf("%q is refused with %q, want what is wrong", to, r.Message)
		}
	}
	for _, e := range lab.AuditLines(t, h.Audit, "forward") {
		if e.Outcome == "ok" && !e.Intent {
			t.Errorf("the audit log has a forward: %+v", e)
		}
	}
}

// A client that may not forward is refused, and the error names the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	sshd, closed := lab.StartSSHD(t), lab.StartSSHD(t, "AllowTcpForwarding no")
	db := serve(t, echo)
	both := []*lab.SSHD{sshd, closed}
	const allow = "[forward]\nallow = ['localhost:*']\n"
	to := db.to("localhost")
	t.Run("not offered", func(t *testing.T) {
		c := lab.HomeFor(t, both).Connect(t)
		r := c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, call, c.Open(t, sshd), to)
		if !strings.Contains(r.Message, "[forward] allow") {
			t.Errorf("refused with %q, want the key", r.Message)
		}
		list, err := c.Session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(list); strings.Contains(string(text), "forward") {
			t.Error("the list of tools names the action")
		}
	})
	t.Run("server", func(t *testing.T) {
		h := lab.HomeFor(t, both, allow)
		c := h.Connect(t)
		r := c.Refused(t, "UNSUPPORTED", lab.ToolSession, call, c.Open(t, closed), to)
		if !strings.Contains(r.Message, "AllowTcpForwarding") || !strings.Contains(r.Message, "prohibited") {
			t.Errorf("refused with %q, want the server's word and its setting", r.Message)
		}
		id := c.Open(t, sshd)
		r = c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"forward","session_id":%s,"to":%s,"tcp_port":0}`, id, to)
		if !strings.Contains(r.Message, "forward.tcp") {
			t.Errorf("a port is refused with %q, want the key", r.Message)
		}
		local := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"local","argv":["sh"]}`).SessionID
		r = c.Refused(t, "UNSUPPORTED", lab.ToolSession, call, local, to)
		if !strings.Contains(r.Message, "protocol ssh") {
			t.Errorf("at a local session: %q, want what to do", r.Message)
		}
		c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"other"}`, id)
		for _, stop := range []bool{false, true} {
			c.Refused(t, "LOCKED", lab.ToolSession, `{"action":"forward","session_id":%s,"to":%s,"stop":%s,"task_id":"mine"}`, id, to, stop)
		}
		forward(t, c.Tools, `"session_id":%s,"to":%s,"task_id":"other"`, id, to)
	})
	for _, host := range []string{"read_only_hosts", "exec_only_hosts"} {
		t.Run(host, func(t *testing.T) {
			c := lab.HomeFor(t, both, allow+"[policy]\n"+host+" = ['127.0.0.1']").Connect(t)
			c.DeniedBy(t, "policy."+host, lab.ToolSession, call, c.Open(t, sshd), to)
		})
	}
	t.Run("to a host of a rule", func(t *testing.T) {
		c := lab.HomeFor(t, both, "[forward]\nallow = ['db1:5432', '10.0.0.*:443']\n[policy]\n"+
			"deny_hosts = ['DB1']\nread_only_hosts = ['10.0.0.*']").Connect(t)
		id := c.Open(t, sshd)
		c.DeniedBy(t, "policy.deny_hosts", lab.ToolSession, call, id, "db1.:5432")
		c.DeniedBy(t, "policy.read_only_hosts", lab.ToolSession, call, id, "[::ffff:10.0.0.1]:443")
	})
	t.Run("http", func(t *testing.T) {
		h := lab.HomeFor(t, both, allow)
		tokens := h.TokensFile(t)
		h.Write(t, h.Config, strings.TrimSpace(string(lab.ReadFile(t, h.Config)))+"\n[server.http]\ntokens_file = '"+tokens+"'\n")
		p, url := h.StartHTTP(t)
		c := p.Dial(t, url, lab.OpsToken)
		id := c.Open(t, sshd)
		c.DeniedBy(t, "local.http", lab.ToolSession, call, id, to)
		p.Dial(t, url, lab.CiToken).Refused(t, "POLICY_DENIED", lab.ToolSession, call, id, to)
	})
	t.Run("http with local.http", func(t *testing.T) {
		h := lab.HomeFor(t, both, allow+"[local]\nhttp = true")
		tokens := h.TokensFile(t)
		h.Write(t, h.Config, strings.TrimSpace(string(lab.ReadFile(t, h.Config)))+"\n[server.http]\ntokens_file = '"+tokens+"'\n")
		p, url := h.StartHTTP(t)
		c := p.Dial(t, url, lab.OpsToken)
		id := c.Open(t, sshd)
		exchange(t, dial(t, forward(t, c.Tools, `"session_id":%s,"to":%s`, id, to)), 1000)
		p.Dial(t, url, lab.CiToken).Refused(t, "POLICY_DENIED", lab.ToolSession, call, id, to)
	})
}

// A wrong entry of the list keeps the server from starting, with an error that explains it.
func TestWrongEntry(t *testing.T) {
	h := lab.NewHome(t, "[forward]\nallow = ['10.0.*:443']")
	_, errs, status := h.Run(t, "config", "check", "--config", h.Config)
	if status == 0 || !strings.Contains(errs, "four parts") || !strings.Contains(errs, "forward.allow") {
		t.Errorf("config check = %d, %s; want the entry and what is wrong", status, errs)
	}
}
