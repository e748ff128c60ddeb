package serial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/term"
)

// TestLogin logs in at a getty, runs commands with their true exit status, and sends a break.
func TestLogin(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLogin(t)
	c := lab.NewHome(t, l.Allow()...).Connect(t)
	r := open(t, c, l.Path, `,"baud":115200,"parity":"even","data_bits":7,"stop_bits":2,"flow":"xonxoff","dtr":"on"`)
	// A pseudo-terminal has eight bits and no parity, and no DTR.
	for _, doubt := range []string{"DTR was not set"} {
		if !strings.Contains(strings.Join(r.Warnings, "\n"), doubt) {
			t.Errorf("the warnings are %q, want %q", r.Warnings, doubt)
		}
	}
	id := r.SessionID
	if !strings.HasPrefix(id, "usb-lab-line") {
		t.Errorf("the session is called %s, want a name of the line's", id)
	}
	out, err := exec.Command("/usr/bin/stty", "-F", l.Path, "-a").CombinedOutput()
	if err != nil || !regexp.MustCompile(`speed 115200 baud(?s:.*)\scstopb\s(?s:.*)\sixon\s`).Match(out) {
		t.Errorf("the line is set otherwise: %v\n%s", err, out)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"enter"}`, id)
	c.LoginTelnet(t, &lab.TelnetServer{
		Name: "agetty", Login: `login: $`, User: lab.TelnetUser, Password: lab.TelnetPassword, Prompt: `demo\$ $`,
	}, id)
	for command, want := range map[string]int{"echo $((6*7)); true": 0, "echo $((6*7)); (exit 37)": 37} {
		r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s,"class":"posix","expect":{"prompt_regex":"demo\\$ $"},"timeout_ms":20000}`, id, command)
		if r.Stdout != "42\n" || !lab.IsCode(r.ExitCode, want) {
			t.Errorf("%s: %s", command, r.Text)
		}
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"keys":["break"]}`, id)
	c.Enter(t, id, "echo still-$((40+2))\r", `still-42\s+demo\$ $`)
	c.Refused(t, "UNSUPPORTED", lab.ToolIO, `{"action":"write","session_id":%s,"key":"ayt"}`, id)
	c.Refused(t, "UNSUPPORTED", lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":100,"rows":30}`, id)
	if h := c.Call(t, lab.ToolHealth, `{}`); !strings.Contains(h.Text, `"serial":1`) {
		t.Errorf("health: %s", h.Text)
	}
	c.Close(t, id)
	// The line is free again.
	c.Close(t, open(t, c, l.Path, "").SessionID)
}

// TestUnplug: the session ends with its line, and reopen waits until that is there again.
func TestUnplug(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	c := lab.NewHome(t, l.Allow()...).Connect(t)
	id := open(t, c, l.Path, "").SessionID
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"before\r","until_regex":"before","include_echo":true}`, id)
	l.Unplug(t)
	r := c.AwaitEnd(t, id)
	if r.EndCode != "lost" {
		t.Errorf("after the line was unplugged: %s", r.Text)
	}
	gap := r.NextCursor
	c.Refused(t, "CONNECT_FAILED", lab.ToolSession, `{"action":"reopen","session_id":%s}`, id)
	r = c.Call(t, lab.ToolSession, `{"action":"reopen","session_id":%s,"wait_ms":60000}`, id)
	if r.State != "connecting" || r.Reopening.Attempts != 1 {
		t.Errorf("reopen without the line: %s", r.Text)
	}
	l.Plug(t)
	r = c.Call(t, lab.ToolSession, `{"action":"wait","on":[{"session_id":%s,"until_state":"open"}],"timeout_ms":20000}`, id)
	if len(r.Fired) != 1 || r.Fired[0].State != "open" {
		t.Fatalf("reopen with the line: %s", r.Text)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"after\r"}`, id)
	r = c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":%s,"until_regex":"after","timeout_ms":20000}`, id, gap)
	if !r.Matched || strings.Contains(r.Chunk, "before") {
		t.Errorf("the line that was plugged in again: %s", r.Text)
	}
	c.Close(t, id)
}

