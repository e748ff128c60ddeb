package ssh

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// match finds its lines anywhere in the output that is held, and says how much is not.
func TestMatchInLongOutput(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	id := c.Open(t, s)
	defer c.Close(t, id)
	for _, test := range []struct {
		name, cmd, match, args, want string
		matched, total               int
		unsearched                   int64
	}{
		{"the middle of 938,895 bytes", "seq 150000", "^(1|75000|150000)$", "", "1\n75000\n150000\n", 3, 150_000, 0},
		{"context at both ends", "seq 150000", "^(1|150000)$", `,"context":2`, "1\n2\n3\n--\n149998\n149999\n150000\n", 2, 150_000, 0},
		{"one line of 1,000,006 bytes", "head -c 500000 /dev/zero | tr '\\0' a; printf needle; head -c 500000 /dev/zero | tr '\\0' b", "needle", "", "", 1, 1, 0},
		{"raw", "seq 150000", "^75000$", `,"format":"raw"`, "75000\n", 1, 150_000, 0},
		// 64 KiB at the start and 1 MiB at the end are held.
		{"a million lines", "seq 1000000; exit 0", "^(1|500000|999999)$", "", "1\n999999\n", 2, -1, 6_888_896 - 65_536 - 1_048_576},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s,"match":%s`+test.args+`}`, id, test.cmd, test.match)
			if r.MatchedLines == nil || *r.MatchedLines != test.matched || *r.TotalLines != test.total && test.total >= 0 ||
				!lab.IsCode(r.ExitCode, 0) {
				t.Fatalf("exec of %s with match %s = %s; want %d of %d lines, exit code 0", test.cmd, test.match,
					lab.Tail(r.Text, 500), test.matched, test.total)
			}
			if test.want == "" {
				if !strings.Contains(r.Stdout, "aaneedlebb") || len(r.Stdout) > 5<<10 || !strings.Contains(r.Stdout, " bytes left out ...]") {
					t.Errorf("exec of a long line with match gives %d bytes, %.200q; want what is around the match", len(r.Stdout), r.Stdout)
				}
			} else if r.Stdout != test.want {
				t.Errorf("exec of %s with match %s gives %q, want %q", test.cmd, test.match, r.Stdout, test.want)
			}
			// The rest of the line that the missing part ends in is not searched either.
			if off := r.Unsearched - test.unsearched; off < 0 || off > 8 {
				t.Errorf("exec of %s with match leaves %d bytes unsearched, want %d", test.cmd, r.Unsearched, test.unsearched)
			}
			t.Logf("%s with match %s: %d bytes of result, %d ms", test.cmd, test.match, len(r.Text), r.DurationMS)
		})
	}
	// The same output again, without running it again.
	r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"seq 150000","match":"^0"}`, id)
	found := c.Call(t, lab.ToolIO, `{"action":"search","session_id":%s,"exec_id":%s,"pattern":"^149999$","context":1}`, id, r.ExecID)
	if r.Stdout != "" || !strings.Contains(found.Text, fmt.Sprintf(`"line":%d`, 149_999)) {
		t.Errorf("exec with match = %s, search in its output = %s; want nothing, and line 149999", r.Text, found.Text)
	}
	read := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"exec_id":%s,"match":"99999$"}`, id, r.ExecID)
	if read.Chunk != "99999\n" || read.TotalLines == nil || *read.TotalLines != 150_000 {
		t.Errorf("read of its output with match = %s, want 99999 of 150000 lines", read.Text)
	}
}
