package sshconfig

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes configurations; ssh accepts most of them. It uses math/rand only for the
// PCG stream, which never changes, so that the recorded answers stay valid.
type generator struct{ pcg *rand.PCG }

func (g generator) n(limit int) int { return int(g.pcg.Uint64() % uint64(limit)) }

func (g generator) pick(list ...string) string { return list[g.n(len(list))] }

var randomHosts = []string{"foo", "bar", "foo.example.com", "10.0.0.7", "web1", "FOO"}

// randomCases returns count configurations, the same in each call.
func randomCases(count int) []corpusCase {
	var cases []corpusCase
	for i := range count {
		g := generator{rand.NewPCG(1, uint64(i))}
		c := corpusCase{
			topic: "random", name: fmt.Sprintf("%03d", i), oracle: true,
			host:  g.pick(randomHosts...),
			files: map[string]string{"config": g.file(0)},
		}
		for n := range g.n(3) {
			c.files[fmt.Sprintf("inc%d.conf", n)] = g.file(1)
		}
		switch g.n(4) {
		case 0:
			c.args = []string{"-o", g.line()}
		case 1:
			c.args = []string{"-l", g.pick("bob", "carol"), "-p", "2200", g.pick("-4", "-6", "-A", "-a", "-t", "-T", "-C")}
		}
		cases = append(cases, c)
	}
	return cases
}

func (g generator) file(depth int) string {
	var b strings.Builder
	for range 3 + g.n(20) {
		b.WriteString(g.pick("", "  ", "\t"))
		switch g.n(10) {
		case 0, 1:
			b.WriteString(g.block())
		case 2:
			b.WriteString(g.pick("# comment", "", "   ", "#Port 99"))
		case 3:
			if depth == 0 {
				b.WriteString(
					"Include " + g.pick("@DIR@/inc0.conf", "@DIR@/inc*.conf", "@DIR@/none", "@DIR@/inc1.conf @DIR@/inc0.conf"),
				)
			}
		default:
			b.WriteString(g.line())
		}
		b.WriteString(g.pick("\n", "\n", " \n", "\r\n"))
	}
	return b.String()
}

func (g generator) block() string {
	patterns := func() string {
		return g.pick(
			"*",
			"foo",
			"FOO",
			"bar",
			"!foo",
			"f*",
			"fo?",
			"*.example.com",
			"10.*",
			"web?",
			"real",
			"real.example.com",
			"\"foo\"",
		)
	}
	if g.n(2) == 0 {
		s := "Host"
		for range 1 + g.n(3) {
			s += g.pick(" ", "\t", "  ") + patterns()
		}
		return s
	}
	if g.n(6) == 0 {
		return "Match " + g.pick("all", "final", "final all", "canonical", "!canonical", "!all")
	}
	s := "Match"
	for range 1 + g.n(2) {
		s += " " + g.pick("", "", "!")
		switch g.n(6) {
		case 0:
			s += "host " + g.pick("foo", "real", "*", "!foo,*", "foo,bar", "*.example.com", "Real.*")
		case 1:
			s += "originalhost " + g.pick("foo", "FOO", "bar,web*", "*")
		case 2:
			s += "user " + g.pick("bob", "carol", "@USER@", "b*,!bob")
		case 3:
			s += "localuser " + g.pick("@USER@", "nobody-else")
		case 4:
			s += "exec " + g.pick("/bin/true", "/bin/false", `"test %n = foo"`, `"test %h = real"`)
		default:
			s += g.pick("host=foo", "user=bob", "originalhost=foo,bar")
		}
	}
	return s
}

