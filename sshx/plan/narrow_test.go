package plan_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// trustFrom has the ways in which a call can bring its own trust: each confirms
// the key of the host.
var trustFrom = []struct {
	name  string
	jump  bool // also possible for a jump host
	bring func(l *sshtest.Lab, o *term.SSHOptions, line string, key ssh.PublicKey)
}{
	{"host_key_fingerprint", false, func(_ *sshtest.Lab, o *term.SSHOptions, _ string, key ssh.PublicKey) {
		o.HostKeyFingerprint = ssh.FingerprintSHA256(key)
	}},
	{"known_hosts_path", false, func(l *sshtest.Lab, o *term.SSHOptions, line string, _ ssh.PublicKey) {
		o.KnownHostsPath = l.Write("callers/known", line)
	}},
	{"-o UserKnownHostsFile", false, func(l *sshtest.Lab, o *term.SSHOptions, line string, _ ssh.PublicKey) {
		o.ExtraArgs = []string{"-o", "UserKnownHostsFile=" + l.Write("callers/known", line)}
	}},
	{"-o GlobalKnownHostsFile", false, func(l *sshtest.Lab, o *term.SSHOptions, line string, _ ssh.PublicKey) {
		o.ExtraArgs = []string{"-o", "GlobalKnownHostsFile " + l.Write("callers/known", line)}
	}},
	{"a file and a fingerprint", false, func(l *sshtest.Lab, o *term.SSHOptions, line string, key ssh.PublicKey) {
		o.KnownHostsPath = l.Write("callers/known", line)
		o.HostKeyFingerprint = ssh.FingerprintSHA256(key)
		o.NoConfig = true
	}},
	{"config_path", true, func(l *sshtest.Lab, o *term.SSHOptions, line string, _ ssh.PublicKey) {
		config := "Host *\n User u\n UserKnownHostsFile " + l.Write(
			"callers/known",
			line,
		) + "\nHost 192.0.2.2\n ProxyJump 192.0.2.1\n"
		o.ConfigPath = l.Write("callers/config", config)
	}},
	{"-F with Include", true, func(l *sshtest.Lab, o *term.SSHOptions, line string, _ ssh.PublicKey) {
		included := l.Write("callers/included", "GlobalKnownHostsFile "+l.Write("callers/known", line)+"\n")
		o.ExtraArgs = []string{
			"-F",
			l.Write("callers/config", "Include "+included+"\nUser u\nHost 192.0.2.2\n ProxyJump 192.0.2.1\n"),
		}
	}},
	{"an authority", false, func(l *sshtest.Lab, o *term.SSHOptions, _ string, key ssh.PublicKey) {
		o.KnownHostsPath = l.Write(
			"callers/known",
			"@cert-authority * "+string(ssh.MarshalAuthorizedKey(key))+"192.0.2.1 "+string(ssh.MarshalAuthorizedKey(key)),
		)
	}},
}

// TestTrustOfACallNarrows checks each way in which a call brings its own trust,
// for the target and for a jump host. It must not admit a host that contradicts
// the operator's record, nor an unrecorded host with the floors strict and ask. A
// refused host must receive no credential.
func TestTrustOfACallNarrows(t *testing.T) {
	for _, from := range trustFrom {
		for _, place := range []string{"target", "jump host"} {
			if place == "jump host" && !from.jump {
				continue
			}
			for _, recorded := range []string{"nothing", "the key", "another key"} {
				for _, floor := range []string{"strict", "ask", "accept_new", "disabled"} {
					want := term.Kind("")
					switch {
					case recorded == "another key":
						want = term.HostKeyMismatch
					case recorded == "nothing" && (floor == "strict" || floor == "ask"):
						want = term.HostKeyUnknown
					}
					t.Run(strings.Join([]string{from.name, place, recorded, floor}, ", "), func(t *testing.T) {
						sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
							l.Opts.HostKeyFloor = floor
							config := sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}, AllowForward: true}
							target := sshtest.To(sshtest.Host1, "pass-1138")
							if place == "jump host" {
								key, pem := sshtest.NewKey(t)
								config = sshserver.Config{AuthorizedKeys: []ssh.PublicKey{key.PublicKey()}, AllowForward: true}
								l.Write(".ssh/id_ed25519", pem)
								l.Server(sshtest.Addr2, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
								target.Host = "192.0.2.2"
							}
							srv := l.Unrecorded(sshtest.Addr1, config)
							switch recorded {
							case "the key":
								l.Trust(sshtest.Addr1, srv.HostKey())
							case "another key":
								other, _ := sshtest.NewKey(t)
								l.Trust(sshtest.Addr1, other.PublicKey())
							}
							from.bring(l, &target.SSH, knownhosts.Line([]string{sshtest.Addr1}, srv.HostKey())+"\n", srv.HostKey())
							if want == "" {
								l.Client(target, sshtest.NoPrompter(t))
								return
							}
							e := l.Fails(target, sshtest.NoPrompter(t), want)
							sshtest.Untouched(t, srv)
							if floor != "accept_new" && strings.Contains(e.Msg, "pin it") {
								t.Errorf("the message %q advises what the floor %s forbids", e.Msg, floor)
							}
							if term.FactOf[term.HostKeyFailure](e).Fingerprint != ssh.FingerprintSHA256(srv.HostKey()) {
								t.Errorf("details = %+v, want the fingerprint that was offered", e.Facts)
							}
						})
					})
				}
			}
		}
	}
}