// TestOneUser: calls share the session of a line, whatever path they give, and other processes are kept away.
func TestOneUser(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	home := lab.NewHome(t, l.Allow()...)
	c, other := home.Connect(t), home.Connect(t)
	id := open(t, c, l.Path, "").SessionID
	device := l.Device(t)
	if r := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"serial","serial":["path=`+device+`","baud=300"]}`); r.Existing != id ||
		len(r.Warnings) == 0 {
		t.Errorf("a second open of the line: %s", r.Text)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"no lock is needed\r"}`, id)
	r := other.Refused(t, "LOCKED", lab.ToolSession, `{"action":"open","protocol":"serial","serial":{"path":%s}}`, device)
	if owner := r.Details.DeviceOwner; owner.PID != c.Cmd.Process.Pid || owner.SessionID != id {
		t.Errorf("the owner of the line is %+v, want process %d: %s", owner, c.Cmd.Process.Pid, r.Text)
	}
	lock := "/var/lock/LCK.." + filepath.Base(device)
	if text, err := os.ReadFile(lock); err == nil && string(text) != fmt.Sprintf("%10d\n", c.Cmd.Process.Pid) {
		t.Errorf("%s holds %q", lock, text)
	} else if err != nil && !strings.Contains(c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id).Text, "no lock file") {
		t.Errorf("there is no %s (%v), and no warning", lock, err)
	}
	c.Close(t, id)
	if _, err := os.Stat(lock); err == nil {
		t.Errorf("%s stays after the session", lock)
	}
	// A console needs its lock.
	r = other.Call(t, lab.ToolSession,
		`{"action":"open","protocol":"serial","serial":{"path":%s},"session_type":"console","device_id":"sw1"}`, l.Path)
	other.Refused(t, "LOCK_REQUIRED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, r.SessionID)
	other.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"t1"}`, r.SessionID)
	other.Call(t, lab.ToolSession, `{"action":"close","session_id":%s,"task_id":"t1"}`, r.SessionID)
}

// TestRefusedPaths: nothing leads to a device that is not allowed, and nothing but a serial line is opened.
func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	off := lab.NewHome(t).Connect(t)
	r := off.Refused(t, "POLICY_DENIED", lab.ToolSession, `{"action":"open","protocol":"serial","serial":{"path":%s}}`, l.Path)
	if r.Details.Rule != "serial.allow" || !strings.Contains(r.Text, "[serial] allow") {
		t.Errorf("without serial.allow: %s", r.Text)
	}
	wrong := lab.NewHome(t, "[serial]", `allow = ["ttyUSB*"]`)
	if out, errs, status := wrong.Run(t, "config", "check", "--config", wrong.Config); status == 0 || !strings.Contains(errs, "names no device") {
		t.Errorf("config check of an entry that never matches = %d, %s%s", status, out, errs)
	}
	link := func(name, to string) string {
		path := filepath.Join(l.Folder, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := filepath.Join(l.Folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := lab.NewHome(t, "[serial]", fmt.Sprintf(`allow = ["%s/*", "/dev/tty1", "/dev/null", "/dev/console", "/dev/ptmx"]`, l.Folder)).Connect(t)
	for _, path := range []string{
		l.Path, // a link that anyone could have made, to a device that is not listed
		link("disk", "/dev/sda"), link("console", "/dev/tty1"), link("null", "/dev/null"), link("deep", "console"),
		link("self", "/dev/ptmx"), "/dev/tty1", "/dev/null", "/dev/console", "/dev/ptmx", file, l.Folder,
		l.Folder + "/../" + filepath.Base(l.Folder) + "/disk", l.Folder + "//disk", "/dev/../dev/null",
		"/etc/passwd", "/dev/ttyUSB0", "nothing-by-id", "../../dev/tty1", "relative/path", "/dev/tty1\n", "/",
	} {
		r, err := c.Try(t.Context(), lab.ToolSession, `{"action":"open","protocol":"serial","serial":{"path":%s}}`, path)
		if err != nil {
			t.Fatal(err)
		}
		switch r.ErrorCode {
		case "POLICY_DENIED", "INVALID_ARGUMENT":
		case "CONNECT_FAILED": // a listed link to a missing device
			if strings.Contains(path, "sda") {
				continue
			}
			if _, err := filepath.EvalSymlinks(path); err == nil {
				t.Errorf("%s exists: %s", path, r.Text)
			}
		default:
			t.Errorf("%s: %s", path, r.Text)
		}
	}
	for _, arguments := range []string{
		`"protocol":"serial","host":"web1","serial":{"path":"/dev/ttyUSB0"}`, `"protocol":"serial","port":22,"serial":{"path":"/dev/ttyUSB0"}`,
		`"protocol":"serial"`, `"protocol":"ssh","host":"web1","serial":{"baud":9600}`,
		`"protocol":"telnet","host":"web1","serial":{"path":"/dev/ttyUSB0"}`,
		`"protocol":"serial","serial":{"path":"/dev/ttyUSB0","parity":"odder"}`, `"protocol":"serial","argv":["sh"],"serial":{"path":"/dev/ttyUSB0"}`,
		`"protocol":"local","argv":["sh"],"serial":{"baud":9600}`,
		`"protocol":"serial","serial":{"path":"/dev/ttyUSB0","flow":"rtscts","rts":"on"}`,
	} {
		c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"open",`+arguments+`}`)
	}
}

