package scrub

import (
	"os"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

func TestText(t *testing.T) {
	const s = "s3cr3t-Value!1138" // the secret in all commands
	leaktest.Secret(t, s)
	for _, c := range []struct{ in, want string }{
		{"mysql --password=" + s + " db", "mysql --password=[redacted] db"},
		{"PGPASSWORD=" + s + " psql", "PGPASSWORD=[redacted] psql"},
		{"export API_KEY='" + s + " and more'", "export API_KEY=[redacted]"},
		{`curl -d '{"password": "` + s + `"}' http://h`, ""},
		{`echo "{\"token\":\"` + s + `\"}"`, ""},
		{"vault login -token " + s, "vault login -token [redacted]"},
		{"x --token " + s + " --name web1", "x --token [redacted] --name web1"},
		{"x --api-key \"" + s + " b\" c", "x --api-key [redacted] c"},
		{`x --token a"` + s + `"'` + s + `' c`, "x --token [redacted] c"},
		{"curl -H 'Authorization: Bearer " + s + "' http://h", "curl -H 'Authorization: [redacted]' http://h"},
		{`curl -H "X-Api-Key: ` + s + `" http://h`, `curl -H "X-Api-Key: [redacted]" http://h`},
		{"curl -H 'Cookie: sid=" + s + "'", "curl -H 'Cookie: [redacted]'"},
		{"git clone https://bob:" + s + "@example.org/x.git", "git clone https://bob:[redacted]@example.org/x.git"},
		{"git clone https://bob:a@" + s + "@example.org/x.git", "git clone https://bob:[redacted]@example.org/x.git"},
		{"git clone https://" + strings.Repeat("x", 20) + s + "@example.org/x.git", "git clone https://[redacted]@example.org/x.git"},
		{"curl -u bob:" + s + " http://h", "curl -u bob:[redacted] http://h"},
		{"curl --user 'bob:" + s + "' http://h", ""},
		{"mysql -u root -p" + s, "mysql -u root -p[redacted]"},
		{"sshpass -p " + s + " ssh h", "sshpass -p [redacted] ssh h"},
		{"sshpass -p" + s + " ssh h", "sshpass -p[redacted] ssh h"},
		{"echo " + s + " | sudo -S id", "echo [redacted] | sudo -S id"},
		{"printf '%s' " + s + " | docker login -u x --password-stdin", ""},
		{"sudo -S id <<< " + s, "sudo -S id <<< [redacted]"},
		{"enable secret 5 " + s, "enable secret 5 [redacted]"},
		{"username bob privilege 15 password 0 " + s, "username bob privilege 15 password 0 [redacted]"},
		{"snmp-server community " + s + " RO", "snmp-server community [redacted] RO"},
		{"ip ospf message-digest-key 1 md5 " + s, "ip ospf message-digest-key 1 md5 [redacted]"},
		{"set passphrase: " + s, "set passphrase: [redacted]"},
		{"x ghp_" + strings.Repeat("a1", 18), "x [redacted]"},
		{"x AKIAABCDEFGHIJKLMNOP", "x [redacted]"},
		{"x eyJhbGciOiJI.eyJzdWIiOiIx.abc-_9", "x [redacted]"},
		{"cat <<E\n-----BEGIN OPENSSH PRIVATE KEY-----\n" + s + "\n-----END OPENSSH PRIVATE KEY-----\nE", "cat <<E\n[redacted]\nE"},
		{"cat <<E\n-----BEGIN RSA PRIVATE KEY-----\n" + s, "cat <<E\n[redacted]"},
	} {
		got := Text(c.in)
		leaktest.Output(t, "redacted", got)
		if strings.Contains(got, s) || c.want != "" && got != c.want {
			t.Errorf("Text(%q) = %s, want %s without the secret", c.in, got, c.want)
		}
		if again := Text(got); again != got && strings.Count(again, redacted) != strings.Count(got, redacted) {
			t.Errorf("Text(%q) again = %s, want no change", got, again)
		}
	}
	for _, same := range []string{
		"", "ls -la /etc", "systemctl restart nginx", "git log -1 --format=%h", "show running-config", "ps aux | grep sshd", "tar -xpf a.tar", "ssh://bob@example.org/",
		"docker run -p 8080:80 nginx", "cut -d: -f1 /etc/passwd", "find / -name '*.conf'", "curl https://example.org:8443/a@b", "id -u; whoami",
	} {
		if got := Text(same); got != same {
			t.Errorf("Text(%q) = %q, want no change", same, got)
		}
	}
}

func BenchmarkText(b *testing.B) {
	for name, in := range map[string]string{
		"plain":  "cd /srv/app && git pull && systemctl restart app",
		"secret": "mysql --password=hunter2 -e 'select 1'",
		"worst":  strings.Repeat("password password= \"x ", (8<<10)/23),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Text(in)
			}
		})
	}
}
