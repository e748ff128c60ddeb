package policy

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// doorLines run a canary under an allow list of readers in bash, sh or both, in ways that have nothing in common.
var doorLines = []string{
	"canary", "ls; canary", "ls\ncanary", "ls | canary", "echo $(canary)", "echo `canary`", "cat <<E\n$(canary)\nE", "echo \"${zz:-'$(canary)'}\"", "cat <<E\n${zz:-'$(canary)'}\nE", "echo ${zz:-<(canary)}", "echo \"$\\\n(canary)\"",
	"echo {a['$(canary)']}>/dev/null", "cat <(canary)", "test -v 'a[$(canary)]'", "printf -v 'a[$(canary)]' x", "LINES='a[$(canary)]' ls", "eval canary", "f() { canary; }; f", "trap canary EXIT", "PATH=/nowhere canary", `echo '" ; canary ; "' "!#:1"`,
}

// harmless are those of doorLines that a list of readers may allow, because ptyctl runs not the line but its parsed
// words, quoted. Typed, the line itself would run.
var harmless = []string{"echo \"$\\\n(canary)\"", "echo {a['$(canary)']}>/dev/null", `echo '" ; canary ; "' "!#:1"`}

// A door is a way to have a line run.
type door struct {
	name string
	run  func(line string) string
}

// typed reports whether a line at the door is keys for a terminal.
func (d door) typed() bool {
	return strings.Contains(d.name, "write") || strings.HasSuffix(d.name, "talk") || d.name == "paste" ||
		strings.Contains(d.name, "pty_send")
}

// starts reports whether a program starts for each line at the door, which takes most of the test's time.
func (d door) starts() bool {
	return strings.HasPrefix(d.name, "ptyctl exec") || strings.HasSuffix(d.name, "by ptyctl call")
}

// line returns the input that makes the door run a line. talk ends it itself.
func (d door) line(line string) string {
	if d.typed() && d.name != "k_pty talk" {
		line += "\r"
	}
	return line
}

// deniedByRules reports whether an answer, in the words of any set of tools, says that the operator's rules deny
// something.
func deniedByRules(text string) bool {
	return strings.Contains(text, "POLICY_DENIED") ||
		strings.Contains(text, "the operator's rule ") && strings.Contains(text, " denies this")
}

