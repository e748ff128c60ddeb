package soak

import (
	"fmt"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// TestGigabyte makes a command print a gibibyte (half of one in a terminal, except in the long tests). The program's
// memory must stay within its buffers' limits, and the result within its budget; every byte must be returned, kept, or
// counted as dropped or lost.
func TestGigabyte(t *testing.T) {
	for _, lane := range []string{"channel", "terminal"} {
		t.Run(lane, func(t *testing.T) {
			t.Parallel()
			size := int64(1 << 30)
			if lane == "terminal" && !lab.Long() {
				size = 1 << 29 // the kernel's terminal is slow
			}
			// A quarter of the output, which shows that it is not kept. BenchmarkBulkExec and BenchmarkBulkTerminal measure
			// the peak.
			most := size / 4 >> 10 // KiB
			s := lab.StartSSHD(t)
			h := lab.HomeFor(t, []*lab.SSHD{s})
			h.Program = lab.PlainBinary
			c := h.Connect(t)
			id := c.Open(t, s)
			c.Enter(t, id, "PS1='rea''dy> ' exec bash --norc --noprofile -i\r", `ready> `)
			began := time.Now()
			// Lines of 76 characters: a whole number of them and a rest.
			r := c.Call(
				t,
				lab.ToolExec,
				`{"session_id":%s,"cmd":%s,"lane":%s,"class":"posix","expect":{"prompt_regex":"ready> $"},"timeout_ms":300000}`,
				id,
				fmt.Sprintf("base64 /dev/zero 2>/dev/null | head -c %d; (exit 3)", size),
				lane,
			)
			for r.DoneReason == "running" {
				if len(r.Stdout) > 20<<10 {
					t.Fatalf("a result of %d bytes", len(r.Stdout))
				}
				r = c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, id, r.ExecID)
			}
			took := time.Since(began)
			peak := lab.StatusField(t, c.PID, "VmHWM")
			t.Logf(
				"%s: %s, %.0f MiB/s, at most %d MiB of memory, %d bytes lost",
				lane,
				took.Round(time.Millisecond),
				float64(size>>20)/took.Seconds(),
				peak>>10,
				r.LostBytes,
			)
			if int64(peak) > most {
				t.Errorf("peak of memory = %d KiB, want at most %d for %d bytes of output", peak, most, size)
			}
			if r.ExitCode == nil || *r.ExitCode != 3 || len(r.Stdout) > 17<<10 {
				t.Fatalf("%d bytes, %v, %s", len(r.Stdout), r.ExitCode, r.DoneReason)
			}
			// Lost bytes are counted with the CR of each line end.
			if all := r.StdoutBytes + r.LostBytes; all < size || all > size+r.LostBytes/50 {
				t.Errorf("got %d bytes and %d lost, want the command's %d", r.StdoutBytes, r.LostBytes, size)
			}
			// Of the start 64 KiB are kept, and behind them a hole begins.
			read := func(cursor string) lab.Result {
				return c.Call(
					t, lab.ToolIO, `{"action":"read","session_id":%s,"exec_id":%s,"cursor":%s,"max_bytes":1000}`, id, r.ExecID, cursor,
				)
			}
			if first := read("0"); first.DroppedBytes != 0 || len(first.Chunk) != 1000 || first.NextCursor != "1000" {
				t.Errorf("the start: %d bytes, %d dropped, next %s", len(first.Chunk), first.DroppedBytes, first.NextCursor)
			}
			const head = 64 << 10
			behind := read(fmt.Sprint(head))
			var next int64
			if _, err := fmt.Sscan(behind.NextCursor, &next); err != nil || len(behind.Chunk) != 1000 ||
				next != head+behind.DroppedBytes+1000 || head+behind.DroppedBytes != r.StdoutBytes-behind.BufferedBytes {
				t.Errorf("behind the start: %d bytes, %d dropped, %d of %d kept, next %s",
					len(behind.Chunk), behind.DroppedBytes, behind.BufferedBytes, r.StdoutBytes, behind.NextCursor)
			}
			if r := c.Call(
				t, lab.ToolExec, `{"session_id":%s,"cmd":"echo on","lane":%s,"class":"posix"}`, id, lane,
			); r.Stdout != "on\n" {
				t.Errorf("then: %q", r.Stdout)
			}
			c.Close(t, id)
		})
	}
}
