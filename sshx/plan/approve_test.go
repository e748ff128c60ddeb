package plan_test

import (
	"net"
	"net/netip"
	"os/user"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestPlan: the approved plan must be the one carried out, for any spelling of
// the call.
func TestPlan(t *testing.T) {
	const config = "Host web1\n HostName 192.0.2.2\nHost gate\n HostName 192.0.2.1\nHost nat\n HostName 192.0.2.2\n Port 2202\nHost via\n HostName 192.0.2.2\n ProxyJump gate\n" +
		"Host *.example\n HostName 192.0.2.2\n User ops\n"
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		target  term.Target
		file    string // a configuration file of the caller
		hops    string
		vouched string // of the last hop
	}{
		"as it is":               {target: sshtest.To("192.0.2.2", ""), hops: "u@192.0.2.2:22", vouched: "192.0.2.2 192.0.2.2"},
		"alias":                  {target: sshtest.To("web1", ""), hops: "u@192.0.2.2:22", vouched: "web1 192.0.2.2"},
		"pattern":                {target: term.Target{Host: "a.example"}, hops: "ops@192.0.2.2:22", vouched: "a.example 192.0.2.2"},
		"operator's jump":        {target: sshtest.To("via", ""), hops: "LOCAL@192.0.2.1:22 u@192.0.2.2:22", vouched: "via 192.0.2.2"},
		"another port":           {target: term.Target{Host: "web1", User: "u", Port: 2201}, hops: "u@192.0.2.2:2201", vouched: "web1 192.0.2.2"},
		"the operator's port":    {target: sshtest.To("nat", ""), hops: "u@192.0.2.2:2202", vouched: "nat 192.0.2.2"},
		"not the operator's":     {target: term.Target{Host: "nat", User: "u", Port: 22}, hops: "u@192.0.2.2:22", vouched: "192.0.2.2"},
		"-o HostName":            {target: term.Target{Host: "web1", User: "u", SSH: term.SSHOptions{ExtraArgs: []string{"-o", "hostname 192.0.2.3"}}}, hops: "u@192.0.2.3:22", vouched: "192.0.2.3"},
		"-o HostName of a name":  {target: term.Target{Host: "x", User: "u", SSH: term.SSHOptions{ExtraArgs: []string{"-oHostName=web1"}}}, hops: "u@web1:22", vouched: ""},
		"without ssh_config":     {target: term.Target{Host: "web1", User: "u", SSH: term.SSHOptions{NoConfig: true}}, hops: "u@web1:22", vouched: ""},
		"config_path":            {target: sshtest.To("web1", ""), file: "Host web1\n HostName 192.0.2.3\n", hops: "u@192.0.2.3:22", vouched: "192.0.2.3"},
		"config_path, the same":  {target: sshtest.To("web1", ""), file: "Host web1\n HostName 192.0.2.2\n", hops: "u@192.0.2.2:22", vouched: "web1 192.0.2.2"},
		"-J":                     {target: term.Target{Host: "web1", User: "u", SSH: term.SSHOptions{ExtraArgs: []string{"-J", "ssh://me@192.0.2.9:23/,gate"}}}, hops: "me@192.0.2.9:23 LOCAL@192.0.2.1:22 u@192.0.2.2:22", vouched: "web1 192.0.2.2"},
		"two readers of a line":  {target: term.Target{Host: "web1", User: "u", SSH: term.SSHOptions{ExtraArgs: []string{"-o", "ProxyJump 192.0.2.9,u=x@gate:22"}}}, hops: "LOCAL@192.0.2.9:22 u=x@192.0.2.1:22 u@192.0.2.2:22", vouched: "web1 192.0.2.2"},
		"in capitals and tabs":   {target: term.Target{Host: "web1", User: "u", SSH: term.SSHOptions{ExtraArgs: []string{"-4oPROXYJUMP\t=\t[::1]:24"}}}, hops: "LOCAL@[::1]:24 u@192.0.2.2:22", vouched: "web1 192.0.2.2"},
		"ProxyCommand as a jump": {target: term.Target{Host: "web1", User: "u", SSH: term.SSHOptions{ExtraArgs: []string{"-o", "ProxyCommand ssh -W %h:%p -l me -o HostName=192.0.2.9 gate"}}}, hops: "me@192.0.2.9:22 u@192.0.2.2:22", vouched: "web1 192.0.2.2"},
	} {
		t.Run(name, func(t *testing.T) {
			l := sshtest.New(t)
			l.Config(config)
			target := tt.target
			if tt.file != "" {
				target.SSH.ConfigPath = l.Write("callers", tt.file)
			}
			a := &sshtest.Judge{Refuse: func(term.Plan) bool { return true }}
			if err := l.Judged(target, a); term.KindOf(err) != term.PolicyDenied ||
				!strings.Contains(err.Error(), "refused by the test") {
				t.Fatalf("the refused plan ends in %v", err)
			}
			if len(l.Dials) != 0 {
				t.Errorf("%q were dialled for a plan that is refused", l.Dials)
			}
			p := a.Final(t)
			var hops []string
			for _, h := range p.Hops {
				hops = append(hops, h.User+"@"+h.Address())
			}
			if got := strings.Join(hops, " "); got != strings.ReplaceAll(tt.hops, "LOCAL", me.Username) {
				t.Errorf("the plan leads to %s, want %s", got, tt.hops)
			}
			if got := strings.Join(p.Target().Vouched, " "); got != tt.vouched {
				t.Errorf("the target is vouched for as %q, want %q", got, tt.vouched)
			}
		})
	}
}

