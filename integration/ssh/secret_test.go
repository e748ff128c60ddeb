package ssh

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/secret"
	"ptyctl/secret/source"
	"ptyctl/session"
	"ptyctl/term"
)

// keep makes a secret with its value in a file of the operator's.
func keep(t *testing.T, o *lab.Operator, name, kind, value, host, user string) secret.Definition {
	t.Helper()
	s, err := source.Parse(kind+"file:"+o.Write(name, value+"\n"), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Definition{
		Name: name, Source: s, OneTime: kind == "totp:", Hosts: []string{host}, Users: []string{user}, Auto: true,
	}
}

// A login through two bastions takes a password at each of three hosts and a code at the second, each from its own secret,
// and asks no question.
func labSecrets(t *testing.T, l *lab.Namespace) {
	const word = "PasswordAuthentication yes\nAuthenticationMethods password\nAllowUsers "
	first := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: word + "bob"})
	second := l.SSHD(t, lab.ServerConfig{
		PAM:    lab.PAMPasswordCode,
		Config: "AllowUsers carol\nKbdInteractiveAuthentication yes\nAuthenticationMethods keyboard-interactive",
	})
	target := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: word + "alice"})
	o := l.Operator(t, first, second, target)
	o.Write("config", fmt.Sprintf("Host first\n\tPort %d\n\tUser bob\nHost second\n\tPort %d\n\tUser carol\n\tProxyJump first\n"+
		"Host target\n\tPort %d\n\tUser alice\n\tProxyJump second\nHost *\n\tHostName 127.0.0.1\n", first.Port, second.Port, target.Port))
	var uses []term.Event
	o.Options.Answerer = secret.NewStore([]secret.Definition{
		keep(t, o, "first-pw", "", l.Users["bob"].Password, "first", "bob"),
		keep(t, o, "second-code", "totp:", lab.OneTimeKey(), "second", "carol"),
		keep(t, o, "second-pw", "", l.Users["carol"].Password, "second", "carol"),
		keep(t, o, "target-pw", "", l.Users["alice"].Password, "target", "alice"),
	}, secret.Options{Journal: func(e term.Event) error { uses = append(uses, e); return nil }})

	s := o.MustOpen(term.Target{Protocol: "ssh", Host: "target", Auth: term.Auth{NoInteractive: true}})
	lab.WantExec(t, s, "id -un", "alice\n", 0)
	var names []string
	for _, e := range uses {
		names = append(names, strings.Fields(e.Detail)[0])
	}
	if got, want := strings.Join(names, " "), "first-pw second-pw second-code target-pw"; got != want {
		t.Errorf("the secrets used are %s, want %s", got, want)
	}

	// A host that the operator's settings do not lead to gets nothing, whatever the call calls it.
	uses = nil
	o.Refused(term.Target{
		Protocol: "ssh", Host: "127.0.0.1", Port: target.Port, User: "alice", Auth: term.Auth{NoInteractive: true},
	}, term.AuthFailed)
	// A wrong value is sent once.
	o.Options.Answerer = secret.NewStore([]secret.Definition{keep(t, o, "wrong", "", "a wrong one-1138", "first", "bob")},
		secret.Options{Journal: func(e term.Event) error { uses = append(uses, e); return nil }})
	o = l.OperatorLike(t, o)
	o.Refused(term.Target{Protocol: "ssh", Host: "first", Auth: term.Auth{NoInteractive: true}}, term.AuthFailed)
	if len(uses) != 1 {
		t.Errorf("uses on record are %+v, want one of the wrong value", uses)
	}
	// Then the person is asked.
	s = o.MustAsk(term.Target{Protocol: "ssh", Host: "first"}, `password: `)
	lab.AnswerLogin(t, s, l.Users["bob"].Password)
	lab.WantOpen(t, s)
}

// A host with another key than the record's gets no secret, even where the host key policy lets the login go on.
func labSecretAtChangedHost(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	o := l.Operator(t)
	o.Write("config", fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser bob\n", server.Port))
	o.Options.HostKeyPolicy, o.Options.HostKeyFloor = "accept_new", "accept_new"
	bob := l.Users["bob"]
	o.Options.Answerer = secret.NewStore([]secret.Definition{keep(t, o, "pw", "", bob.Password, "web1", "bob")}, secret.Options{})
	wish := term.Target{Protocol: "ssh", Host: "web1", Auth: term.Auth{NoInteractive: true}}
	if e := o.Refused(wish, term.PolicyDenied); !strings.Contains(e.Error(), "not on the operator's record before this login") {
		t.Errorf("a host that is not on record fails with %v, want the condition", e)
	}
	if line := server.Log.Find(`password for bob`); line != "" {
		t.Errorf("a host that is not on record was sent a password: %s", line)
	}
	s := o.MustOpen(wish) // now it is
	lab.WantExec(t, s, "id -un", "bob\n", 0)

	other := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	o.Write("config", fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tHostKeyAlias [127.0.0.1]:%d\n\tUser bob\n",
		other.Port, server.Port))
	o = l.OperatorLike(t, o)
	o.Refused(wish, term.HostKeyMismatch)
	if line := other.Log.Find(`password for bob`); line != "" {
		t.Errorf("a host with another key was sent a password: %s", line)
	}
}

