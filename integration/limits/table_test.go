package limits

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A scarcity is one resource that the system has run out of. In its texts $DIR is the folder of ptyctl's home, $PORT
// that of an SSH server with a password, which is among the known hosts unless it is a stranger, and $PASSWORD its
// password.
type scarcity struct {
	config string   // more lines of ptyctl.toml
	script string   // runs in namespaces of ptyctl's own, before it starts
	kinds  []string // of these namespaces, besides that of mounts
	prefix func(testing.TB, *lab.Home) []string

	stranger bool // the server is not a known host
	plain    bool // the built program without the race detector, which has memory and threads of its own
	audit    bool // the audit log is on the disk that the script makes, $DIR/disk
	record   bool // the recordings are

	use   []string // calls that use it up, each a session
	fill  string   // a call that is repeated until it is refused, each a session
	ready string   // the output of such a session when it has taken its part

	call   string
	code   string // of fill and call then
	limit  string // in the details
	advice string // in the message
	never  string // must not be in the message
	final  bool   // it makes no sense to call again

	free  string // a script in ptyctl's namespaces that gives it back; empty: the sessions of use and fill are closed
	after string // the code of call then; empty: it works
}

const (
	local   = `{"action":"open","protocol":"local","argv":["/bin/cat"]}`
	console = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"alice",
		"auth":{"password":"$PASSWORD"},"session_type":"console","device_id":"rack1"}`
	password = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"alice",
		"auth":{"password":"$PASSWORD"}}`
	first = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"alice",
		"auth":{"password":"$PASSWORD"},"ssh_options":{"host_key_policy":"accept_new"}}`
	silentSSH    = `{"action":"open","protocol":"ssh","host":"silent.example","port":9,"timeouts":{"connect_timeout_ms":1500}}`
	silentTelnet = `{"action":"open","protocol":"telnet","host":"silent.example","port":9,"timeouts":{"connect_timeout_ms":1500}}`
	closedSSH    = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":9,"username":"alice"}`
	closedTelnet = `{"action":"open","protocol":"telnet","host":"127.0.0.1","port":9}`

	// Two ports, both reserved.
	noPorts = "ip link set lo up; cd /proc/sys/net/ipv4; echo 40000 40001 >ip_local_port_range\n" +
		"echo 40000-40001 >ip_local_reserved_ports; cd /"
	freePorts = "echo >/proc/sys/net/ipv4/ip_local_reserved_ports"

	// A name server at an address that is routed to where packets are dropped.
	silence = "ip link set lo up; ip route add 192.0.2.0/24 dev lo; echo nameserver 192.0.2.53 >$DIR/resolv\n" +
		"mount --bind $DIR/resolv /etc/resolv.conf; cp /etc/hosts $DIR/hosts; mount --bind $DIR/hosts /etc/hosts"
	known = "echo 127.0.0.1 silent.example >>/etc/hosts"

	// A disk of 32 KiB, on which a filler leaves room for some lines.
	smallDisk = "mkdir $DIR/disk; mount -t tmpfs -o size=32k,mode=700 disk $DIR/disk\n" +
		"head -c 20480 /dev/zero >$DIR/disk/filler"
	// A disk without room, with known_hosts on it.
	fullDisk = "mkdir $DIR/disk; mount -t tmpfs -o size=8k,mode=700 disk $DIR/disk; touch $DIR/disk/known_hosts\n" +
		"mount --bind $DIR/disk/known_hosts $DIR/known_hosts; cat /dev/zero >$DIR/disk/filler || true"
)