// TestPlanNames: a name must be judged before it is looked up, and only a judged
// address may be dialled.
func TestPlanNames(t *testing.T) {
	l := sshtest.New(t)
	srv, err := sshserver.New(sshserver.Config{NoAuth: true, Handler: sshtest.Shell})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	for _, address := range []string{"127.0.0.1:22", "[::1]:22"} {
		l.Peer(address, srv.ServeConn)
	}
	l.Trust("localhost", srv.HostKey())
	a := new(sshtest.Judge)
	if err := l.Judged(sshtest.To("localhost", ""), a); err != nil {
		t.Fatal(err)
	}
	if len(a.Plans) != 2 || !a.Plans[0].Unresolved || len(a.Plans[0].Hops[0].Addresses) != 0 {
		t.Fatalf("asked about %+v, want the name first", a.Plans)
	}
	addresses := a.Final(t).Target().Addresses
	dialed, err := netip.ParseAddrPort(l.Dials[0])
	if err != nil || !slices.Contains(addresses, dialed.Addr()) {
		t.Errorf("%s was dialled, and %v were judged", l.Dials[0], addresses)
	}
	l.Dials = nil
	refused := &sshtest.Judge{Refuse: func(p term.Plan) bool { return !p.Unresolved }}
	if err := l.Judged(sshtest.To("localhost", ""), refused); term.KindOf(err) != term.PolicyDenied || len(l.Dials) != 0 {
		t.Errorf("an address that is refused: %v, dialled %q", err, l.Dials)
	}
	unknown := &sshtest.Judge{}
	if err := l.Judged(sshtest.To("no-such-host.invalid", ""), unknown); term.KindOf(err) != term.ConnectFailed ||
		len(unknown.Final(t).Target().Addresses) != 0 {
		t.Errorf("a name that is not found: %v", err)
	}
}

// TestPlanTells: the plan must contain the facts for policy and audit record, and
// no secret.
func TestPlanTells(t *testing.T) {
	l := sshtest.New(t)
	l.Opts.AllowAgentForwarding, l.Opts.IdentityAgent = true, "/run/agent"
	key := l.Write(".ssh/id_ed25519", "x")
	l.Config(
		"Host web1\n HostName 192.0.2.1\n RemoteCommand menu secret-1138\n SetEnv TOKEN=value-1138\n ForwardAgent yes\n",
	)
	target := sshtest.To("web1", "pass-1138")
	target.SSH.ExtraArgs = []string{"-o", "SetEnv LC_ALL=C"}
	target.SSH.ProxyURL = "socks5://me:proxypass-1138@127.0.0.1:1080"
	target.SSH.HostKeyFingerprint = "SHA256:qRdtNWeJXGvlvrPvvLLDVzwM9g3ePMYn1vcKEcmTXj4"
	a := &sshtest.Judge{Refuse: func(term.Plan) bool { return true }}
	_ = l.Judged(target, a)
	p := a.Final(t)
	if p.RemoteCommand != "menu secret-1138" || !p.ForwardAgent || p.Proxy == nil ||
		p.Proxy.Address() != "127.0.0.1:1080" {
		t.Errorf("the plan lacks something: %+v", p)
	}
	if len(p.CallerEnv) != 1 || p.CallerEnv[0].Name != "LC_ALL" {
		t.Errorf("the caller's variables are %v", p.CallerEnv)
	}
	text := p.String()
	for _, want := range []string{
		"proxy 127.0.0.1:1080", "u@192.0.2.1:22", "asked for as web1", "host key strict, pinned", "agent", "key " + key,
		"the caller's password", "env LC_ALL", "a remote command",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if strings.Contains(text, "1138") {
		t.Errorf("%q tells a secret", text)
	}
}

// TestTunnelPlan: a target without SSH must be judged as well, and so must its
// jump hosts.
func TestTunnelPlan(t *testing.T) {
	l := sshtest.New(t)
	l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
	l.Peer(sshtest.DeviceAddr, func(c net.Conn) { _ = c.Close() })
	for host, dials := range map[string]int{"192.0.2.1": 0, "192.0.2.9": 0, "": 2} { // the jump host dials, too
		l.Dials = nil
		a := &sshtest.Judge{Refuse: func(p term.Plan) bool {
			return slices.ContainsFunc(p.Hops, func(h term.PlannedHop) bool { return h.Host == host })
		}}
		c, err := sshx.NewNetwork(l.Opts).DialTCP(t.Context(), "tcp", sshtest.Behind("u@192.0.2.1"), nil, a.Approve)
		if err == nil {
			_ = c.Close()
		}
		if (host == "") != (err == nil) || len(l.Dials) != dials {
			t.Errorf("without %q: %v after %d dials", host, err, len(l.Dials))
		}
		if h := a.Final(t).Target(); h.Host != "192.0.2.9" || h.Port != 23 || h.User != "" ||
			!slices.Contains(h.Vouched, "192.0.2.9") {
			t.Errorf("the target is planned as %+v", h)
		}
	}
}

// TestOperatorsRemoteCommand: a RemoteCommand of the operator's own configuration
// must still run.
func TestOperatorsRemoteCommand(t *testing.T) {
	l := sshtest.New(t)
	l.Server(sshtest.Addr1, sshserver.Config{})
	l.Config("RemoteCommand echo menu\n")
	a := new(sshtest.Judge)
	if err := l.Judged(sshtest.To(sshtest.Host1, ""), a); err != nil || a.Final(t).RemoteCommand != "echo menu" {
		t.Errorf("%v, planned %q", err, a.Final(t).RemoteCommand)
	}
}
