//go:build platforms && linux

package platforms

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// Each line must report its own code, and its output and nothing else: neither the code of the line before, nor the
// sequences with which the pseudo-console draws.
func TestWineCmd(t *testing.T) {
	t.Parallel()
	c := newHome(t, nil).Connect(t)
	id := c.OpenLocal(t, []string{windowsPath(wine.starter), "run", "cmd.exe"}, "")
	for _, tc := range []struct {
		line string
		code int
		out  string
	}{
		{"echo hello", 0, "hello\n"}, // at once: the console has yet to draw its first screen
		{"cmd /c exit 7", 7, ""},
		{"echo after a failure", 0, "after a failure\n"},
		{"cmd /c exit 300", 300, ""},
		{"cmd /c exit -1", -1, ""},
		{"echo one& echo two", 0, "one\ntwo\n"},
		{"cmd /c exit 3& cmd /c exit 0", 0, ""},
		{"cmd /c exit 0& cmd /c exit 3", 3, ""},
		{"for /l %i in (1,1,3) do @echo line %i", 0, "line 1\nline 2\nline 3\n"},
		{"if 1==1 echo yes", 0, "yes\n"},
		{"if 1==2 echo yes", 0, ""},
		{"if 1==2 (echo yes) else (echo no)", 0, "no\n"},
		{"if 1==1 cmd /c exit 6", 6, ""},
		{"title another& echo titled", 0, "titled\n"},
		{"set X=5", 0, ""},
		{"echo %X%", 0, "5\n"},
		{"echo a^&b", 0, "a&b\n"},
		{`echo "q & r"`, 0, "\"q & r\"\n"},
		{"(cmd /c exit 4) || echo failed", 4, "failed\n"},
		{"nosuchprogram", 9009, "Can't recognize 'nosuchprogram' as an internal or external command, or batch script.\n"},
		{`dir /b C:\windows\win.ini`, 0, "win.ini\n"},
	} {
		r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s,"class":"cmd","timeout_ms":20000}`, id, tc.line)
		if !lab.IsCode(r.ExitCode, tc.code) || strings.TrimRight(r.Stdout, "\n") != strings.TrimRight(tc.out, "\n") {
			t.Errorf("%s: %s, want code %d and %q", tc.line, r.Text, tc.code, tc.out)
		}
	}
	for _, line := range []string{"rem x", ":: x", "echo x ^", "echo )", "(echo x"} {
		c.Refused(t, "INVALID_ARGUMENT", lab.ToolExec, `{"session_id":%s,"cmd":%s,"class":"cmd"}`, id, line)
	}
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo still here","class":"cmd"}`, id); r.Stdout != "still here\n" {
		t.Errorf("after the refusals: %s", r.Text)
	}
	c.Close(t, id)
}
