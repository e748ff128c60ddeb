package limits

import (
	"os"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// namespace is the command that gives ptyctl namespaces of its own, before a script that ends with exec "$@".
func namespace(script string, kinds ...string) []string {
	command := append([]string{"unshare", "--mount", "--propagation", "private"}, kinds...)
	if os.Getuid() != 0 {
		command = append(command, "--user", "--map-root-user")
	}
	return append(command, "/bin/sh", "-euc", script+"\nexec \"$@\"", "sh")
}

// TestExhausted takes one thing after another away from ptyctl, and gives it back.
func TestExhausted(t *testing.T) {
	const local = `{"action":"open","protocol":"local","argv":["/bin/cat"]}`
	const closed = `{"action":"open","protocol":"%s","host":"127.0.0.1","port":9,"username":"alice"}`
	ssh := strings.Replace(closed, "%s", "ssh", 1)
	for _, c := range []struct {
		name   string
		wrap   []string
		use    []string // calls that use it up, each a session
		call   string
		code   string // of call then
		limit  string
		advice string // in its message
		free   string // a script, run by ptyctl itself, that gives it back; else the sessions of use are closed
		after  string // the code of call then; empty: it works
		never  string // what its message must not say
	}{
		{
			name: "pseudo-terminals",
			wrap: namespace("mount -t devpts -o newinstance,ptmxmode=0666,max=2 devpts /dev/pts\n" +
				"mount --bind /dev/pts/ptmx /dev/ptmx"),
			use: []string{local, local}, call: local,
			code: "LIMIT_EXCEEDED", limit: "kernel.pty.max", advice: "close local sessions",
		},
		{
			name: "local ports",
			wrap: namespace("ip link set lo up; cd /proc/sys/net/ipv4; echo 40000 40001 >ip_local_port_range\n"+
				"echo 40000-40001 >ip_local_reserved_ports; cd /", "--net"),
			call: ssh, code: "CONNECT_FAILED", advice: "local port", never: "check that the host is up",
			free: "echo >/proc/sys/net/ipv4/ip_local_reserved_ports", after: "CONNECT_FAILED",
		},
		{
			name: "local ports, Telnet",
			wrap: namespace("ip link set lo up; cd /proc/sys/net/ipv4; echo 40000 40001 >ip_local_port_range\n"+
				"echo 40000-40001 >ip_local_reserved_ports; cd /", "--net"),
			call: strings.Replace(strings.Replace(closed, "%s", "telnet", 1), `,"username":"alice"`, "", 1),
			code: "CONNECT_FAILED", advice: "local port", never: "check that the host is up",
			free: "echo >/proc/sys/net/ipv4/ip_local_reserved_ports", after: "CONNECT_FAILED",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := lab.NewHome(t)
			h.Wrap = c.wrap
			p := h.Connect(t)
			var used []string
			for _, call := range c.use {
				used = append(used, p.Call(t, lab.ToolSession, call).SessionID)
			}
			r := p.Refused(t, c.code, lab.ToolSession, c.call)
			if !r.Retryable || r.Details.Limit != c.limit || !strings.Contains(r.Message, c.advice) ||
				c.never != "" && strings.Contains(r.Message, c.never) {
				t.Errorf("%s = %s, want a retryable failure by %q that says %q", c.call, r.Text, c.limit, c.advice)
			}
			t.Log(r.Message)
			for _, id := range used {
				p.Close(t, id)
			}
			if c.free != "" {
				if r := p.Call(t, lab.ToolRun, `{"argv":["/bin/sh","-c",%s]}`, c.free); r.ExitCode == nil || *r.ExitCode != 0 {
					t.Fatalf("%s: %s", c.free, r.Text)
				}
			}
			if c.after == "" {
				p.Close(t, p.Call(t, lab.ToolSession, c.call).SessionID)
			} else if r := p.Refused(t, c.after, lab.ToolSession, c.call); strings.Contains(r.Message, c.advice) {
				t.Errorf("once it is there again: %s", r.Text)
			}
		})
	}
}
