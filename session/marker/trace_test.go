package marker

import (
	"strings"
	"testing"
)

// The trace of the typed line that shells print under set -x is no output, however the stream is cut.
func TestTrace(t *testing.T) {
	const (
		format  = `printf '\036S=%s\037\n' abcdefgh2345` + "\r\n"
		finish  = ` '\036\122\103\075%s\037\nPTYCTL_RC_%s=%s:END_%s\n' 7 abcdefgh2345 7 abcdefgh2345` + "\r\n"
		markers = "\x1eRC=7\x1f\r\n" + asciiEnd7
	)
	for _, tt := range []struct{ name, command, in, out string }{
		{"bash", "echo hi", "+ " + format + beginLine + "++ printf 'echo hi'\r\n+ eval 'echo hi'\r\n++ echo hi\r\nhi\r\n+ printf" + finish + markers, "++ echo hi\nhi\n"},
		{"no line end", "printf end", "+ " + format + beginLine + "++ printf 'printf end'\r\n+ eval 'printf end'\r\n++ printf end\r\nend+ printf" + finish + markers, "++ printf end\nend"},
		{"time", "true", "+[12:00:01] " + format + beginLine + "++[12:00:01] printf true\r\n+[12:00:02] eval true\r\nx+[12:00:12] printf" + finish + markers, "x"},
		{"prompt after the echo", "printf end", "$ t: " + format + beginLine + "t: printf 'printf end'\r\nt: command eval printf end\r\nt: printf end\r\nendt: printf" + finish + markers, "t: printf end\nend"},
		{"prompt after the echo, time", "printf end", "$ +[12:00:09] " + format + beginLine + "+[12:00:10] command eval printf end\r\nend+[12:00:10] printf" + finish + markers, "end"},
		{"lines", "echo 'a'\necho b", "+ " + format + beginLine + `++ printf 'echo \047a\047\012echo b'` + "\r\n+ eval 'echo '\\''a'\\''\r\necho b'\r\na\r\nb\r\n+ printf" + finish + markers, "a\nb\n"},
		{"switched on", "set -x", beginLine + "+zsh:1> printf" + finish + markers, ""},
		{"switched on in bash", "set -x", beginLine + "+ printf" + finish + markers, ""},
		{"switched on in fish", "set fish_trace 1", beginLine + "> printf" + finish + markers, ""},
		{"switched on, own prefix", "PS4='t: '; set -x", beginLine + "t: printf" + finish + markers, "t: "},
		{"no trace", "cat", beginLine + "+ print\r\n> p\r\n--> x\r\nprint" + markers, "+ print\n> p\n--> x\nprint"},
		{"the typed line itself", "history", beginLine + " 5  printf" + strings.ReplaceAll(finish, "7 a", "$? a") + markers, " 5  printf" + strings.ReplaceAll(strings.ReplaceAll(finish, "7 a", "$? a"), "\r", "")},
		{"another printf", "printf x", "+ " + format + beginLine + "+ printf 'printf x'\r\n+ eval 'printf x'\r\n+ printf x\r\nx+ printf" + finish + markers, "+ printf x\nx"},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			sc := NewScanner(testMarker())
			sc.Runs(tt.command)
			var out []byte
			for in := tt.in; in != ""; {
				n := min(size, len(in))
				out = sc.Feed(out, []byte(in[:n]))
				in = in[n:]
			}
			if status, ok := sc.Status(); string(out) != tt.out || !ok || status != 7 {
				t.Errorf("%s in pieces of %d: output %q, status %d (%v), want %q and 7", tt.name, size, out, status, ok, tt.out)
			}
		}
	}
}
