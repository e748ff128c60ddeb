package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// words splits a refusal into all the pieces that a caller could try as the name of a task.
var words = regexp.MustCompile(`[^"\\]+`)

// TestRedTeamLocks: an attached person's place is taken by no name that an agent can learn or guess, at no door.
func TestRedTeamLocks(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, lab.ReadWrite)
	c := h.Connect(t, "--transport", "both", "--listen", "127.0.0.1:0")
	web := c.Dial(t, c.URL(), "")
	b := newCanary(t)
	id := c.Open(t, s)
	c.PlainShell(t, id)
	p := h.AtTerminal(t, "attach", "--config", h.Config, "--take", id)
	p.Sees("you have taken")
	p.Types("echo per''son\r")
	p.Sees("person")
	refusal := attempt(t, c.Tools, lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
	if !strings.Contains(refusal, "LOCKED") {
		t.Fatalf("an agent may type beside a person: %s", refusal)
	}
	status := attempt(t,
		c.Tools,
		lab.ToolSession,
		`{"action":"status","session_id":%s}`,
		id,
	) + attempt(t,
		c.Tools,
		lab.ToolSession,
		`{"action":"list"}`,
	)
	audited, err := os.ReadFile(h.Audit)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		"person",
		"ptyctl attach",
		"person root",
		fmt.Sprintf("person %s (ptyctl attach, process %d)", os.Getenv("USER"), p.Cmd.Process.Pid),
		fmt.Sprintf("person root (ptyctl attach, process %d)", p.Cmd.Process.Pid),
	}
	for _, text := range []string{refusal, status, string(audited)} {
		for _, m := range words.FindAllString(text, -1) {
			names = append(names, m)
			names = append(names, regexp.MustCompile(`(?:person|task) .*?process \d+\)?`).FindAllString(m, -1)...)
			names = append(names, strings.TrimPrefix(regexp.MustCompile(`task .*?process \d+\)?`).FindString(m), "task "))
		}
	}
	tried := make(map[string]bool)
	for _, name := range names {
		if name = strings.TrimSpace(name); tried[name] || name == "" || len(name) > 200 {
			continue
		}
		tried[name] = true
		for door, do := range map[string]func(tool, arguments string) string{
			"stdio": func(tool, arguments string) string { return attempt(t, c.Tools, tool, arguments, id, name) },
			"HTTP":  func(tool, arguments string) string { return attempt(t, web.Tools, tool, arguments, id, name) },
		} {
			if door == "HTTP" && !strings.Contains(name, "process") && !strings.Contains(name, "person") {
				continue // so many calls are refused for their number
			}
			for _, call := range []string{
				lab.ToolIO + ` {"action":"write","data":"` + b.path + `\r","session_id":%s,"task_id":%s}`,
				lab.ToolSession + ` {"action":"unlock","session_id":%s,"task_id":%s}`,
				lab.ToolSession + ` {"action":"lock","session_id":%s,"task_id":%s}`,
				lab.ToolSession + ` {"action":"heartbeat","session_id":%s,"task_id":%s}`,
			} {
				tool, arguments, _ := strings.Cut(call, " ")
				if text := do(tool, arguments); strings.Contains(text, `"success":true`) ||
					strings.Contains(text, "bytes_written") ||
					!strings.Contains(text, "error_code") {
					t.Fatalf("%s: %s with task_id %q: %.300s", door, arguments, name, text)
				}
			}
		}
	}
	for name := range tried {
		if !strings.Contains(name, "process") && !strings.Contains(name, "person") {
			continue
		}
		out, errs, _ := h.Run(
			t,
			"call",
			"--config",
			h.Config,
			lab.ToolIO,
			fmt.Sprintf(`{"action":"write","session_id":%q,"data":"%s\r","task_id":%q}`, id, b.path, name),
		)
		if !strings.Contains(out+errs, "LOCKED") && !strings.Contains(out+errs, "INVALID") {
			t.Errorf("control socket: task_id %q: %.300s", name, out+errs)
		}
	}
	if len(tried) < 10 {
		t.Errorf("only %d names were tried", len(tried))
	}
	b.stays(t, "typed in a person's place")
	p.Types("\x1d")
	p.Leaves(0)
}