// scarcities has the resources that may be used up or fail. Tests elsewhere: descriptors with hosts that have changed
// keys (integration/ssh), the disk of the audit log (integration/policy), processes under load and threads
// (threads_test.go), and sessions with much output in a small control group (memory_long_test.go).
var scarcities = map[string]scarcity{
	"pseudo-terminals": {
		script: "mount -t devpts -o newinstance,ptmxmode=0666,max=2 devpts /dev/pts\nmount --bind /dev/pts/ptmx /dev/ptmx",
		use:    []string{local, local}, call: local, code: "LIMIT_EXCEEDED", limit: "kernel.pty.max",
		advice: "close local sessions",
	},
	"descriptors": {
		prefix: command("prlimit", "--nofile=40"), stranger: true,
		fill: local, call: first, code: "LIMIT_EXCEEDED", limit: "RLIMIT_NOFILE", advice: "close sessions",
	},
	"processes": {
		prefix: func(tb testing.TB, h *lab.Home) []string {
			alone(tb, h)
			return []string{"prlimit", "--nproc=" + strconv.Itoa(threadsOf(tb, h.UID)+50)}
		},
		plain: true, fill: local, call: local, code: "LIMIT_EXCEEDED", limit: "RLIMIT_NPROC", advice: "end programs",
	},
	"memory of the control group": {
		prefix: func(tb testing.TB, _ *lab.Home) []string { return newMemoryGroup(tb, 64<<20).wrap() }, plain: true,
		fill: holding(1 << 20), ready: "full",
		call: password, code: "LIMIT_EXCEEDED", limit: "memory.max", advice: "close sessions",
	},
	"disk of the audit log": {
		config: "[audit]\nfail_closed = true", script: smallDisk, audit: true,
		fill: local, call: password, code: "IO_ERROR", advice: "audit log writable", free: "rm $DIR/disk/filler",
	},
	"disk of the recordings": {
		config: "[record]\nfail_closed = true", script: smallDisk, record: true,
		fill: local, call: password, code: "IO_ERROR", advice: "folder of recordings writable", free: "rm $DIR/disk/filler",
	},
	"disk of known_hosts": {
		script: fullDisk, stranger: true,
		call: first, code: "HOSTKEY_UNKNOWN", advice: "no space left on device", final: true, free: "rm $DIR/disk/filler",
	},
	"known_hosts that can only be read": {
		script:   "mount --bind $DIR/known_hosts $DIR/known_hosts; mount -o remount,bind,ro $DIR/known_hosts",
		stranger: true,
		call:     first, code: "HOSTKEY_UNKNOWN", advice: "read-only file system", final: true,
		free: "umount $DIR/known_hosts",
	},
	"known_hosts on a disk that fails": {
		script: "mount --bind /proc/$$/mem $DIR/known_hosts", // nothing is mapped at its start
		call:   first, code: "IO_ERROR", advice: "input/output error", free: "umount $DIR/known_hosts",
	},
	"state folder that can only be read": {
		config: "[locks]\ndevice_dir = '$DIR/locks'",
		script: "mkdir -m 700 $DIR/locks; mount --bind $DIR/locks $DIR/locks; mount -o remount,bind,ro $DIR/locks",
		call:   console, code: "IO_ERROR", advice: "read-only file system", free: "umount $DIR/locks",
	},
	"local ports": {
		script: noPorts, kinds: []string{"--net"}, call: closedSSH, code: "CONNECT_FAILED", advice: "local port",
		never: "check that the host is up", free: freePorts, after: "CONNECT_FAILED",
	},
	"local ports, Telnet": {
		script: noPorts, kinds: []string{"--net"}, call: closedTelnet, code: "CONNECT_FAILED", advice: "local port",
		never: "check that the host is up", free: freePorts, after: "CONNECT_FAILED",
	},
	"name server": {
		script: silence, kinds: []string{"--net"}, call: silentSSH, code: "CONNECT_TIMEOUT", advice: "no name server answers",
		never: "check address", free: known, after: "CONNECT_FAILED",
	},
	"name server, Telnet": {
		script: silence, kinds: []string{"--net"}, call: silentTelnet, code: "CONNECT_TIMEOUT",
		advice: "no name server answers", never: "check address", free: known, after: "CONNECT_FAILED",
	},
}

