package preset

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"ptyctl/policy/grammar"
)

// TestPresetsParse checks that the files of all presets can be parsed, and that
// there is no other preset.
func TestPresetsParse(t *testing.T) {
	for _, name := range Names() {
		if p, err := Named(name); err != nil || len(p.programs) < 10 {
			t.Errorf("presetNamed(%q) = %v, want a list of programs", name, err)
		}
	}
	if _, err := Named("read-write"); err == nil || !strings.Contains(err.Error(), "read-only-linux") {
		t.Errorf("presetNamed of an unknown name = %v, want an error that lists the presets", err)
	}
	for _, wrong := range []string{"ls", "ls: -a", "ls: -a ; many", "ls: a ; *", "ls: -a -a ; *", "ls: ; *\nls: ; *",
		"git: ; sub", "git: ; *\ngit log: ; *", "git log: ; *", "ls: ; /(/", "ls: -ab: ; *"} {
		if _, err := parsePreset("x", wrong); err == nil {
			t.Errorf("parsePreset(%q) takes it, want an error", wrong)
		}
	}
}

// presetWords returns the literal words of a simple command; unquoted * and ?
// are holes.
func presetWords(t *testing.T, line string) [][]string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Fatalf("parse %q: %v", line, err)
	}
	var out [][]string
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			var words []string
			for _, a := range call.Args {
				words = append(words, grammar.ReadWord(a).Text)
			}
			out = append(out, words)
		}
		return true
	})
	return out
}

// presetVerdict returns why a line is not in a preset, or "" if it is.
func presetVerdict(t *testing.T, p *List, line string) string {
	t.Helper()
	for _, words := range presetWords(t, line) {
		if ok, why := p.Allows(words); !ok {
			if why == "" {
				t.Errorf("%q is denied without a reason, want one", line)
			}
			return why
		}
	}
	return ""
}

// checkPreset judges a table of lines: + must be in the preset, - must not.
func checkPreset(t *testing.T, name, table string) (allowed, not int) {
	t.Helper()
	p, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		why := presetVerdict(t, p, line[2:])
		switch {
		case line[0] == '+':
			allowed++
			if why != "" {
				t.Errorf("%s denies %q: %s; want it allowed", name, line[2:], why)
			}
		default:
			not++
			if why == "" {
				t.Errorf("%s has %q, want it denied", name, line[2:])
			}
		}
	}
	return allowed, not
}

