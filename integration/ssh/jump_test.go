package ssh

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/term"
)

// chain writes an ssh_config in which hop0 is reached directly, hop1 through it, and so on, always as the same user.
func chain(o *lab.Operator, u *lab.User, servers ...*lab.Server) {
	o.TB.Helper()
	var config strings.Builder
	key := o.Write("id_"+u.Name, u.Key.PEM)
	for i, s := range servers {
		fmt.Fprintf(
			&config,
			"Host hop%d\n\tHostName 127.0.0.1\n\tPort %d\n\tUser %s\n\tIdentityFile %s\n\tIdentitiesOnly yes\n",
			i,
			s.Port,
			u.Name,
			key,
		)
		if i > 0 {
			fmt.Fprintf(&config, "\tProxyJump hop%d\n", i-1)
		}
	}
	o.Write("config", config.String())
}

func labThreeHops(t *testing.T, l *lab.Namespace) {
	first := l.SSHD(t, lab.ServerConfig{Config: "AllowUsers alice"})
	second := l.SSHD(
		t,
		lab.ServerConfig{
			PAM:    lab.PAMCode,
			Config: "AllowUsers carol\nKbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive",
		},
	)
	target := l.SSHD(
		t,
		lab.ServerConfig{
			PAM:    lab.PAMPassword,
			Config: "AllowUsers bob\nPasswordAuthentication yes\nAuthenticationMethods password",
		},
	)
	o := l.Operator(t, first, second, target)
	o.Write("config", fmt.Sprintf(`
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
`, first.Port, o.Write("id_alice", l.Users["alice"].Key.PEM), second.Port, o.Write("id_carol", l.Users["carol"].Key.PEM), target.Port))

	wish := term.Target{
		Protocol: "ssh",
		Host:     "target",
		User:     "bob",
		Auth:     term.Auth{Password: term.Secret(l.Users["bob"].Password)},
	}
	s := o.MustAsk(wish, `Verification code: `)
	if q := s.Question().Prompt(); q.Hop != 1 || q.User != "carol" || q.Host != fmt.Sprintf("127.0.0.1:%d", second.Port) {
		t.Errorf("the question lacks the host that asks: %+v", q)
	}
	lab.AnswerLogin(t, s, lab.OneTimeCode())
	lab.WantOpen(t, s)
	lab.WantExec(t, s, "id -un", "bob\n", 0)
	about := s.Info().About
	if len(about.Ladder) != 3 || about.HostKey != target.Keys[0].Fingerprint() {
		t.Errorf("the way is %+v, to the host key %s", about.Ladder, about.HostKey)
	}
	if line := first.Log.Find(`userauth-request .*password`) + second.Log.Find(`userauth-request .*password`); line != "" {
		t.Errorf("a jump host was offered the target's password: %s", line)
	}

	// A further session reuses the connected jump hosts: no question is asked again.
	lab.WantExec(t, o.MustOpen(wish), "id -un", "bob\n", 0)
}

// The password that comes with the call is the target's: a jump host does not get it, though it would take it.
func labHopGetsNoPassword(t *testing.T, l *lab.Namespace) {
	hop := l.SSHD(
		t,
		lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes\nKbdInteractiveAuthentication yes"},
	)
	target := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	o := l.Operator(t, hop, target)
	bob := l.Users["bob"]
	o.Write(
		"config",
		fmt.Sprintf(
			"Host hop\n\tHostName 127.0.0.1\n\tPort %d\n\tUser bob\nHost target\n\tHostName 127.0.0.1\n\tPort %d\n\tUser bob\n\tProxyJump hop\n",
			hop.Port,
			target.Port,
		),
	)
	wish := term.Target{Protocol: "ssh", Host: "target", Auth: term.Auth{Password: term.Secret(bob.Password)}}

	s := o.MustAsk(wish, `(?i)password`)
	if q := s.Question().Prompt(); q.Hop != 0 || q.Host != fmt.Sprintf("127.0.0.1:%d", hop.Port) {
		t.Errorf("the question does not say that the jump host asks: %+v", q)
	}
	lab.AnswerLogin(t, s, bob.Password)
	lab.WantOpen(t, s)

	wish.Auth.NoInteractive = true
	e := l.OperatorLike(t, o).Refused(wish, term.AuthFailed)
	if term.FactOf[term.ConnectFailure](e).Hop != fmt.Sprintf("bob@127.0.0.1:%d", hop.Port) {
		t.Errorf("the details do not say that it was the jump host: %+v", e.Facts)
	}
}

func labHopForbidsForwarding(t *testing.T, l *lab.Namespace) {
	target := l.SSHD(t, lab.ServerConfig{})
	for name, config := range map[string]string{
		"AllowTcpForwarding no": "AllowTcpForwarding no",
		"PermitOpen elsewhere":  "PermitOpen 127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			hop := l.SSHD(t, lab.ServerConfig{Config: config})
			o := l.Operator(t, hop, target)
			chain(o, l.Users["alice"], hop, target)
			e := o.Refused(term.Target{Protocol: "ssh", Host: "hop1"}, term.ConnectFailed)
			if !strings.Contains(e.Message(), fmt.Sprintf("alice@127.0.0.1:%d", hop.Port)) {
				t.Errorf("the message does not name the hop: %s", e.Message())
			}
			if len(term.FactOf[term.ConnectFailure](e).Ladder) != 2 ||
				term.FactOf[term.ConnectFailure](e).Ladder[1].Port != target.Port {
				t.Errorf("the ladder does not end at the target: %+v", e.Facts)
			}
			if line := target.Log.Find(`Connection from`); line != "" {
				t.Errorf("the target was reached all the same: %s", line)
			}
		})
	}
}