// doorsTo opens every door to a server, for a process with its own rules and one that is aiterm. shut closes them all.
//
// screens returns the ends of their terminals.
func doorsTo(
	t *testing.T, s *lab.SSHD, rules, aiRules []string,
) (h *lab.Home, doors []door, screens func() string, shut func()) {
	t.Helper()
	h = lab.HomeFor(t, []*lab.SSHD{s}, append(rules, "[local]\nhttp = true\n"+lab.ReadWrite)...)
	c := h.Connect(t, "--toolsets", "core,local,pty,k_pty", "--transport", "both", "--listen", "127.0.0.1:0")
	web := c.Dial(t, c.URL(), "")
	ai := lab.NewHome(t, aiRules...).Connect(t, "--toolsets", "aiterm")
	id, webID := c.Open(t, s), web.Open(t, s)
	where := fmt.Sprintf("%s@127.0.0.1:%d", s.User, s.Port)
	tool := func(c lab.Tools, name, arguments string, values ...any) func(string) string {
		return func(line string) string {
			return attempt(t, c, name, arguments, append(slices.Clip(values), line)...)
		}
	}
	call := func(tool, arguments string) func(string) string {
		return func(line string) string {
			out, errs, _ := h.Run(t, "call", "--config", h.Config, tool, fmt.Sprintf(arguments, line))
			return out + errs
		}
	}
	doors = []door{
		{"exec, channel", tool(c.Tools, lab.ToolExec, `{"session_id":%s,"lane":"channel","timeout_ms":2000,"cmd":%s}`, id)},
		{"exec, terminal", tool(c.Tools, lab.ToolExec, `{"session_id":%s,"lane":"terminal","timeout_ms":2000,"cmd":%s}`, id)},
		{
			"exec over HTTP",
			tool(web.Tools, lab.ToolExec, `{"session_id":%s,"lane":"channel","timeout_ms":2000,"cmd":%s}`, webID),
		},
		{"exec by ptyctl call", call(lab.ToolExec, `{"session_id":"`+id+`","lane":"channel","timeout_ms":2000,"cmd":%q}`)},
		{"write", tool(c.Tools, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id)},
		{"write over HTTP", tool(web.Tools, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, webID)},
		{"write by ptyctl call", call(lab.ToolIO, `{"action":"write","session_id":"`+id+`","data":%q}`)},
		{"paste", tool(c.Tools, lab.ToolIO, `{"action":"write","session_id":%s,"paste":true,"data":%s}`, id)},
		{"sensitive write", tool(c.Tools, lab.ToolIO, `{"action":"write","session_id":%s,"sensitive":true,"data":%s}`, id)},
		{"ptyctl exec", func(line string) string {
			out, errs, _ := h.Run(t, "exec", "--config", h.Config, where, "--", line)
			return out + errs
		}},
		{"ptyctl exec --lane terminal", func(line string) string {
			out, errs, _ := h.Run(t, "exec", "--config", h.Config, "--lane", "terminal", where, "--", line)
			return out + errs
		}},
		{"ptyctl_run", tool(c.Tools, lab.ToolRun, `{"argv":["bash","-c",%s]}`)},
		{"ptyctl_run sh", tool(c.Tools, lab.ToolRun, `{"argv":["/bin/sh","-c",%s]}`)},
		{"ptyctl_run over HTTP", tool(web.Tools, lab.ToolRun, `{"argv":["bash","-c",%s]}`)},
		{"open local", tool(c.Tools, lab.ToolSession, `{"action":"open","protocol":"local","argv":["bash","-c",%s]}`)},
		{"pty_spawn", tool(c.Tools, "pty_spawn", `{"command":"bash","args":["-c",%s]}`)},
		{"shell_run of aiterm", tool(ai.Tools, "shell_run", `{"argv":["/bin/bash","-c",%s]}`)},
		{"pty_open of aiterm", tool(ai.Tools, "pty_open", `{"argv":["/bin/bash","-c",%s]}`)},
	}
	var aiShells []string
	for _, shell := range []string{"/bin/bash", "/bin/sh"} {
		session := idIn(t, attempt(t, c.Tools, "k_pty", `{"action":"spawn","shell":%s}`, shell), "session_id")
		_, spawned, _ := strings.Cut(attempt(t, c.Tools, "pty_spawn", `{"command":%s,"args":[]}`, shell), "ID: ")
		if spawned, _, _ = strings.Cut(spawned, "\n"); spawned == "" {
			t.Fatalf("pty_spawn gives no %s", shell)
		}
		for _, action := range []string{"run", "talk"} {
			doors = append(
				doors,
				door{
					"k_pty " + action,
					tool(c.Tools, "k_pty", `{"action":%s,"session_id":%s,"timeout_ms":2000,"command":%s}`, action, session),
				},
			)
		}
		doors = append(doors,
			door{"k_pty write", tool(c.Tools, "k_pty", `{"action":"write","session_id":%s,"data":%s}`, session)},
			door{"exec in k_pty's shell", tool(c.Tools, lab.ToolExec, `{"session_id":%s,"timeout_ms":2000,"cmd":%s}`, session)},
			door{"pty_write", tool(c.Tools, "pty_write", `{"id":%s,"data":%s}`, spawned)},
		)
		id := idIn(t, attempt(t, ai.Tools, "pty_open", `{"argv":[%s]}`, shell), "id")
		aiShells = append(aiShells, id)
		doors = append(doors, door{"pty_send of aiterm", func(line string) string {
			return attempt(t, ai.Tools, "pty_send", `{"id":%s,"data":%s}`, id, base64.StdEncoding.EncodeToString([]byte(line)))
		}})
	}
	screens = func() (text string) {
		for _, open := range c.Call(t, lab.ToolSession, `{"action":"list"}`).Sessions {
			text += "\n" + attempt(t, c.Tools, lab.ToolIO,
				`{"action":"read","session_id":%s,"mode":"tail","max_bytes":1500,"format":"raw"}`, open.SessionID)
		}
		return text
	}
	return h, doors, screens, func() {
		for _, open := range c.Call(t, lab.ToolSession, `{"action":"list"}`).Sessions {
			attempt(t, c.Tools, lab.ToolSession, `{"action":"close","session_id":%s,"force":true}`, open.SessionID)
		}
		for _, id := range aiShells {
			attempt(t, ai.Tools, "pty_close", `{"id":%s}`, id)
		}
	}
}