// presetLines holds everyday lines for servers, and lines that write, run
// others or change something.
const presetLines = `
+ ls
+ ls -la /var/log
+ ls -lhtr --color=never /etc /tmp
+ /bin/ls -l
+ /usr/bin/ls -- -x
+ ls /var/log/*.log
+ cat /etc/hostname
+ cat -n /etc/hosts /etc/fstab
+ cat /proc/cpuinfo
+ grep -l x /proc/*/status
+ cat /sys/class/net/eth0/address
+ cat /dev/null
+ git log '--format=%+s%n%%G' -1
+ git tag -l --sort=-v:refname
+ cd /var/log/..
+ cat /var/log/sys*
+ tac /var/log/syslog
+ head -n 20 /var/log/syslog
+ head -20 /var/log/syslog
+ head -c100 /etc/passwd
+ tail -f /var/log/syslog
+ tail -n +5 /etc/passwd
+ tail -n 50 /var/log/nginx/*.log
+ tail --lines=5 /etc/passwd
+ grep -rn --include='*.conf' listen /etc/nginx
+ grep -c ^processor /proc/cpuinfo
+ grep -A3 -B 3 -i error /var/log/syslog
+ egrep 'a|b' /etc/hosts
+ grep -E 'fail|error' /var/log/auth.log | tail -5
+ grep -- -v /etc/hosts
+ sed -n 10,20p /etc/passwd
+ sed -n '5p' /etc/passwd
+ sed -n '5,$p' /etc/passwd
+ awk '{print $1}' /etc/hosts
+ awk -F: '{print $1, $3}' /etc/passwd
+ ps aux | awk '{print $2}' | head -5
+ wc -l /etc/passwd
+ cut -d: -f1 /etc/passwd
+ cut -d : -f 1,3 /etc/passwd
+ tr a-z A-Z
+ tr -d '\n'
+ sort -k2 -n /etc/fstab
+ sort -t: -k3,3n -u /etc/passwd
+ sort | uniq -c | sort -rn | head
+ uniq -c /etc/hosts
+ column -t /etc/fstab
+ nl /etc/hosts
+ od -c /etc/hostname
+ od -A x -t x1z /etc/hostname
+ hexdump -C /etc/hostname
+ strings -n 8 /bin/ls
+ jq -r '.a[] | .b' /tmp/x.json
+ jq --arg x y '.[$x]' /tmp/x.json
+ diff -u /etc/hosts /etc/hosts.bak
+ cmp /etc/hosts /etc/hosts.bak
+ md5sum /etc/hosts
+ sha256sum -c sums
+ stat /etc/passwd
+ stat -c '%U %a' /etc/passwd
+ file -b /bin/ls
+ du -sh /var/log /tmp
+ du -h --max-depth=1 /var
+ du -d 1 -x /var
+ df -h
+ df -hT /var
+ df -x tmpfs --output=source,pcent
+ readlink -f /etc/localtime
+ realpath /etc/mtab
+ basename /a/b.txt .txt
+ dirname /a/b
+ find /etc -name '*.conf'
+ find /var/log -type f -mtime -1 -size +1M
+ find . -maxdepth 1 -name x -o -name y
+ find /srv '(' -name x -o -perm -u+s ')' -print
+ find /var -xdev -printf '%s %p\n'
+ find /srv ! -user root -ls
+ echo hello
+ echo -n a -e b
+ printf '%s\n' a b
+ printf '%-10s|%5.2s\n' -x y
+ true
+ :
+ test -f /etc/passwd && echo yes
+ [ -d /srv ] || echo no
+ pwd
+ cd /var/log && ls
+ umask
+ ulimit -a
+ which nginx
+ type -a ls
+ command -v nginx
+ seq 1 5
+ sleep 1
+ date
+ date -u +%s
+ date -d '2 days ago' +%F
+ date -d '-1 day'
+ uname -a
+ uname -r
+ hostname
+ hostname -f
+ hostnamectl
+ timedatectl status
+ uptime
+ free -m
+ nproc
+ lscpu
+ lsblk
+ lsblk -o NAME,SIZE,MOUNTPOINT
+ findmnt /
+ mount
+ lsmod
+ lspci -nn
+ vmstat 1 3
+ iostat -x 1 2
+ ps aux
+ ps -ef
+ ps -eo pid,comm --sort=-rss
+ ps -p 1 -o args=
+ top -bn1
+ top -b -n 1 -o %MEM
+ pgrep -a sshd
+ pidof sshd
+ pstree -p
+ lsof -i :22
+ lsof -nP -iTCP -sTCP:LISTEN
+ who
+ w
+ whoami
+ id
+ id root
+ groups root
+ last -n 5
+ last -5
+ lastlog -u root
+ getent passwd root
+ getent hosts localhost
+ env
+ printenv PATH
+ sysctl -a
+ sysctl net.ipv4.ip_forward
+ dmesg -T
+ dmesg --level=err,warn
+ journalctl -u nginx --since '1 hour ago' --no-pager
+ journalctl -n 50 -p err
+ journalctl -xe
+ journalctl -b -1 -k
+ journalctl --disk-usage
+ systemctl status nginx
+ systemctl is-active sshd
+ systemctl --failed
+ systemctl list-units --type=service --state=running
+ systemctl show -p MainPID nginx
+ systemctl cat sshd.service
+ systemctl list-timers --all
+ crontab -l
+ ip a
+ ip -br addr
+ ip -4 addr show eth0
+ ip route
+ ip r get 1.1.1.1
+ ip -s link show
+ ip neigh
+ ip rule list
+ ss -tulpn
+ ss -s
+ ss -tn state established
+ netstat -tulpn
+ netstat -rn
+ ping -c 3 localhost
+ ping -c1 -W 2 10.0.0.1
+ traceroute -n 10.0.0.1
+ dig example.com
+ dig @8.8.8.8 +short example.com MX
+ dig -x 10.0.0.1
+ host example.com
+ nslookup example.com
+ nslookup -type=mx example.com 8.8.8.8
+ arp -an
+ route -n
+ ifconfig -a
+ ethtool eth0
+ ethtool -S eth0
+ iptables -L -n -v
+ iptables -nvL INPUT
+ iptables -t nat -S
+ nft list ruleset
+ resolvectl status
+ chronyc sources
+ dpkg -l
+ dpkg -S /bin/ls
+ rpm -qa
+ rpm -qi bash
+ rpm -q --changelog bash
+ apt list --installed
+ apt-cache policy nginx
+ git status
+ git -C /srv/app log --oneline -5
+ git --no-pager show HEAD
+ git diff --stat HEAD~1
+ git log --format='%h %an %s' -n 3
+ git branch -a
+ git remote -v
+ docker ps -a
+ docker logs --tail 50 web
+ docker inspect -f '{{.State.Status}}' web
+ docker stats --no-stream
+ docker images
+ docker container ls
+ docker system df
+ kubectl get pods -A
+ kubectl get pod x -n web -o yaml
+ kubectl -n web logs deploy/x --tail=20
+ kubectl describe node n1
+ kubectl top pods
+ kubectl rollout status deploy/x
+ timeout 5 ls -l
+ timeout -k 1 5s nice -n 5 cat /etc/hosts
- rm x
- bash
- sh -c ls
- /tmp/ls
- ./ls
- /bin/../tmp/ls
- LS
- ls --rsh
- ls --al
- ls --color auto --x
- cat /dev/watchdog
- cat ../../../dev/watchdog
- cat //dev/./watchdog
- cat /proc/1/root/dev/watchdog
- head /dev/sda
- cat /d*/watchdog
- cat /*/watchdog
- cat /proc/kmsg
- cat /proc/1/fd/3
- cat /proc/1/*/3
- cat /sys/kernel/tracing/trace_pipe
- cat dev/watchdog
- cd /dev
- grep -f /dev/watchdog x
- git log '--format=%+G?'
- git log '--format=% GS'
- git branch --list --sort=signature
- rpm -q '%(id)'
- cat *
- cat ?x
- tail --rotate x
- grep -P x --file=y *
- grep --open-files-in-pager x
- zgrep x y
- sed 5p x
- sed -n '1e id' x
- sed -n 's/a/b/w y' x
- sed -i -n 5p x
- sed -n -i 5p x
- sed -n 5p -i x
- sed -n -e 5p x
- sed -n 'w y' x
- awk 'BEGIN{system("id")}'
- awk '{print $1 > "x"}' y
- awk '{print $1 | "sh"}' y
- awk -f x y
- awk -v a=b '{print $1}' y
- perl -e 1
- python3 -c 1
- file -p x
- sort -o x y
- sort -ox y
- sort -uo x y
- sort --output=x y
- sort --compress-program=sh y
- sort -T /x y
- sort --files0-from=x
- uniq a b
- uniq a -c b
- uniq -c a b
- uniq a*
- uniq -- a b
- tee x
- dd if=/dev/zero of=x
- xxd -r a b
- file -C -m x
- file -z x
- diff -l a b
- diff --paginate a b
- jq -f x y
- find . -delete
- find . -exec id '{}' ';'
- find . -execdir id '{}' ';'
- find . -ok id ';'
- find . -okdir id ';'
- find . -fprintf x y
- find . -fprint x
- find . -fprint0 x
- find . -fls x
- find . -name *.log
- find . -files0-from x
- find . -name -delete
- find -D exec
- find . -nam x
- xargs ls
- env ls
- env -i
- env A=b
- env -S ls
- printf -v x y
- printf '%d' 'path[1,$(id)]'
- printf '%*s' 'a[$(id)]' x
- printf '%n' x
- printf '\x41'
- test 'a[$(id)]' -eq 1
- [ 'a[$(id)]' -eq 1 ]
- test '$x'
- [ "$(id -u)" ]
- test -v 'a[1]'
- command ls
- command -p ls
- date -s 2020-01-01
- date --set=2020-01-01
- date 010100002020
- date -us x
- hostname evil
- hostname -F /x
- hostname -b x
- hostnamectl set-hostname x
- hostnamectl hostname x
- timedatectl set-time x
- loginctl terminate-user root
- mount /dev/sda1 /mnt
- mount -a
- mount -o remount /
- swapon -a
- swapon /dev/sda2
- sysctl -w net.ipv4.ip_forward=1
- sysctl net.ipv4.ip_forward=1
- sysctl -p
- sysctl --system
- dmesg -c
- dmesg -C
- dmesg -Tc
- dmesg -n 1
- dmesg -D
- dmesg --clear
- dmesg --read-clear
- journalctl --vacuum-size=1M
- journalctl --vacuum-time=1d
- journalctl --rotate
- journalctl --flush
- journalctl --sync
- journalctl --setup-keys
- journalctl --cursor-file=x
- systemctl restart nginx
- systemctl stop nginx
- systemctl --failed stop nginx
- systemctl daemon-reload
- systemctl edit x
- systemctl -H host status
- systemctl set-environment A=b
- systemctl set-property x y
- crontab -r
- crontab -e
- crontab x
- crontab
- ip link set eth0 down
- ip addr add 10.0.0.1 dev eth0
- ip a a 10.0.0.1 dev eth0
- ip route del default
- ip r f
- ip -batch x
- ip -b x
- ip netns exec x id
- ip vrf exec x id
- ip netns add x
- ip -n x addr
- ss -K
- ss -tK
- ss -D x
- ss --kill
- netstat -x y
- ping localhost
- ping -f -c 3 localhost
- ping -c x localhost
- ping -c 3 -i 0 localhost
- nslookup
- dig -f x
- arp -d host
- arp -s a b
- arp -f x
- route add default gw x
- ifconfig eth0 down
- ethtool -s eth0 speed 10
- ethtool -K eth0 gro off
- ethtool -p eth0
- iptables -F
- iptables -A INPUT -j DROP
- iptables -n -v
- iptables -L -Z
- nft flush ruleset
- nft list 'ruleset; flush ruleset'
- nft -f x
- nmcli device disconnect eth0
- nmcli con up x
- resolvectl flush-caches
- resolvectl dns eth0 1.1.1.1
- chronyc makestep
- dpkg -i x.deb
- dpkg -r x
- dpkg --configure -a
- dpkg --pre-invoke=id -l
- rpm -i x
- rpm -e x
- rpm -Uvh x
- rpm --eval '%(id)'
- rpm -qa --pipe id
- rpm -q --define 'x y' bash
- rpm -V bash
- apt install x
- apt update
- apt -o x=y list
- apt-get update
- apt-cache -c x policy y
- git push
- git commit -m x
- git -c core.pager=id log
- git -c alias.x='!id' x
- git --exec-path=/x log
- git -p log
- git log --output=x
- git diff --output=x
- git diff --ext-diff
- git log --textconv -p
- git log --show-signature
- git log '--format=%G?'
- git log --format=%G
- git log '--pretty=%an%G?'
- git show '--format=%h%GS'
- git log --pretty=format:%GG
- git grep -O x
- git branch x
- git branch -D x
- git branch -a x
- git tag x
- git tag -d x
- git remote add x y
- git stash
- git stash pop
- git reflog expire --all
- git config x y
- git st
- git fetch
- docker run x
- docker exec web id
- docker rm web
- docker -H tcp://x ps
- docker --config x ps
- docker cp a b
- docker system prune
- docker container rm x
- docker context use x
- docker compose up
- kubectl exec x -- id
- kubectl delete pod x
- kubectl apply -f x
- kubectl --kubeconfig=x get pods
- kubectl get --raw=/x
- kubectl cp a b
- kubectl cluster-info dump --output-directory=x
- kubectl rollout restart deploy/x
- kubectl config set-context x
- kubectl config use-context x
- timeout 5 rm x
- timeout 5 timeout 5 sh
- timeout 5
- timeout x ls
- nice rm x
- nice -n 5 sh -c ls
- nohup ls
- sudo ls
- sudo -n ls
- ssh h ls
- curl http://x
- curl -o x http://x
- wget http://x
- tar tf x
- tar -I sh -xf x
- less x
- man x
- vi x
- top
- top -n 1
- lsof -D b
- lastlog -C -u root
- free -x
- uptime now
- tail -f x --pid 1 --x
- unknown
`

