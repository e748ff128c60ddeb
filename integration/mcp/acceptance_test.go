package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// A command's output, streams and exit code arrive exactly.
func TestExec(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	id := c.Open(t, s)
	tests := []struct {
		cmd, stdout, stderr string
		code                int
	}{
		{"echo hello", "hello\n", "", 0},
		{"echo out; echo err >&2; exit 7", "out\n", "err\n", 7},
		{"printf 'no line end'", "no line end", "", 0},
		{"kill -KILL $$", "", "", 137},
		{"no-such-command-of-ours 2>/dev/null", "", "", 127},
	}
	for _, test := range tests {
		t.Run(test.cmd, func(t *testing.T) {
			r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id, test.cmd)
			if r.ExitCode == nil || *r.ExitCode != test.code || r.Stdout != test.stdout || r.Stderr != test.stderr {
				t.Errorf("got %s", r.Text)
			}
		})
	}
	c.Close(t, id)
	s.WaitIdle(t)
}

// A terminal is one: a shell within the shell, its prompt, a command, an interrupt, a new size.
func TestInteractive(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	id := c.Open(t, s)
	if err := os.WriteFile(filepath.Join(s.Home, "a-file-to-list"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The quotes within the words keep the echo of the typed text from matching the pattern.
	c.Enter(t, id, "cd; PS1='rea''dy> ' exec bash --norc --noprofile -i\r", `ready> `)
	c.Enter(t, id, "ls\n", `a-file-to-list\s+.*ready> `)

	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"sleep 999\r"}`, id)
	lab.Eventually(t, "the start of sleep 999", func() bool { return lab.Runs(t, s.PID, "sleep 999") })
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_c"}`, id)
	lab.Eventually(t, "the end of sleep 999 by ctrl_c", func() bool { return !lab.Runs(t, s.PID, "sleep 999") })
	c.Enter(t, id, "echo sta''tus=$?\r", `status=130\s+.*ready> `)

	c.Enter(t, id, "stty size\r", `\s40 120\s+.*ready> `)
	c.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":100,"rows":30}`, id)
	c.Enter(t, id, "stty size\r", `\s30 100\s+.*ready> `) // the key below is the shell's only once it asks for input

	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"ctrl_d"}`, id)
	r := c.Call(
		t,
		lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","max_bytes":1000000,"until_regex":"never-there","timeout_ms":20000}`,
		id,
	)
	if !r.EOF {
		t.Errorf("after ctrl_d the terminal has no end: %s", r.Text)
	}
	s.WaitIdle(t)
}