// sudoers lets alice run all with a password, bob all without one, and oddpass one program with one.
const sudoers = `Defaults:alice lecture=always
Defaults!/usr/bin/tty requiretty
alice ALL=(ALL:ALL) ALL
bob ALL=(ALL:ALL) NOPASSWD: ALL
oddpass ALL=(root) /usr/bin/id
`

// sudoFiles lets the lab's users use sudo.
func sudoFiles(t *testing.T, l *lab.Namespace) {
	l.WriteFile(t, "/etc/sudoers", "440", sudoers)
	l.WriteFile(t, "/etc/pam.d/sudo", "644", "auth required pam_unix.so nodelay\naccount required pam_permit.so\n"+
		"password required pam_unix.so\nsession required pam_permit.so\n")
}

// patience keeps how long the last request for a secret would wait for a person.
type patience struct {
	term.Secrets
	last atomic.Int64
}

func (p *patience) Release(ctx context.Context, r term.SecretRequest) ([]byte, error) {
	p.last.Store(int64(r.Wait))
	return p.Secrets.Release(ctx, r)
}

// labSudo runs commands by sudo. The password is a secret of the operator's.
func labSudo(t *testing.T, l *lab.Namespace) {
	sudoFiles(t, l)
	server := l.SSHD(t, lab.ServerConfig{})
	o := l.Operator(t, server)
	var config strings.Builder
	for _, name := range []string{"alice", "bob", "carol", "oddpass"} {
		key := l.Users[name].Key.Write(t, o.Home, "id_"+name)
		fmt.Fprintf(&config, "Host %s\n\tHostName 127.0.0.1\n\tPort %d\n\tUser %s\n\tIdentityFile %s\n", name, server.Port, name, key)
	}
	o.Write("config", config.String())
	var uses []term.Event
	list := []secret.Definition{keep(t, o, "bare", "", l.Users["alice"].Password, "bare", "alice"), keep(t, o, "wrong", "", "a wrong one-1138", "alice", "alice")}
	for _, name := range []string{"alice", "bob", "carol", "oddpass"} {
		list = append(list, keep(t, o, name, "", l.Users[name].Password, name, name))
	}
	asks, slow := keep(t, o, "asks", "", l.Users["alice"].Password, "alice", "alice"), keep(t, o, "slow", "", "x-1138", "alice", "alice")
	asks.Confirm, asks.Auto = secret.ConfirmAlways, false
	o.Write("slow.sh", "sleep 0.6; cat "+o.Home+"/alice\n")
	var err error
	if slow.Source, err = source.Parse("exec:/bin/sh "+o.Home+"/slow.sh", source.Options{}); err != nil {
		t.Fatal(err)
	}
	stuck := keep(t, o, "stuck", "", "x-1138", "alice", "alice")
	o.Write("stuck.sh", "exec sleep 300\n")
	if stuck.Source, err = source.Parse("exec:/bin/sh "+o.Home+"/stuck.sh", source.Options{}); err != nil {
		t.Fatal(err)
	}
	list = append(list, asks, slow, stuck)
	store := secret.NewStore(list, secret.Options{Journal: func(e term.Event) error {
		uses = append(uses, e)
		return nil
	}})
	patience := &patience{Secrets: store}
	o.Secrets = patience
	bare := l.SSHD(t, lab.ServerConfig{Config: "SetEnv PATH=/nowhere"})
	o.Knows(bare.Known())
	o.Write("config", config.String()+fmt.Sprintf("Host bare\n\tHostName 127.0.0.1\n\tPort %d\n\tUser alice\n\tIdentityFile %s\n",
		bare.Port, o.Home+"/id_alice"))
	o.Options.Answerer = store // so that hosts are proven

	sessions := make(map[string]*session.Session)
	for _, name := range []string{"alice", "bob", "carol", "oddpass", "bare"} {
		sessions[name] = o.MustOpen(term.Target{Protocol: "ssh", Host: name, Auth: term.Auth{NoInteractive: true}})
	}
	for _, tt := range []struct {
		what    string
		account string
		r       session.ExecRequest
		stdout  string
		stderr  string // a pattern
		code    int
		err     string // a pattern: the kind, then the message
		uses    int
		only    session.Lane // empty: both
	}{
		{what: "a plain command", account: "alice", r: session.ExecRequest{Command: "id -un"}, stdout: "root\n", uses: 1},
		{what: "a shell line", account: "alice", r: session.ExecRequest{Command: "cd /root && id -un; echo e >&2; exit 3"},
			stdout: "root\n", stderr: `\be\n$`, code: 3, uses: 1, only: session.LaneChannel},
		{what: "a failing shell line", account: "alice", r: session.ExecRequest{Command: "cd /root && id -un; exit 3"},
			stdout: "root\n", code: 3, uses: 1},
		{what: "words", account: "alice", r: session.ExecRequest{Argv: []string{"printf", "%s|", "a b", "c'd"}},
			stdout: "a b|c'd|", uses: 1},
		{what: "a folder", account: "alice", r: session.ExecRequest{Command: "pwd", Dir: "/usr/lib"}, stdout: "/usr/lib\n", uses: 1},
		{what: "input behind the password", account: "alice", r: session.ExecRequest{Command: "cat", Stdin: []byte("one\ntwo\n")},
			stdout: "one\ntwo\n", uses: 1},
		{what: "no input", account: "alice", r: session.ExecRequest{Command: "cat; echo end"}, stdout: "end\n", uses: 1,
			only: session.LaneChannel},
		{what: "as it would be typed", account: "alice", r: session.ExecRequest{Command: "sudo id -un"}, stdout: "root\n", uses: 1},
		{what: "no password needed", account: "bob", r: session.ExecRequest{Command: "cat; id -un", Stdin: []byte("x\n")},
			stdout: "x\nroot\n"},
		{what: "one program, no password needed", account: "bob", r: session.ExecRequest{Command: "id -un"}, stdout: "root\n"},
		{what: "the one program", account: "oddpass", r: session.ExecRequest{Command: "id -un"}, stdout: "root\n", uses: 1},
		{what: "another program", account: "oddpass", r: session.ExecRequest{Command: "cat /etc/shadow"},
			err: `ACCESS_DENIED .*does not permit this command.*not allowed to execute`, uses: 1},
		{what: "a terminal needed", account: "alice", r: session.ExecRequest{Command: "tty"},
			err: `UNSUPPORTED .*lane terminal`, only: session.LaneChannel},
		{what: "a terminal needed, and there", account: "alice", r: session.ExecRequest{Command: "tty -s"}, uses: 1,
			only: session.LaneTerminal},
		{what: "not in sudoers", account: "carol", r: session.ExecRequest{Command: "id -un"},
			err: `ACCESS_DENIED .*not in the sudoers file`, uses: 1},
		{what: "a wrong password", account: "alice", r: session.ExecRequest{Command: "id -un", Secret: session.ExecSecret{Name: "wrong"}},
			err: `AUTH_FAILED .*has not taken the value of secret wrong`, uses: 1},
		{what: "a wrong password before input", account: "alice",
			r:   session.ExecRequest{Command: "cat", Stdin: []byte("x\n"), Secret: session.ExecSecret{Name: "wrong"}},
			err: `AUTH_FAILED .*has not taken the value of secret wrong`, uses: 1},
		{what: "another's question", account: "bob", r: session.ExecRequest{
			Command: "printf '[sudo] password for bob: ' >&2; read -r x; echo \"got:$x\""},
			stdout: "got:\n", stderr: `^\[sudo\] password for bob: $`, only: session.LaneChannel},
		{what: "a copy of the question", account: "bob", r: session.ExecRequest{
			Command: `tr '\0' '\n' </proc/$PPID/cmdline | sed -n 's/%%/%/p' >&2; read -r x; echo "got:$x"`, Stdin: []byte("in\n")},
			stdout: "got:in\n", stderr: `^\[sudo\] password `, only: session.LaneChannel},
		{what: "search of all programs", account: "alice", r: session.ExecRequest{
			Command: "grep -aFl -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ; :", Stdin: []byte(l.Users["alice"].Password + "\n")},
			uses: 1, only: session.LaneChannel},
		{what: "no such secret", account: "alice", r: session.ExecRequest{Command: "id", Secret: session.ExecSecret{Name: "x"}},
			err: `NOT_FOUND .*no secret of that name`},
		{what: "another account's", account: "alice", r: session.ExecRequest{Command: "id", Secret: session.ExecSecret{Name: "bob"}},
			err: `POLICY_DENIED .*not for this host`, uses: 1},
		{what: "no sudo", account: "bare", r: session.ExecRequest{Command: "id"}, err: `UNSUPPORTED .*no sudo on the PATH`,
			only: session.LaneChannel},
		{what: "no person to agree", account: "alice", r: session.ExecRequest{Command: "id", Secret: session.ExecSecret{Name: "asks"}},
			err: `POLICY_DENIED .*a person would have to be asked`, uses: 1},
		{what: "variables", account: "alice", r: session.ExecRequest{Command: "id", Env: []term.EnvVar{{Name: "A", Value: "b"}}},
			err: `INVALID_ARGUMENT .*env NAME=value`},
		{what: "an option of sudo", account: "alice", r: session.ExecRequest{Argv: []string{"-i"}}, err: `INVALID_ARGUMENT .*option of sudo`},
	} {
		for _, lane := range []session.Lane{session.LaneChannel, session.LaneTerminal} {
			if tt.only != "" && tt.only != lane || lane == session.LaneTerminal && (tt.r.Dir != "" || tt.r.Stdin != nil || tt.r.Env != nil) {
				continue
			}
			t.Run(tt.what+" "+string(lane), func(t *testing.T) {
				uses = nil
				r := tt.r
				r.Lane, r.Secret.Sudo, r.Secret.Name = lane, true, cmp.Or(r.Secret.Name, tt.account)
				got, err := sessions[tt.account].Exec(t.Context(), r)
				said := ""
				if err != nil {
					said = string(term.KindOf(err)) + " " + err.Error()
				}
				if said == "" != (tt.err == "") || !regexp.MustCompile("(?s)"+tt.err).MatchString(said) {
					t.Fatalf("sudo runs %q with %+v, %q; want an error that matches %q", r.Command, got, said, tt.err)
				}
				stdout, stderr := string(got.Stdout.Bytes()), string(got.Stderr.Bytes())
				want := tt.stdout
				if lane == session.LaneTerminal {
					stdout, stderr = strings.ReplaceAll(stdout, "\r\n", "\n"), stdout
				}
				if tt.err == "" && (!strings.HasSuffix(stdout, want) || lane == session.LaneChannel && stdout != want ||
					!regexp.MustCompile(tt.stderr).MatchString(stderr) || got.Exit.Code != tt.code || !got.Exit.Known) {
					t.Errorf("sudo runs %q with %q, %q, %+v (%s); want %q, %q, %d", r.Command, stdout, stderr, got.Exit, got.Done,
						want, tt.stderr, tt.code)
				}
				if strings.Contains(stdout+stderr+said, "ptyctl-") && tt.what != "a copy of the question" {
					t.Errorf("the output %q, %q has the nonce", stdout, stderr)
				}
				if len(uses) != tt.uses {
					t.Errorf("on record are %+v, want %d uses", uses, tt.uses)
				}
			})
		}
	}
	// A call that does not wait for the vault says for whom the command waits.
	for _, lane := range []session.Lane{session.LaneChannel, session.LaneTerminal} {
		got, err := sessions["alice"].Exec(t.Context(), session.ExecRequest{
			Command: "id -un", Lane: lane, Wait: 300 * time.Millisecond, Secret: session.ExecSecret{Name: "slow", Sudo: true},
		})
		if err != nil || got.Done != session.DoneRunning || got.WaitingFor == nil ||
			got.WaitingFor.Kind != term.ForPerson {
			t.Errorf("in the lane %s, the command waits for %+v (%s, %v), want a person", lane, got.WaitingFor, got.Done, err)
			continue
		}
		got, err = sessions["alice"].ContinueExec(t.Context(), got.ID, session.ContinueRequest{Wait: lab.Patience})
		if out := string(got.Stdout.Bytes()); err != nil || !strings.HasSuffix(strings.TrimSpace(out), "root") {
			t.Errorf("in the lane %s, the command prints %q, %v, want root", lane, out, err)
		}
	}
	// A command that reaches its timeout while its vault is asked has timed out. A person would have been asked a second
	// less, so that the call says that they were.
	for _, lane := range []session.Lane{session.LaneChannel, session.LaneTerminal} {
		got, err := sessions["alice"].Exec(t.Context(), session.ExecRequest{
			Command: "id -un", Lane: lane, Timeout: 2 * time.Second, Secret: session.ExecSecret{Name: "stuck", Sudo: true},
		})
		if err != nil || !got.TimedOut || got.Done != session.DoneTimeout {
			t.Errorf("in the lane %s, a command whose vault does not answer ends with %s, timed out %t, %v; want its timeout",
				lane, got.Done, got.TimedOut, err)
		}
		if asked := time.Duration(patience.last.Load()); asked <= 0 || asked > time.Second {
			t.Errorf("in the lane %s, a person would be asked for %v of a command of 2s, want at most 1s", lane, asked)
		}
	}
}