func TestPresetLinux(t *testing.T) {
	allowed, not := checkPreset(t, "read-only-linux", presetLines)
	if allowed < 150 || not < 150 {
		t.Errorf("%d lines that are allowed and %d that are not, want 150 of each", allowed, not)
	}
}

// presetNetworkLines holds such lines for network devices.
const presetNetworkLines = `
+ show version
+ show ip interface brief
+ show running-config
+ show running-config interface GigabitEthernet0/1
+ show interfaces status | include connected
+ show ip bgp summary | begin Neighbor
+ show log | exclude DHCP | count
+ show running-config | section bgp
+ show interface Ethernet1/1 counters | json
+ show mac address-table | grep -i 00:11
+ show configuration | display set | no-more
+ show interfaces terse | match ge-0/0/0
+ show route 10.0.0.0/8 | except Direct | last 10
+ show bgp summary | find Peer
+ show logging | nomore
+ show tech-support
+ show arp vrf MGMT
+ display version
+ display current-configuration | include ospf
+ display interface GigabitEthernet0/0/1
+ display ip routing-table
+ /ip address print
+ /ip/address/print detail
+ /interface print stats
+ /system resource print
+ /ip firewall filter print
+ /log print
+ ping 10.0.0.1
+ ping 10.0.0.1 repeat 5 source Loopback0
+ traceroute 10.0.0.1
+ tracert 10.0.0.1
+ terminal length 0
+ terminal width 511
+ set cli screen-length 0
+ screen-length 0 temporary
- configure terminal
- conf t
- reload
- write memory
- copy running-config startup-config
- show version '>' flash:x
- show running-config | redirect flash:x
- show running-config | tee flash:x
- show running-config | append flash:x
- show configuration | save x
- show tech-support | file x
- show version | bash
- show version | awk '{print}'
- show version | sh
- show version | request message
- show version | grep -f x
- show version ';' reload
- show version '| redirect flash:x'
- show 'version;reload'
- show version 'x|y'
- show version -x
- show version '$(id)'
- show '[/file remove x]'
- show file flash:x
- show bogus
- show platform hardware qfp active statistics drop clear
- show logging file
- show
- shutdown
- sh version
- sho ver
- request system reboot
- set system host-name x
- set cli prompt x
- delete system
- clear counters
- debug all
- enable
- terminal monitor
- terminal length 0 x
- /ip address add address=1.1.1.1/24
- /ip address print file=x
- /ip address print where '[/file remove x]'
- /ip address remove 0
- /system reboot
- /system reset-configuration
- /system reboot print
- /file remove x
- /tool fetch url=x
- /import x
- /export file=x
- display startup x '>' y
- display current-configuration | redirect x
- reset saved-configuration
- undo ip
- system-view
- tftp 1.1.1.1 get x
- ls
- cat /etc/passwd
- set
`