// Many sessions (24, or 100 in the long tests), eight being opened at a time as an ordinary sshd allows, do not hear each
// other: all that each is sent arrives there and nowhere else, for it comes back as it was typed, to the byte.
func TestManySessions(t *testing.T) {
	const (
		atATime      = 8
		blocks, size = 4, 2 << 10
	)
	sessions := 24
	if lab.Long() {
		sessions = 100
	}
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	ids, cursors := make([]string, sessions), make([]string, sessions)
	begin := time.Now()
	lab.ForEach(t, sessions, atATime, func(i int) error {
		r, err := c.Try(t.Context(), lab.ToolSession, lab.OpenSSH, s.Port, s.User)
		if ids[i] = r.SessionID; err == nil && r.State != "open" {
			err = fmt.Errorf("open: %s", r.Text)
		}
		return err
	})
	t.Logf("%d sessions opened in %v", sessions, time.Since(begin))
	if n := len(s.Sessions(t)); n != sessions {
		t.Errorf("sshd has %d connections, want %d", n, sessions)
	}
	// From here on the terminal adds nothing to the stream, nor does a prompt.
	lab.ForEach(t, sessions, atATime, func(i int) error {
		r, err := c.Try(
			t.Context(),
			lab.ToolIO,
			`{"action":"write","session_id":%s,"data":"stty raw -echo; printf 'beg''un:'; exec cat\r","until_regex":"begun:","timeout_ms":20000}`,
			ids[i],
		)
		if err == nil && !r.Matched {
			err = fmt.Errorf("no cat: %s", lab.Tail(r.Text, 1024))
		}
		cursors[i] = r.NextCursor
		return err
	})
	starts := slices.Clone(cursors)
	// All have sent a block before the first sends the next, so that all streams are under way at once.
	for block := range blocks {
		lab.ForEach(t, sessions, atATime, func(i int) error {
			r, err := c.Try(
				t.Context(),
				lab.ToolIO,
				`{"action":"write","session_id":%s,"data":%s}`,
				ids[i],
				lab.StreamBlock(ids[i], block, size),
			)
			if err == nil && r.ErrorCode != "" {
				err = fmt.Errorf("write: %s", r.Text)
			}
			return err
		})
		lab.ForEach(t, sessions, atATime, func(i int) error {
			got, next, err := c.Take(t.Context(), ids[i], cursors[i], len(lab.StreamBlock(ids[i], block, size)))
			cursors[i] = next
			if d := lab.Difference(got, lab.StreamBlock(ids[i], block, size)); err == nil && d != "" {
				err = fmt.Errorf("block %d: %s", block, d)
			}
			return err
		})
	}
	// Once more, whole: nothing has come besides, late or before.
	lab.ForEach(t, sessions, atATime, func(i int) error {
		want := ""
		for block := range blocks {
			want += lab.StreamBlock(ids[i], block, size)
		}
		r, err := c.Try(
			t.Context(),
			lab.ToolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"max_bytes":1000000,"format":"raw"}`,
			ids[i],
			starts[i],
		)
		if d := lab.Difference(r.Chunk, want); err == nil && d != "" {
			err = fmt.Errorf("the whole stream: %s", d)
		}
		return err
	})
	lab.ForEach(t, sessions, atATime, func(i int) error {
		r, err := c.Try(t.Context(), lab.ToolSession, `{"action":"close","session_id":%s}`, ids[i])
		if err == nil && r.State != "closed" {
			err = fmt.Errorf("close: %s", r.Text)
		}
		return err
	})
	s.WaitIdle(t)
	list := c.Call(t, lab.ToolSession, `{"action":"list"}`)
	if len(list.Sessions) != sessions {
		t.Errorf("%d sessions are listed, want %d", len(list.Sessions), sessions)
	}
	for _, e := range list.Sessions {
		if e.State != "closed" || !slices.Contains(ids, e.SessionID) {
			t.Errorf("the list has %+v", e)
		}
	}
}

// Output without end neither blocks the far side nor grows the program: the oldest is dropped, and said to be.
func TestBufferOverflow(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)
	id := c.Open(t, s)
	const size = 64 << 20
	begin := time.Now()
	c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s}`,
		id,
		fmt.Sprintf(
			"yes 'a line of sixty-three characters, which is an ordinary length.' | head -c %d; cd; touch finished\r",
			size,
		),
	)
	lab.Eventually(t, "the end of a command whose output nobody reads", func() bool {
		_, err := os.Stat(filepath.Join(s.Home, "finished"))
		return err == nil
	})
	t.Logf("%d MiB in %v", size>>20, time.Since(begin))
	r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)
	if !r.Truncated || r.DroppedBytes < size/2 || r.Chunk == "" {
		t.Errorf(
			"a read from the beginning says truncated %v, dropped_bytes %d: %s",
			r.Truncated,
			r.DroppedBytes,
			lab.Tail(r.Text, 512),
		)
	}
	if peak := lab.StatusField(t, c.PID, "VmHWM"); peak > 256<<10 {
		t.Errorf("the program has used %d KiB of memory for a buffer of 2 MiB", peak)
	}
	// The end of the output may still be on its way: only the tail is wanted.
	r = c.Call(
		t,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":%s,"until_regex":"still usable\\s","mode":"tail","timeout_ms":60000}`,
		id,
		"echo still' 'usable\r",
	)
	if !r.Matched {
		t.Errorf("echo after the overflow: %s; want a match", lab.Tail(r.Text, 512))
	}
	if r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"echo hello","lane":"channel"}`, id); r.Stdout != "hello\n" {
		t.Errorf("exec after the overflow: %s", r.Text)
	}
}

// A far side that has stopped answering cannot keep a session, and cannot delay another one.
func TestForceClose(t *testing.T) {
	s := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{s}).Converse(t)
	other := c.Open(s)
	before, earlier := s.Sessions(t), lab.OpenFiles(t, c.PID)
	id := c.Open(s)
	opened := slices.DeleteFunc(s.Sessions(t), func(p lab.Process) bool {
		return slices.ContainsFunc(before, func(b lab.Process) bool { return b.PID == p.PID })
	})
	if len(opened) != 1 {
		t.Fatalf("open made the connections %v, want one", opened)
	}
	files := slices.DeleteFunc(lab.OpenFiles(t, c.PID), func(f string) bool { return slices.Contains(earlier, f) })
	s.Freeze(t, opened[0])

	// Something waits in each way: for output, for a new channel, for room to write, which sshd gives 2 MiB of.
	pending := map[string]bool{
		c.Ask(lab.ToolIO, `{"action":"read","session_id":%s,"until_regex":"never","timeout_ms":30000}`, id): true,
		c.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"echo never"}`, id):                                     true,
	}
	for range 12 {
		pending[c.Ask(lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id, strings.Repeat("x", 256<<10))] = true
	}
	lab.Eventually(t, "a waiting read", func() bool {
		status := c.Ask(lab.ToolSession, `{"action":"status","session_id":%s}`, id)
		for {
			a := c.Next()
			if string(a.ID) == status {
				return strings.Contains(a.ToolResult(t).Text, `"waiting_readers":1`)
			}
			delete(pending, string(a.ID)) // a write that had room
		}
	})
	begin := time.Now()
	closing := c.Ask(lab.ToolSession, `{"action":"close","session_id":%s,"force":true}`, id)
	for closing != "" || len(pending) > 0 {
		a := c.Next()
		r := a.ToolResult(t)
		switch took := time.Since(begin); {
		case string(a.ID) == closing:
			closing = ""
			// Without force it waits five seconds for the far side.
			if took > 4*time.Second || r.State != "closed" {
				t.Errorf("the forced close took %v, want less than a polite one, 5s: %s", took, r.Text)
			}
		case !pending[string(a.ID)]:
			t.Errorf("got %s, which answers no request", lab.Tail(string(a.Line), 512))
		case took > 9*time.Second: // each would go on for 10 s at least
			t.Errorf("a call on the closed session went on for %v: %s", took, lab.Tail(r.Text, 512))
		}
		delete(pending, string(a.ID))
	}
	if r := c.NextResult(
		c.Ask(
			lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"until_regex":"still here\\s","timeout_ms":10000}`, other,
			"echo still' 'here\r",
		),
	); !r.Matched {
		t.Errorf("the other session: %s", r.Text)
	}
	if r := c.NextResult(
		c.Ask(lab.ToolExec, `{"session_id":%s,"cmd":"echo hello","lane":"channel"}`, other),
	); r.Stdout != "hello\n" {
		t.Errorf("exec in the other session: %s", r.Text)
	}
	lab.Eventually(
		t,
		"the end of the closed session's connection",
		func() bool { // ptyctl may open others meanwhile
			now := lab.OpenFiles(t, c.PID)
			return slices.ContainsFunc(files, func(f string) bool { return strings.Contains(f, "socket:") && !slices.Contains(now, f) })
		},
	)
}
