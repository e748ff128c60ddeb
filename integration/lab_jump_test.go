package integration

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/term"
)

// chain writes an ssh_config in which hop0 is reached directly, hop1 through it, and so on, always as the same user.
func (o *labOperator) chain(u *labUser, servers ...*labServer) {
	o.t.Helper()
	var config strings.Builder
	key := o.write("id_"+u.name, u.key.pem)
	for i, s := range servers {
		fmt.Fprintf(
			&config,
			"Host hop%d\n\tHostName 127.0.0.1\n\tPort %d\n\tUser %s\n\tIdentityFile %s\n\tIdentitiesOnly yes\n",
			i,
			s.port,
			u.name,
			key,
		)
		if i > 0 {
			fmt.Fprintf(&config, "\tProxyJump hop%d\n", i-1)
		}
	}
	o.write("config", config.String())
}

func labThreeHops(t *testing.T, l *lab) {
	first := l.sshd(t, labSSHD{config: "AllowUsers alice"})
	second := l.sshd(
		t,
		labSSHD{
			pam:    labPAMCode,
			config: "AllowUsers carol\nKbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive",
		},
	)
	target := l.sshd(
		t,
		labSSHD{pam: labPAMPassword, config: "AllowUsers bob\nPasswordAuthentication yes\nAuthenticationMethods password"},
	)
	o := l.operator(t, first, second, target)
	o.write("config", fmt.Sprintf(`
Host first
	HostName 127.0.0.1
	Port %d
	User alice
	IdentityFile %s
	IdentitiesOnly yes
Host second
	HostName 127.0.0.1
	Port %d
	User carol
	ProxyJump first
	IdentityFile %s
	IdentitiesOnly yes
Host target
	HostName 127.0.0.1
	Port %d
	ProxyJump second
`, first.port, o.write("id_alice", l.users["alice"].key.pem), second.port, o.write("id_carol", l.users["carol"].key.pem), target.port))

	wish := term.Target{
		Protocol: "ssh",
		Host:     "target",
		User:     "bob",
		Auth:     term.Auth{Password: term.Secret(l.users["bob"].password)},
	}
	s := o.mustAsk(wish, `Verification code: `)
	if q := s.Pending(); q.Hop != 1 || q.User != "carol" || q.Host != fmt.Sprintf("127.0.0.1:%d", second.port) {
		t.Errorf("the question does not say who asks: %+v", q)
	}
	labAnswer(t, s, labCode())
	labWantOpen(t, s)
	labWantExec(t, s, "id -un", "bob\n", 0)
	about := s.Info().About
	if len(about.Ladder) != 3 || about.HostKey != target.keys[0].fingerprint() {
		t.Errorf("the way is %+v, to the host key %s", about.Ladder, about.HostKey)
	}
	if line := first.log.find(`userauth-request .*password`) + second.log.find(`userauth-request .*password`); line != "" {
		t.Errorf("a jump host was offered the target's password: %s", line)
	}

	// A further session runs over the jump hosts that are connected: nobody is asked again.
	labWantExec(t, o.mustOpen(wish), "id -un", "bob\n", 0)
}

// The password that comes with the call is the target's: a jump host does not get it, though it would take it.
func labHopGetsNoPassword(t *testing.T, l *lab) {
	hop := l.sshd(t, labSSHD{pam: labPAMPassword, config: "PasswordAuthentication yes\nKbdInteractiveAuthentication yes"})
	target := l.sshd(t, labSSHD{pam: labPAMPassword, config: "PasswordAuthentication yes"})
	o := l.operator(t, hop, target)
	bob := l.users["bob"]
	o.write(
		"config",
		fmt.Sprintf(
			"Host hop\n\tHostName 127.0.0.1\n\tPort %d\n\tUser bob\nHost target\n\tHostName 127.0.0.1\n\tPort %d\n\tUser bob\n\tProxyJump hop\n",
			hop.port,
			target.port,
		),
	)
	wish := term.Target{Protocol: "ssh", Host: "target", Auth: term.Auth{Password: term.Secret(bob.password)}}

	s := o.mustAsk(wish, `(?i)password`)
	if q := s.Pending(); q.Hop != 0 || q.Host != fmt.Sprintf("127.0.0.1:%d", hop.port) {
		t.Errorf("the question does not say that the jump host asks: %+v", q)
	}
	labAnswer(t, s, bob.password)
	labWantOpen(t, s)

	wish.Auth.NoInteractive = true
	e := l.operatorLike(t, o).refused(wish, term.AuthFailed)
	if e.Details == nil || e.Details.Hop != fmt.Sprintf("bob@127.0.0.1:%d", hop.port) {
		t.Errorf("the details do not say that it was the jump host: %+v", e.Details)
	}
}

func labHopForbidsForwarding(t *testing.T, l *lab) {
	target := l.sshd(t, labSSHD{})
	for name, config := range map[string]string{
		"AllowTcpForwarding no": "AllowTcpForwarding no",
		"PermitOpen elsewhere":  "PermitOpen 127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			hop := l.sshd(t, labSSHD{config: config})
			o := l.operator(t, hop, target)
			o.chain(l.users["alice"], hop, target)
			e := o.refused(term.Target{Protocol: "ssh", Host: "hop1"}, term.ConnectFailed)
			if !strings.Contains(e.Message(), fmt.Sprintf("alice@127.0.0.1:%d", hop.port)) {
				t.Errorf("the message does not name the hop: %s", e.Message())
			}
			if e.Details == nil || len(e.Details.Ladder) != 2 || e.Details.Ladder[1].Port != target.port {
				t.Errorf("the ladder does not end at the target: %+v", e.Details)
			}
			if line := target.log.find(`Connection from`); line != "" {
				t.Errorf("the target was reached all the same: %s", line)
			}
		})
	}
}