// TestRecordOfTheOperator checks that the operator's record is found for any
// change that a call makes to the configuration. The record has another key, and
// another file has the offered one.
func TestRecordOfTheOperator(t *testing.T) {
	for _, c := range []struct {
		name   string
		config string // of the operator; %record is the file with the other key
		alias  string // under which the other key is on record
		call   func(l *sshtest.Lab, t *term.Target)
	}{
		{"without the configuration", "UserKnownHostsFile %record\n", sshtest.Host1, func(_ *sshtest.Lab, t *term.Target) { t.SSH.NoConfig = true }},
		{"another configuration", "UserKnownHostsFile %record\n", sshtest.Host1, func(l *sshtest.Lab, t *term.Target) { t.SSH.ConfigPath = l.Write("callers/empty", "") }},
		{"-F none", "UserKnownHostsFile %record\n", sshtest.Host1, func(_ *sshtest.Lab, t *term.Target) { t.SSH.ExtraArgs = []string{"-F", "none"} }},
		{"an alias, without the configuration", "UserKnownHostsFile %record\nHostKeyAlias alias\n", "alias", func(_ *sshtest.Lab, t *term.Target) { t.SSH.NoConfig = true }},
		{"an alias, another configuration", "UserKnownHostsFile %record\nHostKeyAlias alias\n", "alias", func(l *sshtest.Lab, t *term.Target) { t.SSH.ConfigPath = l.Write("callers/empty", "") }},
		{"a tag", "Match tagged lab\n UserKnownHostsFile /dev/null\nMatch all\n UserKnownHostsFile %record\n", sshtest.Host1, func(_ *sshtest.Lab, t *term.Target) { t.SSH.ExtraArgs = []string{"-o", "Tag=lab"} }},
		{"by the name of another host", "Host lab\n UserKnownHostsFile /dev/null\n HostKeyAlias lab\nHost *\n UserKnownHostsFile %record\n", sshtest.Host1, func(_ *sshtest.Lab, t *term.Target) {
			t.Host, t.SSH.ExtraArgs = "lab", []string{"-o", "HostName=192.0.2.1"}
		}},
		{"a fingerprint besides", "UserKnownHostsFile %record\n", sshtest.Host1, func(_ *sshtest.Lab, t *term.Target) { t.SSH.NoConfig = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				srv := l.Unrecorded(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
				l.Trust(sshtest.Addr1, srv.HostKey()) // in ~/.ssh/known_hosts, which the operator's configuration does not use
				other, _ := sshtest.NewKey(t)
				record := l.Write("record", knownhosts.Line([]string{c.alias}, other.PublicKey())+"\n")
				l.Config(strings.ReplaceAll(c.config, "%record", record))
				target := sshtest.To(sshtest.Host1, "pass-1138")
				target.SSH.HostKeyPolicy = "accept_new"
				target.SSH.HostKeyFingerprint = ssh.FingerprintSHA256(srv.HostKey())
				c.call(l, &target)
				e := l.Fails(target, sshtest.NoPrompter(t), term.HostKeyMismatch)
				if len(term.FactOf[term.HostKeyFailure](e).Recorded) != 1 ||
					term.FactOf[term.HostKeyFailure](e).Recorded[0].File != record {
					t.Errorf("recorded = %+v, want the line of %s", term.FactOf[term.HostKeyFailure](e).Recorded, record)
				}
				sshtest.Untouched(t, srv)
			})
		})
	}
}

// An addressed connection reports the address of another host.
type addressed struct {
	net.Conn
	at net.TCPAddr
}

func (c addressed) RemoteAddr() net.Addr { return &c.at }

// TestChecksOfTheOperator checks that a call cannot switch off CheckHostIP or the
// operator's key rules.
func TestChecksOfTheOperator(t *testing.T) {
	for _, c := range []struct {
		name   string
		config string
		extra  []string
		none   bool
	}{
		{name: "by an option", config: "CheckHostIP yes\n", extra: []string{"-o", "CheckHostIP=no"}},
		{name: "without the configuration", config: "CheckHostIP yes\n", none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				srv := l.Server(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
				other, _ := sshtest.NewKey(t)
				l.Trust("192.0.2.7", other.PublicKey())
				l.Opts.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := l.Dial(ctx, network, address)
					return addressed{conn, net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 22}}, err
				}
				l.Config(c.config)
				target := sshtest.To(sshtest.Host1, "pass-1138")
				target.SSH = term.SSHOptions{ExtraArgs: c.extra, NoConfig: c.none}
				l.Fails(target, sshtest.NoPrompter(t), term.HostKeyMismatch)
				sshtest.Untouched(t, srv)
				l.Config("")
				l.Client(target, sshtest.NoPrompter(t)) // the refusal above was because of the address
			})
		})
	}
}

// TestOwnJumpOptions checks that options of a jump host in the operator's own
// configuration stay in effect with options of a call.
func TestOwnJumpOptions(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Opts.HostKeyFloor = "strict"
		jump := l.Unrecorded(sshtest.Addr1, sshserver.Config{AllowForward: true})
		l.Server(sshtest.Addr2, sshserver.Config{})
		known := l.Write("jump_known", knownhosts.Line([]string{sshtest.Addr1}, jump.HostKey())+"\n")
		l.Config("Host 192.0.2.2\n ProxyCommand ssh -o UserKnownHostsFile=" + known + " -W %h:%p 192.0.2.1\n")
		target := sshtest.To("192.0.2.2", "")
		target.SSH.ExtraArgs = []string{"-o", "Compression=no"}
		l.Client(target, sshtest.NoPrompter(t))
		if jump.Stats().Authenticated != 1 {
			t.Errorf("the jump host was logged in to %d times, want 1", jump.Stats().Authenticated)
		}
	})
}