// TestRedTeamTasks: over HTTP with tokens, the name of a task does not carry over to another token.
func TestRedTeamTasks(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	const other = "dev-91c2a4d6e8f0-1138"
	path := h.TokensFile(t)
	h.Write(t, path, "ops:write:"+lab.OpsToken+"\ndev:write:"+other+"\n")
	h.Secrets = append(h.Secrets, other)
	h.Write(
		t,
		h.Config,
		"[server.http]\ntokens_file = '"+path+"'\n[ssh]\nknown_hosts_path = '"+h.KnownHosts+"'\nconfig_path = '"+h.SSHConfig+"'\n",
	)
	p, url := h.StartHTTP(t)
	ops, dev := p.Dial(t, url, lab.OpsToken), p.Dial(t, url, other)
	id := ops.Open(t, s)
	ops.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"deploy","lock_ttl_ms":600000}`, id)
	for _, call := range []string{
		lab.ToolIO + ` {"action":"write","session_id":%s,"data":"x","task_id":"deploy"}`,
		lab.ToolExec + ` {"session_id":%s,"cmd":"true","task_id":"deploy"}`,
		lab.ToolSession + ` {"action":"unlock","session_id":%s,"task_id":"deploy"}`,
		lab.ToolSession + ` {"action":"lock","session_id":%s,"task_id":"deploy"}`,
		lab.ToolSession + ` {"action":"heartbeat","session_id":%s,"task_id":"deploy"}`,
		lab.ToolSession + ` {"action":"close","session_id":%s,"task_id":"deploy"}`,
		lab.ToolConfig + ` {"action":"resize","session_id":%s,"cols":100,"rows":50,"task_id":"deploy"}`,
	} {
		tool, arguments, _ := strings.Cut(call, " ")
		if text := attempt(t, dev.Tools, tool, arguments, id); !strings.Contains(text, "error_code") {
			t.Errorf("another token passes for the task: %s: %.300s", arguments, text)
		}
	}
	if r := ops.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo mine","task_id":"deploy"}`, id); r.Stdout != "mine\n" {
		t.Errorf("the task itself: %s", r.Text)
	}
	p.Terminate()
}

// TestRedTeamMemory checks that a program that ptyctl starts for an agent reads neither its memory nor its environment.
// ptyctl runs as an unprivileged user here, because root could not be kept from it.
func TestRedTeamMemory(t *testing.T) {
	t.Parallel()
	const token = "control-token-1138"
	h := lab.NewHome(t, "[server.control]", "control_mode = 'readwrite'", "control_auth_token = 'unused-"+token+"'")
	h.Secrets = append(h.Secrets, token)
	if os.Getuid() == 0 {
		program := filepath.Join(h.Dir, "ptyctl")
		data, err := os.ReadFile(lab.Binary)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, data, 0o755); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
		h.Given[program] = true // no output of ptyctl, and long to search
		h.Program, h.Wrap = program, []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}
		for _, dir := range []string{filepath.Dir(h.Dir), h.Dir} {
			if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // an unprivileged user must be able to enter it
				t.Fatal(err)
			}
		}
		for _, path := range []string{h.Dir, h.Config, h.SSHConfig, h.KnownHosts} {
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.Env = append(h.Env, "PTYCTL_SERVER_CONTROL_CONTROL_AUTH_TOKEN="+token)
	c := h.Connect(t)
	const script = `
import sys
for name in "mem", "environ", "maps", "fd", "cwd", "root":
    path = "/proc/%s/%s" % (sys.argv[1], name)
    try:
        import os
        if name == "fd": os.listdir(path)
        elif name in ("cwd", "root"): os.readlink(path)
        else: open(path, "rb").read(1) if name != "mem" else open(path, "rb").close()
        print(name, "open")
    except OSError as e:
        print(name, "closed")
`
	r := c.Call(t, lab.ToolRun, `{"argv":["/usr/bin/python3","-c",%s,%s]}`, script, fmt.Sprint(c.PID))
	if strings.Contains(r.Stdout, "open") || !strings.Contains(r.Stdout, "mem closed") {
		t.Errorf("of ptyctl's process a program reads: %s", r.Text)
	}
}