// line returns a line that sets a keyword.
func (g generator) line() string {
	flag := func() string { return g.pick("yes", "no", "true", "false", "Yes") }
	var key, value string
	switch g.n(30) {
	case 0:
		key, value = "HostName", g.pick("real", "%h.example.com", "REAL", "10.1.1.1", "\"real\"", "a%%b")
	case 1:
		key, value = "User", g.pick("bob", "carol", `"al ice"`, `'x y'`, `CORP\bob`, `a\ b`, `a#b`)
	case 2:
		key, value = "Port", g.pick("22", "2222", "65535", "2223 # comment")
	case 3:
		key, value = "BatchMode", flag()
	case 4:
		key, value = "ConnectTimeout", g.pick("5", "1m", "1h30m", "none", "90s", "2w")
	case 5:
		key, value = "IdentityFile", g.pick("/k/a", "/k/b", "~/.ssh/c", `"/k/d e"`, "none")
	case 6:
		key, value = "CertificateFile", g.pick("/k/a-cert.pub", "~/b-cert.pub")
	case 7:
		key, value = "StrictHostKeyChecking", g.pick("yes", "no", "ask", "accept-new", "off", "true")
	case 8:
		key, value = "UserKnownHostsFile", g.pick("/a", "~/b", "none", "/c /d", "/e/%h/%n/%p/%r/%u/%k/%%", `"/f g" ~/h`)
	case 9:
		key, value = "GlobalKnownHostsFile", g.pick("/a", "/b /c", "none")
	case 10:
		key, value = "ProxyJump", g.pick("none", "gw", "bob@gw:2222", "a,b@c", "[::1]:22", "ssh://x@y:23")
	case 11:
		key, value = "ProxyCommand", g.pick("none", "nc %h %p", `sh -c "nc %h %p"`, "nc %n %r # x")
	case 12:
		key, value = "SendEnv", g.pick("LANG", "LC_* X", "-LC_*", "Y -X", "EDITOR")
	case 13:
		key, value = "SetEnv", g.pick("A=1", `A=1 "B=2 3"`, "C=")
	case 14:
		key, value = "KexAlgorithms", g.pick(
			"",
			"+",
			"-",
			"^",
		)+g.pick(
			"curve25519-sha256",
			"ecdh-sha2-nistp256,ecdh-sha2-nistp384",
			"diffie-hellman-group14-sha1",
		)
	case 15:
		key, value = "Ciphers", g.pick(
			"",
			"+",
			"-",
			"^",
		)+g.pick(
			"aes128-ctr",
			"3des-cbc",
			"aes256-gcm@openssh.com,aes128-cbc",
		)
	case 16:
		key, value = "MACs", g.pick("", "+", "-", "^")+g.pick("hmac-sha1", "hmac-sha2-512", "umac-64@openssh.com,hmac-md5")
	case 17:
		key, value = g.pick(
			"HostKeyAlgorithms",
			"PubkeyAcceptedAlgorithms",
			"PubkeyAcceptedKeyTypes",
			"CASignatureAlgorithms",
		),
			g.pick(
				"",
				"+",
				"-",
				"^",
			)+g.pick(
				"ssh-ed25519",
				"rsa-sha2-256,rsa-sha2-512",
				"ecdsa-sha2-nistp256",
			)
	case 18:
		key, value = g.pick(
			"ServerAliveInterval",
			"ServerAliveCountMax",
			"NumberOfPasswordPrompts",
			"ConnectionAttempts",
		), g.pick(
			"1",
			"3",
			"10",
		)
	case 19:
		key, value = g.pick(
			"TCPKeepAlive",
			"KeepAlive",
			"HashKnownHosts",
			"CheckHostIP",
			"IdentitiesOnly",
			"NoHostAuthenticationForLocalhost",
		), flag()
	case 20:
		key, value = g.pick(
			"PasswordAuthentication",
			"KbdInteractiveAuthentication",
			"ChallengeResponseAuthentication",
			"PubkeyAuthentication",
		), flag()
	case 21:
		key, value = "PreferredAuthentications", g.pick("publickey", "password,publickey")
	case 22:
		key, value = "AddKeysToAgent", g.pick("yes", "no", "ask", "confirm", "confirm 5m", "1h")
	case 23:
		key, value = "RequestTTY", g.pick("yes", "no", "force", "auto")
	case 24:
		key, value = "RekeyLimit", g.pick("1G", "default", "64K 1h", "default none", "2M 30")
	case 25:
		key, value = "HostKeyAlias", g.pick("alias", "ALIAS")
	case 26:
		key, value = g.pick("AddressFamily", "addressfamily"), g.pick("inet", "inet6", "any")
	case 27:
		key, value = "ForwardAgent", g.pick("yes", "no", "/run/agent.sock", "~/agent.sock")
	case 28:
		key, value = "RemoteCommand", g.pick("none", "uptime", `tmux new -s "%n" # x`)
	default:
		key = g.pick("BindAddress", "RequiredRSASize", "Protocol", "LogLevel", "Compression", "ControlMaster")
		switch key {
		case "BindAddress":
			value = "192.0.2.1"
		case "RequiredRSASize":
			value = "2048"
		case "Protocol":
			value = "2"
		case "LogLevel":
			value = "ERROR"
		default:
			value = "no"
		}
	}
	switch g.n(6) {
	case 0:
		key = strings.ToLower(key)
	case 1:
		key = strings.ToUpper(key)
	}
	return key + g.pick(" ", "=", " = ", "\t", "  ") + value
}