// idIn returns the value of a field of an answer. Without one the door is not usable.
func idIn(t *testing.T, answer, field string) string {
	t.Helper()
	_, rest, ok := strings.Cut(answer, `"`+field+`":"`)
	id, _, ends := strings.Cut(rest, `"`)
	if !ok || !ends || id == "" {
		t.Fatalf("the answer has no %s: %.300s", field, answer)
	}
	return id
}

// TestRedTeamDoors: the same lines run nothing, whichever way they come.
func TestRedTeamDoors(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t)
	b := newCanary(t)
	h, doors, _, shut := doorsTo(
		t,
		s,
		[]string{
			"[policy]",
			strings.TrimSuffix(readers, "]") + `, "bash -c *", "/bin/bash -c *", "/bin/sh -c *", "/bin/bash", "/bin/sh"]`,
		},
		[]string{
			"[policy]",
			strings.TrimSuffix(readers, "]") + `, "/bin/bash -c *", "/bin/sh -c *", "/bin/bash", "/bin/sh"]`,
		},
	)
	for i, d := range doors {
		if text := d.run("echo fine"); !d.typed() && (deniedByRules(text) || strings.Contains(text, "INVALID")) {
			t.Errorf("door %s does not run an allowed command: %.500s", d.name, text)
		}
		lines := doorLines
		if d.starts() {
			lines = lab.Sample(doorLines, 4, i)
		}
		for _, line := range lines {
			text := d.run(d.line(strings.ReplaceAll(line, "canary", b.path)))
			switch ran := b.ran(t); {
			case ran:
				t.Errorf("%s: the canary ran: %q: %.300s", d.name, line, text)
			case deniedByRules(text), !d.typed() && slices.Contains(harmless, line):
			case d.name == "k_pty talk" && strings.Contains(line, "\n") && strings.Contains(text, "talk sends one line"):
			default:
				t.Errorf("%s: no rule denies %q: %.300s", d.name, line, text)
			}
		}
		b.stays(t, "%s", d.name)
	}
	b.stays(t, "later")
	wantRefusals(t, h, "exec", len(doorLines))
	shut()
}

// TestDoorsOpen checks that the canary runs at each of those doors without rules, so that the rules alone keep it out.
func TestDoorsOpen(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t)
	b := newCanary(t)
	_, doors, screens, shut := doorsTo(t, s, nil, nil)
	for _, d := range doors {
		text := d.run(d.line(b.path))
		if d.name == "paste" { // to bash the end of a pasted line is a part of it
			for _, enter := range doors {
				if enter.name == "write" {
					text += enter.run("\r")
				}
			}
		}
		ran := false
		for end := time.Now().Add(lab.Patience); !ran && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			ran = b.ran(t)
		}
		if !ran {
			t.Errorf("door %s does not run the canary without rules: %.500s; the terminals: %s", d.name, text, screens())
		}
	}
	shut()
}