// TestRedTeamPresets: the ready-made lists of programs know the options that write files and run programs. The lines
// are only asked about, and never run: one that a preset lets through could change the machine that runs the test.
func TestRedTeamPresets(t *testing.T) {
	t.Parallel()
	h := lab.NewHome(t, "[policy]", `preset = "read-only-linux"`)
	const file, program = "/nowhere/file", "/nowhere/program"
	for _, line := range []string{
		"find /etc/hostname -fprintf FILE x", "find /etc/hostname -fprint FILE", "find /etc/hostname -fprint0 FILE", "find /etc/hostname -fls FILE", "find /etc/hostname -exec CANARY {} +", "find /etc/hostname -ok CANARY {} +", "find FILE -delete", "sort -o FILE /etc/hostname", "sort -oFILE /etc/hostname", "sort --output=FILE /etc/hostname", "sort --outp=FILE /etc/hostname", "sort -ro FILE /etc/hostname", "sort --compress-program=CANARY -S 1K /etc/services",
		"curl -o FILE file:///etc/hostname", "curl -sSo FILE file:///etc/hostname", "curl --output FILE file:///etc/hostname", "curl -K /etc/hostname", "tar -I 'sh -c CANARY' -xf /etc/hostname", "tar cf FILE /etc/hostname", "tar -xf x --to-command=CANARY", "tee FILE", "dd if=/etc/hostname of=FILE", "cp /etc/hostname FILE", "sed -i s/a/b/ FILE", "sed -n 'w FILE' /etc/hostname", "sed 1eCANARY /etc/hostname", "awk 'BEGIN{system(\"CANARY\")}'", "awk 'BEGIN{print > \"FILE\"}'",
		"uniq /etc/hostname FILE", "xxd /etc/hostname FILE", "date -s no-such-date", "hostname -F /no/such/file", "ip link set no-such-link down", "systemctl restart no-such-unit", "journalctl --vacuum-time=no-such-time", "journalctl --rotate --no-such-option", "dmesg -C --no-such-option", "less /etc/hostname", "man -P CANARY man", "git -c core.pager=CANARY -p log", "ss -K dst 203.0.113.1", "env CANARY", "xargs CANARY", "CANARY", "cat /etc/hostname > FILE", "ls | tee FILE", "echo x >> FILE", "diff --to-file=FILE x", "file -C -m FILE", "split /etc/hostname FILE", "od -w1 /etc/hostname > FILE", "top -b -n 1 > FILE", "grep x /etc/hostname > FILE", "getent passwd | sh", "strace -o FILE ls", "rg --pre CANARY x /etc/hostname", "fd . -x CANARY", "zgrep x /etc/hostname > FILE", "tree -o FILE", "lsof -F > FILE", "wget -O FILE http://127.0.0.1:1/", "jq -n 'x' > FILE", "iptables -F no-such-chain", "sysctl -w no.such.key=1", "mount -o remount /no/such/folder", "bash -c CANARY", "timeout 1 CANARY",
	} {
		line = strings.NewReplacer("FILE", file, "CANARY", program).Replace(line)
		if out, errs, status := h.Run(t, "policy", "check", "--config", h.Config, "--", line); status != 1 {
			t.Errorf("read-only-linux and %q: status %d, want 1: %.200s", line, status, out+errs)
		}
	}
	if out, errs, status := h.Run(
		t, "policy", "check", "--config", h.Config, "--", "cat /proc/loadavg | head -n 1",
	); status != 0 {
		t.Errorf("read-only-linux refuses a command that reads: status %d: %s", status, out+errs)
	}
}
