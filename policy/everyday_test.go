package policy_test

import (
	"strings"
	"testing"

	"ptyctl/policy"
)

// administrator is a typical list of allowed commands for an agent that
// maintains a few Linux servers.
var administrator = []string{
	"uptime", "df *", "free *", "ps *", "top -b *", "systemctl status *", "systemctl restart nginx", "systemctl list-units *", "journalctl *", "tail *", "head *", "grep *",
	"du *", "ls *", "cat *", "ss *", "ip *", "find *", "sort *", "uniq *", "wc *", "cut *", "tr *", "awk {print $1} *", "awk -F: $3 >= 1000 {print $1} /etc/passwd", "awk {print $1}", "sed -n 1,20p *", "dmesg *", "last *", "who", "id *", "uname *", "lsof *",
	"curl *", "dig *", "getent *", "crontab -l", "docker ps *", "docker logs *", "kubectl get *", "git *", "test *", "[ *", "echo *", "printf *", "stat *", "file *", "mount",
	"column *", "openssl x509 *", "date *", "hostname *", "cd *", "xargs -n1 echo", "printenv *", "sudo systemctl restart nginx", "sudo nginx -t", "sh -c *",
	"sha256sum *", "zcat *", "tee /tmp/*", "true", "pgrep *", "kill *", "nginx -t", "apt list *", "LANG=*", "> /tmp/*", "/opt/check.sh *", "ping -c *",
}

// everyday holds lines of administrators. After "=>" is the line to which the
// advice of a denial leads, and after "~~" the advice.
const everyday = `
uptime
df -h /
free -m
ps aux | grep nginx
ps aux | grep [n]ginx
ps -eo pid,ppid,cmd,%mem --sort=-%mem | head -10
systemctl status nginx --no-pager
systemctl status nginx 2>&1 | tail -20
sudo systemctl restart nginx
journalctl -u nginx -n 50 --no-pager
journalctl -u ssh --since "1 hour ago" | grep -i fail
tail -n 100 /var/log/syslog
grep -i error /var/log/*.log | tail -5
grep -c "model name" /proc/cpuinfo
du -sh /var/* 2>/dev/null | sort -h | tail
ls -la /etc/nginx/sites-enabled
ls ~/.ssh
ls *.conf
cat /etc/os-release
cat /var/log/{syslog,auth.log} | wc -l
ss -tlnp
ip addr show
find /var/log -name '*.log' -mtime -1
find /tmp -type f -size +100M -exec ls -lh {} \;
awk '{print $1}' /var/log/nginx/access.log | sort | uniq -c | sort -rn | head
awk -F: '$3 >= 1000 {print $1}' /etc/passwd
sed -n '1,20p' /etc/fstab
dmesg | tail -20
last -n 10
who
id www-data
uname -a
lsof -i :80
curl -s http://localhost/health
curl -sI https://example.net | head -1
dig +short example.net
getent passwd www-data
crontab -l
docker ps --format '{{.Names}}\t{{.Status}}'
docker logs --tail 50 web 2>&1 | grep ERROR
kubectl get pods -n default -o wide
cd /srv/app && git status
git -C /srv/app log --oneline -5
test -f /etc/nginx/nginx.conf && echo yes || echo no
[ -d /srv/app ] && ls /srv/app
wc -l /etc/passwd
stat -c '%a %n' /etc/shadow
mount | column -t
openssl x509 -in /etc/ssl/cert.pem -noout -dates
date +%Y-%m-%d
LANG=C sort -u /tmp/in > /tmp/out
sh -c 'df -h; free -m'
sudo nginx -t && sudo systemctl restart nginx
ls /srv/app | xargs -n1 echo
echo $PATH => printenv PATH ~~ printenv PATH
echo "Today is $(date)" => date ~~ run the inner command first
for i in 1 2 3; do ping -c 1 web$i; done => ping -c 1 web1 && ping -c 1 web2 && ping -c 1 web3 ~~ write the command once for each word
kill $(pgrep stuck) => kill 4711 ~~ write out what it printed
cat <<EOF > /tmp/x\nhello\nEOF => tee /tmp/x ~~ the call's own input
if systemctl status nginx; then echo up; fi => systemctl status nginx && echo up ~~ use && and ||
while read l; do echo "$l"; done < /tmp/in => /opt/check.sh /tmp/in ~~ put the script into a file that an entry allows
ls -l $HOME => ls -l ~ ~~ write ~
`

// TestEveryday checks that most lines run unchanged, and that every denial
// leads to a line that runs.
func TestEveryday(t *testing.T) {
	p := gate(t, policy.Rules{Allow: rules("allow", administrator...)})
	asWritten, all := 0, 0
	for line := range strings.SplitSeq(strings.TrimSpace(everyday), "\n") {
		line, instead, denial := strings.Cut(line, " => ")
		instead, advice, _ := strings.Cut(instead, " ~~ ")
		line = strings.ReplaceAll(line, `\n`, "\n")
		all++
		_, err := ruled(t, p, "posix", line)
		switch {
		case !denial && err != nil:
			t.Errorf("%s is denied: %v; want it allowed", line, err)
		case denial && err == nil:
			t.Errorf("%s is allowed, want a denial with advice", line)
		case denial && !strings.Contains(denied(t, err).Msg, advice):
			t.Errorf("%s is denied with %s, want the advice %q", line, denied(t, err).Msg, advice)
		case denial:
			if _, err := ruled(t, p, "posix", instead); err != nil {
				t.Errorf("%s, the advice for %s, is denied: %v; want it allowed", instead, line, err)
			}
		default:
			asWritten++
		}
	}
	if t.Logf("%d of %d lines run as they are written", asWritten, all); asWritten*60 < all*45 {
		t.Errorf("%d of %d lines run as they are written, want 45 of 60", asWritten, all)
	}
}
