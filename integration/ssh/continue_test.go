package ssh

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// A command that outlasts its call, on OpenSSH, in both lanes: it goes on as long as its caller wants it, each result
// has the new output, and says how long the command still has.
func TestExecContinued(t *testing.T) {
	t.Parallel() // it waits
	s := lab.StartSSHD(t)
	c := lab.HomeFor(
		t, []*lab.SSHD{s}, "[limits]\nmax_wait_ms = 20000\n[session]\ndefault_exec_timeout_ms = 2000",
	).Connect(t)
	const unattended = 600_000
	for _, lane := range []string{"channel", "terminal"} {
		t.Run(lane, func(t *testing.T) {
			t.Parallel()
			id := c.Open(t, s)
			defer c.Close(t, id)
			c.Enter(t, id, "PS1='rea''dy> ' exec bash --norc --noprofile -i\r", `ready> `)
			start := func(cmd, args string) lab.Result {
				t.Helper()
				return c.Call(
					t, lab.ToolExec,
					`{"session_id":%s,"cmd":%s,"lane":%s,"class":"posix","expect":{"prompt_regex":"ready> $"}`+args+`}`,
					id, cmd, lane,
				)
			}
			more := func(r lab.Result, args string) lab.Result {
				t.Helper()
				return c.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s`+args+`}`, id, r.ExecID)
			}
			runs := func(r lab.Result, stdout string, least, most int64) lab.Result {
				t.Helper()
				if r.DoneReason != "running" || r.RemainingMS == nil || *r.RemainingMS < least || *r.RemainingMS > most ||
					r.Stdout != stdout || len(r.Warnings) > 0 {
					t.Fatalf("want running with %q, remaining_ms from %d to %d, got %s", stdout, least, most, r.Text)
				}
				return r
			}
			ended := func(r lab.Result, stdout string, code int) {
				t.Helper()
				if !lab.IsCode(r.ExitCode, code) || r.Stdout != stdout || r.RemainingMS != nil || len(r.Warnings) > 0 {
					t.Errorf("want %q, exit code %d and no warning, got %s", stdout, code, r.Text)
				}
			}

			// Without timeout_ms a command is not stopped soon after its call has handed it over.
			r := runs(start("echo begun; sleep 3; echo done; (exit 3)", `,"wait_ms":1000`), "begun\n", unattended-500,
				unattended)
			runs(more(r, `,"wait_ms":0`), "", unattended-500, unattended)
			ended(more(r, ""), "done\n", 3)
			if r = start("sleep 1000", ""); !r.TimedOut { // within the call the default counts
				t.Errorf("sleep 1000 without timeout_ms: %s", r.Text)
			}

			// A deadline is moved on, and back.
			r = runs(start("sleep 4; echo late", `,"timeout_ms":3000,"wait_ms":0`), "", 0, 3000)
			runs(more(r, `,"timeout_ms":60000,"wait_ms":0`), "", 50_000, 60_000)
			ended(more(r, ""), "late\n", 0)
			if r = more(r, `,"timeout_ms":5000`); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "timeout_ms") {
				t.Errorf("moved after the end: %s", r.Text)
			}
			r = runs(start("sleep 1000", `,"timeout_ms":60000,"wait_ms":0`), "", 50_000, 60_000)
			if r = more(r, `,"timeout_ms":300`); !r.TimedOut || r.DoneReason != "timeout" {
				t.Errorf("moved back: %s", r.Text)
			}

			// The budget of the first call counts for the next ones.
			r = runs(start("sleep 1; printf %40d 7", `,"max_output_bytes":10,"wait_ms":0`), "", unattended-500, unattended)
			if r = more(r, ""); r.StdoutBytes != 40 || r.StdoutOmitted == nil || r.StdoutOmitted.Bytes != 30 {
				t.Errorf("40 bytes within 10: %s", r.Text)
			}

			// Silence ends nothing where the end is known.
			r = start("echo x", `,"until_idle_ms":1000`)
			if r.Stdout != "x\n" || len(r.Warnings) != 1 ||
				!strings.Contains(r.Warnings[0], "until_idle_ms means nothing here") {
				t.Errorf("echo x with until_idle_ms: %s", r.Text)
			}
			c.Refused(t, "INVALID_ARGUMENT", lab.ToolExec, `{"session_id":%s,"cmd":"id","until_idle_ms":2001}`, id)
		})
	}
}