// TestRedTeamTyped: where lines may be typed, nothing that the rules do not allow can be, by whatever keys.
func TestRedTeamTyped(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]", readers, `typing = "lines"`)
	c := h.Connect(t)
	b := newCanary(t)
	line := strings.NewReplacer("canary", b.path)
	for _, keys := range [][]string{
		{"canary\r"},
		{"ls; canary\r"},
		{"ls ", "; canary\r"},
		{"echo '", "\rcanary\r"},
		{"echo x", ";", "canary", "\r"},
		{"'ls' '", "'; canary '", "'\r"},
		{`echo '" ; canary ; "' "!#:1"` + "\r"},
		{"'echo' 'canary'\r", "!!:1\r"},
		{"'echo' 'canary'\r", "!$\r"},
		{"'echo' 'canary'\r", "!:1\r"},
		{"'echo' 'canary'\r", "^'echo' ^^\r"},
		{"'echo' 'canary'\r", "\x1b[A", "\x01\x1bd\r"},
		{"'echo' 'canary'\r", "\x10\x01\x1b[3~\x1b[3~\r"},
		{"ls \\\r", "; canary\r"},
		{"cat <<E\r", "$(canary)\r", "E\r"},
		{"'echo' 'a\r", "canary\r"},
		{"ls\n", "canary\n"},
		{"ls\x0acanary\x0a"},
		{"xcanary\x1b[D\x1b[D\r"},
		{"echo canary\x01\x04\x04\x04\x04\x04\r"},
		{"\x1b[200~canary\r\x1b[201~\r"},
		{"'ls'", " ", "|", "canary", "\r"},
		{"\x16\rcanary\r"},
		{"'cat'\r", "canary\r", "\x04"},
		{"'echo' $'\\ncanary'\r"},
		{"'ls' & canary\r"},
	} {
		id := c.Open(t, s)
		c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"[$#] $","timeout_ms":20000}`, id)
		var answers []string
		for _, k := range keys {
			answers = append(
				answers,
				attempt(t,
					c.Tools,
					lab.ToolIO,
					`{"action":"write","session_id":%s,"data":%s,"until_idle_ms":100,"timeout_ms":1000}`,
					id,
					line.Replace(k),
				),
			)
		}
		if !strings.Contains(strings.Join(answers, ""), "POLICY_DENIED") || b.ran(t) {
			time.Sleep(lateMoment)
		}
		for _, key := range []string{"enter", "arrow_up", "enter", "ctrl_r", "enter"} { // the typed line without an end
			attempt(
				t,
				c.Tools,
				lab.ToolIO,
				`{"action":"write","session_id":%s,"key":%s,"until_idle_ms":50,"timeout_ms":500}`,
				id,
				key,
			)
		}
		b.stays(t, "%q: %.500s", keys, answers)
		attempt(t, c.Tools, lab.ToolSession, `{"action":"close","session_id":%s,"force":true}`, id)
	}
}

// TestRedTeamDenied checks that a list of denied programs sees through these lines. By design it misses others, which
// need a list of allowed programs.
func TestRedTeamDenied(t *testing.T) {
	t.Parallel()
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}, "[policy]", `deny = ["canary", "canary *"]`).Connect(t)
	id := c.Open(t, s)
	b := newCanary(t)
	loaders, err := filepath.Glob("/lib*/ld-linux*.so*")
	if err != nil || len(loaders) == 0 {
		t.Fatalf("no loader is found: %v", err)
	}
	for _, line := range []string{
		"canary", "linux64 canary", "linux32 canary", "setarch x86_64 canary", "setarch -R canary", "i386 canary", "choom -n 0 -- canary", "choom -- canary", "compgen -C canary", "compgen -C canary x", "jobs -x canary", loaders[0] + " /bin/sh canary", loaders[0] + " --argv0 x /bin/sh canary",
		"gdb -batch -ex 'shell canary'", "gdb -q -ex '!canary' -ex quit", "gdb --batch --eval-command='shell canary'", "git -c alias.x='!canary' x", "git -c core.pager=canary -p log", "BASH_CMDS[ls]=canary; ls", "BASH_CMDS+=([ls]=canary); ls", "BASH_ALIASES[x]=canary", "hash -p canary ls; ls",
		"coproc canary", "env -S canary", "env -S 'sh canary'", "nsenter canary", "unshare canary", "prlimit canary", "taskset 1 canary", "chrt 0 canary", "ionice canary", "nice canary", "nohup canary", "setsid canary", "stdbuf -o0 canary", "timeout 1 canary", "time canary", "command canary", "exec canary", "eval canary", "builtin eval canary",
		"runuser -u root canary", "runuser root -c canary", "su -c canary", "sudo -n canary", "script -qc canary /dev/null", "flock /tmp canary", "setpriv canary", "xargs canary </dev/null", "echo | xargs canary", "find /etc/hostname -exec canary ;", "find /etc/hostname -exec canary {} +", "find /etc/hostname -ok canary {} +", "awk 'BEGIN{system(\"canary\")}'", "sed 1ecanary /etc/hostname", "perl -e 'exec q(canary)'", "python3 -c 'import os; os.system(\"canary\")'",
		"trap canary EXIT", "mapfile -C canary -c 1 x </etc/hostname", "enable -f canary x", "complete -C canary ls", "bind -x '\"x\":canary'", ". canary", "source canary", "sh canary", "bash -c canary", "dash -c canary", "busybox sh -c canary", "busybox nice canary", "start-stop-daemon -S -x canary", "run-parts canary", "vim -es -c '!canary' -c q", "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=canary /etc/hostname", "tar -I canary -cf /dev/null /etc/hostname", "ssh -o ProxyCommand=canary x", "rsync -e canary a b:", "sort --compress-program=canary /etc/hostname", "tmux new -d canary", "watch -n 1 canary", "make --eval='x:;canary' x", "man -P canary man",
	} {
		line = strings.ReplaceAll(line, "canary", b.path)
		text := attempt(t, c.Tools, lab.ToolExec, `{"session_id":%s,"lane":"channel","timeout_ms":2000,"cmd":%s}`, id, line)
		if !strings.Contains(text, "POLICY_DENIED") {
			t.Errorf("%q is not denied (the canary ran: %t): %.200s", line, b.ran(t), text)
		}
		if b.ran(t) {
			t.Errorf("the canary ran: %q", line)
		}
	}
}

// evilLibrary compiles a library that runs the canary when it is loaded.
func evilLibrary(tb testing.TB, b canary) string {
	tb.Helper()
	dir := tb.TempDir()
	source, library := filepath.Join(dir, "evil.c"), filepath.Join(dir, "evil.so")
	if err := os.WriteFile(
		source,
		[]byte(
			"#include <fcntl.h>\n__attribute__((constructor)) static void f(void) { open(\""+b.mark+"\", O_CREAT | O_WRONLY, 0600); }\n",
		),
		0o600,
	); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s; run scripts/install-test-deps", err, out)
	}
	return library
}

// TestRedTeamPrograms: where programs are ruled, no variable and no folder chooses another.
func TestRedTeamPrograms(t *testing.T) {
	t.Parallel()
	b := newCanary(t)
	library := evilLibrary(t, b)
	evil := filepath.Dir(b.path)
	for _, name := range []string{"id", "whoami", "bash"} {
		if err := os.Symlink(b.path, filepath.Join(evil, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, rules := range map[string]string{
		"programs": `programs = ["/usr/bin/id", "/usr/bin/whoami", "/usr/bin/bash"]`, "a folder": `programs = ["/usr/bin/"]`,
		"denied": `deny_programs = ["` + b.path + `"]`,
	} {
		t.Run(name, func(t *testing.T) {
			h := lab.NewHome(t, "[policy]", rules)
			c, ai := h.Connect(
				t,
				"--toolsets",
				"core,local,pty,k_pty",
			), lab.NewHome(
				t,
				"[policy]",
				rules,
			).Connect(
				t,
				"--toolsets",
				"aiterm",
			)
			for _, v := range []struct{ name, value string }{
				{"PATH", evil + ":/usr/bin"}, {"PATH", evil}, {"LD_PRELOAD", library}, {"LD_AUDIT", library}, {"LD_LIBRARY_PATH", evil}, {"BASH_ENV", b.path}, {"ENV", b.path}, {"PROMPT_COMMAND", b.path}, {"GCONV_PATH", evil}, {"BASH_FUNC_id%%", "() { " + b.path + "; }"}, {"SHELLOPTS", "xtrace"},
			} {
				pair := v.name + "=" + v.value
				for _, text := range []string{
					attempt(t, c.Tools, lab.ToolRun, `{"argv":["id"],"env":[%s]}`, pair),
					attempt(t, c.Tools, lab.ToolRun, `{"argv":["/usr/bin/id"],"env":[%s]}`, pair),
					attempt(t, c.Tools, lab.ToolRun, `{"argv":["bash","-c",":"],"env":[%s,"PS4=$(`+b.path+`)"]}`, pair),
					attempt(t, c.Tools, lab.ToolRun, `{"argv":["./id"],"cwd":%s,"env":[%s]}`, evil, pair),
					attempt(t, c.Tools, lab.ToolSession, `{"action":"open","protocol":"local","argv":["id"],"env":[%s]}`, pair),
					attempt(t, c.Tools, "pty_spawn", `{"command":"id","args":[],"env":{%s:%s}}`, v.name, v.value),
					attempt(t, c.Tools, "k_pty", `{"action":"spawn","shell":"bash","env":{%s:%s}}`, v.name, v.value),
					attempt(t, ai.Tools, "shell_run", `{"argv":["id"],"env":{%s:%s}}`, v.name, v.value),
					attempt(t, ai.Tools, "pty_open", `{"argv":["/usr/bin/id"],"env":{%s:%s}}`, v.name, v.value),
				} {
					if b.ran(t) {
						t.Errorf("%s: the canary ran, or was loaded: %.300s", pair, text)
					}
				}
				b.stays(t, "%s", pair)
			}
		})
	}
}