// TestExhausted takes one resource after another away from ptyctl, and gives it back. A call that needs it is refused
// with advice, no protection is left out meanwhile, and then all works again.
func TestExhausted(t *testing.T) {
	const secret = "exhausted-password-1138"
	for _, name := range slices.Sorted(maps.Keys(scarcities)) {
		c := scarcities[name]
		t.Run(name, func(t *testing.T) {
			s := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": secret}})
			h := lab.NewHome(t)
			values := strings.NewReplacer("$DIR", h.Dir, "$PORT", strconv.Itoa(s.Port()), "$PASSWORD", secret)
			config, err := os.ReadFile(h.Config)
			if err != nil {
				t.Fatal(err)
			}
			h.Write(t, h.Config, string(config)+values.Replace(c.config)+"\n")
			if !c.stranger {
				h.Trust(t, s.KnownHostsLine())
			}
			if c.plain {
				h.Program = lab.PlainBinary
			}
			if c.audit {
				h.Audit = filepath.Join(h.Dir, "disk", "audit.jsonl")
			}
			if c.record {
				h.Recordings = filepath.Join(h.Dir, "disk", "recordings")
			}
			if c.script != "" {
				h.Wrap = namespace(values.Replace(c.script), c.kinds...)
			}
			if c.prefix != nil {
				h.Wrap = append(h.Wrap, c.prefix(t, h)...)
			}
			trusted := string(lab.ReadFile(t, h.KnownHosts))
			p := h.Connect(t)
			p.Hide(secret)

			refused := func(r lab.Result) {
				t.Helper()
				if r.ErrorCode != c.code || r.Retryable == c.final || r.Details.Limit != c.limit ||
					!strings.Contains(r.Message, c.advice) || c.never != "" && strings.Contains(r.Message, c.never) {
					t.Fatalf("%s without %s, want %s by %q that says %q, retryable %t",
						r.Text, name, c.code, c.limit, c.advice, !c.final)
				}
			}
			var used []string
			take := func(call string) lab.Result {
				r, err := p.Try(t.Context(), lab.ToolSession, call)
				if err != nil {
					t.Fatal(err)
				}
				if r.ErrorCode == "" {
					used = append(used, r.SessionID)
					if c.ready != "" && call == c.fill {
						p.Expect(t, r.SessionID, c.ready)
					}
				}
				return r
			}
			for _, call := range c.use {
				if r := take(call); r.ErrorCode != "" {
					t.Fatal(r.Text)
				}
			}
			use := func() {
				for c.fill != "" {
					r := take(c.fill)
					if r.ErrorCode != "" {
						refused(r)
						return
					}
					if len(used) == 99 {
						t.Fatal("99 sessions have not used it up")
					}
				}
			}
			use()
			seen := s.Stats()
			r := take(values.Replace(c.call))
			for r.ErrorCode == "" && c.fill != "" { // the system has given some of it back
				use()
				seen = s.Stats()
				r = take(values.Replace(c.call))
			}
			refused(r)
			t.Logf("%s after %d sessions: %s", r.ErrorCode, len(used), r.Message)
			if n := s.Stats(); n.PasswordsSeen != seen.PasswordsSeen || len(n.Attempts) != len(seen.Attempts) {
				t.Errorf("the host was asked to let us in: %+v, before the call %+v", n, seen)
			}
			for _, id := range used {
				p.Close(t, id)
			}
			if c.free != "" {
				within(t, p.PID, values.Replace(c.free))
			}
			if now := string(lab.ReadFile(t, h.KnownHosts)); now != trusted {
				t.Errorf("known_hosts was %q and is %q", trusted, now)
			}
			lab.Eventually(t, "all as before", func() bool {
				r, err := p.Try(t.Context(), lab.ToolSession, values.Replace(c.call))
				if err != nil {
					t.Fatal(err)
				}
				if r.ErrorCode == "" && c.after == "" { // the console stays: no task has its lock
					_, _ = p.Try(t.Context(), lab.ToolSession, `{"action":"close","session_id":%s}`, r.SessionID)
				}
				return r.ErrorCode == c.after && (c.after == "" || !strings.Contains(r.Message, c.advice))
			})
		})
	}
}

// command returns a prefix of ptyctl's command.
func command(words ...string) func(testing.TB, *lab.Home) []string {
	return func(testing.TB, *lab.Home) []string { return words }
}

// namespace is the command that gives ptyctl namespaces of its own, with a script that runs there first.
func namespace(script string, kinds ...string) []string {
	words := append([]string{"unshare", "--mount", "--propagation", "private"}, kinds...)
	if os.Getuid() != 0 {
		words = append(words, "--user", "--map-root-user")
	}
	return append(words, "/bin/sh", "-euc", script+"\nexec \"$@\"", "sh")
}

// within runs a script in the namespaces of a process.
func within(tb testing.TB, pid int, script string) {
	tb.Helper()
	words := []string{"nsenter", "--target", strconv.Itoa(pid), "--mount", "--net"}
	if os.Getuid() != 0 {
		words = append(words, "--user", "--preserve-credentials")
	}
	words = append(words, "/bin/sh", "-euc", script)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v: %s", script, err, out)
	}
}