// TestRules: the rules about hosts know a line by any of its paths.
func TestRules(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	device := l.Device(t)
	for rule, code := range map[string]string{
		fmt.Sprintf("deny_hosts = [%q]", device): "POLICY_DENIED", fmt.Sprintf("deny_hosts = [%q]", l.Path): "POLICY_DENIED",
		`hosts = ["web*"]`: "POLICY_DENIED", `protocols = ["ssh"]`: "POLICY_DENIED", fmt.Sprintf("hosts = [%q]", device): "",
	} {
		c := lab.NewHome(t, append(l.Allow(), "[policy]", rule)...).Connect(t)
		r, err := c.Try(t.Context(), lab.ToolSession, `{"action":"open","protocol":"serial","serial":{"path":%s}}`, l.Path)
		if err != nil || r.ErrorCode != code {
			t.Errorf("%s: %s, %v", rule, r.Text, err)
		}
		if code == "" {
			c.Close(t, r.SessionID)
		}
	}
	c := lab.NewHome(t, append(l.Allow(), "[policy]", fmt.Sprintf("read_only_hosts = [%q]", device))...).Connect(t)
	id := open(t, c, l.Path, "").SessionID
	c.DeniedBy(t, "policy.read_only_hosts", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x"}`, id)
	c.Close(t, id)
}

// TestHTTP: clients over HTTP have serial lines only where they may use this machine.
func TestHTTP(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	for _, allowed := range []bool{false, true} {
		home := lab.NewHome(t, append(l.Allow(), "[local]", fmt.Sprintf("http = %t", allowed), "[server.http]",
			fmt.Sprintf("auth_token = %q", lab.OpsToken))...)
		home.Secrets = append(home.Secrets, lab.OpsToken)
		p, url := home.StartHTTP(t)
		c := p.Dial(t, url, lab.OpsToken)
		if !allowed {
			c.DeniedBy(t, "local.http", lab.ToolSession, `{"action":"open","protocol":"serial","serial":{"path":%s}}`, l.Path)
			continue
		}
		id := open(t, c, l.Path, "").SessionID
		r := c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"over http\r","until_regex":"over http","include_echo":true}`, id)
		if !r.Matched {
			t.Errorf("over HTTP: %s", r.Text)
		}
		c.Close(t, id)
	}
}

// TestDoctor lists the line, who has it, and that it is allowed.
func TestDoctor(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	home := lab.NewHome(t, l.Allow()...)
	c := home.Connect(t)
	for _, want := range []string{
		regexp.QuoteMeta("ok    serial line     " + l.Device(t) + " (" + l.Path + ")\n"),
		fmt.Sprintf(`note  serial line     %s.*: process %d \(ptyctl\) has it in session usb-lab\S+ since`, l.Device(t), c.Cmd.Process.Pid),
	} {
		stdout, stderr, _ := home.Run(t, "doctor", "--config", home.Config, "--serial")
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("doctor --serial has no %q:\n%s%s", want, stdout, stderr)
		}
		open(t, c, l.Path, "") // for the second round
	}
	if _, stderr, status := home.Run(t, "doctor", "--config", home.Config, "--serial", "web1"); status == 0 || !strings.Contains(stderr, "leave the host out") {
		t.Errorf("doctor --serial web1: %d %s", status, stderr)
	}
}

// TestSettings shows the settings of a line in the result.
func TestSettings(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	c := lab.NewHome(t, append(l.Allow(), "[server]", `results = "full"`)...).Connect(t)
	r := open(t, c, l.Path, "")
	want := term.Serial{Path: l.Device(t), Baud: 9600, DataBits: 8, Parity: "none", StopBits: 1, Flow: "none"}
	if got := lineOf(t, r); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the line is %+v, want %+v", got, want)
	}
	c.Close(t, r.SessionID)
}

// TestPerson: a person opens a line at a terminal, by the same list.
func TestPerson(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	home := lab.NewHome(t, l.Allow()...)
	p := home.AtTerminal(t, "open", "--config", home.Config, "serial:"+l.Path, "--baud", "19200", "--dtr", "off")
	p.Sees("DTR was not set")
	p.Types("typed by a person\r")
	p.Sees("typed by a person")
	out, err := exec.Command("/usr/bin/stty", "-F", l.Path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "speed 19200 baud") {
		t.Errorf("the line is set otherwise: %v\n%s", err, out)
	}
	p.Types("\x1d")
	p.Leaves(0)
	for _, arguments := range [][]string{
		{"serial:"}, {"serial:" + l.Path, "--parity", "odder"}, {"serial:" + l.Path, "-J", "web1"}, {"web1", "--baud", "9600"},
	} {
		p := home.AtTerminal(t, append([]string{"open", "--config", home.Config}, arguments...)...)
		p.Leaves(2)
	}
	other := lab.NewHome(t)
	p = other.AtTerminal(t, "open", "--config", other.Config, "serial:"+l.Path)
	p.Sees("serial lines of this machine are off")
	p.Leaves(255)
}