func TestPresetNetwork(t *testing.T) { checkPreset(t, "read-only-network", presetNetworkLines) }

// TestPresetSays checks that a denial names the part that is not allowed, and
// the alternatives.
func TestPresetSays(t *testing.T) {
	p, err := Named("read-only-linux")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"sort -o x y":            {"-o", "sort", "read-only-linux", "--stable"},
		"systemctl stop nginx":   {"systemctl stop", "status", "is-active"},
		"uniq a b":               {"2 operands", "0 to 1"},
		"rm x":                   {"no program rm"},
		"date 0101":              {"0101", `^\+`},
		"top":                    {"-b"},
		"find . -name *.x":       {"-name", "quote"},
		"cat *":                  {"./"},
		"timeout 5 rm x":         {"no program rm"},
		"git log '--format=%G?'": {"%G?", "--format"},
		"sort -k -o":             {"-o", "looks like an option"},
	} {
		why := presetVerdict(t, p, line)
		for _, w := range want {
			if !strings.Contains(why, w) {
				t.Errorf("allows(%q) says %q, want %q in it", line, why, w)
			}
		}
	}
}

// TestPresetDocs checks that docs/policy.md has the present lists.
func TestPresetDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		p, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if list := "```text\n" + presetList(p) + "```\n"; !strings.Contains(string(text), list) {
			t.Errorf("docs/policy.md has not the list of %s as it is:\n%s", name, list)
		}
	}
}

// presetList returns the names of a preset's programs, with their commands in
// brackets.
func presetList(p *List) string {
	var out, line strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.programs)) {
		word := name
		if subs := p.programs[name].names(); len(subs) > 0 {
			word += " (" + strings.Join(subs, ", ") + ")"
		}
		for w := range strings.SplitSeq(word, " ") {
			if line.Len() > 0 && line.Len()+1+len(w) > 116 {
				out.WriteString(line.String() + "\n")
				line.Reset()
			}
			if line.Len() > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(w)
		}
	}
	return out.String() + line.String() + "\n"
}
