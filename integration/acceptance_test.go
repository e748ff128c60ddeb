package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A command's output, streams and exit code arrive exactly.
func TestExec(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).connect(t)
	id := c.open(t, s)
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
			r := c.call(t, toolExec, `{"session_id":%s,"cmd":%s}`, id, test.cmd)
			if r.ExitCode == nil || *r.ExitCode != test.code || r.Stdout != test.stdout || r.Stderr != test.stderr {
				t.Errorf("got %s", r.text)
			}
		})
	}
	c.close(t, id)
	s.idle(t)
}

// A terminal is one: a shell within the shell, its prompt, a command, an interrupt, a new size.
func TestInteractive(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).connect(t)
	id := c.open(t, s)
	if err := os.WriteFile(filepath.Join(s.home, "a-file-to-list"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The quotes within the words keep the echo of what was typed apart from what is waited for.
	c.enter(t, id, "cd; PS1='rea''dy> ' exec bash --norc --noprofile -i\r", `ready> `)
	c.enter(t, id, "ls\n", `a-file-to-list\s+.*ready> `)

	c.call(t, toolIO, `{"action":"write","session_id":%s,"data":"sleep 999\r"}`, id)
	eventually(t, "the start of sleep 999", func() bool { return running(t, s.pid, "sleep 999") })
	c.call(t, toolIO, `{"action":"write","session_id":%s,"key":"ctrl_c"}`, id)
	eventually(t, "the end of sleep 999 by ctrl_c", func() bool { return !running(t, s.pid, "sleep 999") })
	c.enter(t, id, "echo sta''tus=$?\r", `status=130\s+.*ready> `)

	c.enter(t, id, "stty size\r", `\s40 120\s+.*ready> `)
	c.call(t, toolConfig, `{"action":"resize","session_id":%s,"cols":100,"rows":30}`, id)
	c.enter(t, id, "stty size\r", `\s30 100\s+.*ready> `) // the key below is the shell's only once it asks for input

	c.call(t, toolIO, `{"action":"write","session_id":%s,"key":"ctrl_d"}`, id)
	r := c.call(
		t,
		toolIO,
		`{"action":"read","session_id":%s,"cursor":"0","max_bytes":1000000,"until_regex":"never-there","timeout_ms":20000}`,
		id,
	)
	if !r.EOF {
		t.Errorf("after ctrl_d the terminal has no end: %s", r.text)
	}
	s.idle(t)
}

// A hundred sessions, eight being opened at a time as an ordinary sshd allows, do not hear each other: all that each is
// sent arrives there and nowhere else, for it comes back as it was typed, to the byte.
func TestHundredSessions(t *testing.T) {
	const (
		sessions, atATime = 100, 8
		blocks, size      = 4, 2 << 10
	)
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).connect(t)
	ids, cursors := make([]string, sessions), make([]string, sessions)
	begin := time.Now()
	each(t, sessions, atATime, func(i int) error {
		r, err := c.try(t.Context(), toolSession, openSSH, s.port, s.user)
		if ids[i] = r.SessionID; err == nil && r.State != "open" {
			err = fmt.Errorf("open: %s", r.text)
		}
		return err
	})
	t.Logf("%d sessions opened in %v", sessions, time.Since(begin))
	if n := len(s.sessions(t)); n != sessions {
		t.Errorf("sshd has %d connections, want %d", n, sessions)
	}
	// From here on the terminal adds nothing to the stream, nor does a prompt.
	each(t, sessions, atATime, func(i int) error {
		r, err := c.try(
			t.Context(),
			toolIO,
			`{"action":"write","session_id":%s,"data":"stty raw -echo; printf 'beg''un:'; exec cat\r","until_regex":"begun:","timeout_ms":20000}`,
			ids[i],
		)
		if err == nil && !r.Matched {
			err = fmt.Errorf("no cat: %s", tail(r.text, 1024))
		}
		cursors[i] = r.NextCursor
		return err
	})
	starts := slices.Clone(cursors)
	// All have sent a block before the first sends the next, so that all streams are under way at once.
	for block := range blocks {
		each(t, sessions, atATime, func(i int) error {
			r, err := c.try(
				t.Context(),
				toolIO,
				`{"action":"write","session_id":%s,"data":%s}`,
				ids[i],
				streamBlock(ids[i], block, size),
			)
			if err == nil && r.ErrorCode != "" {
				err = fmt.Errorf("write: %s", r.text)
			}
			return err
		})
		each(t, sessions, atATime, func(i int) error {
			got, next, err := c.take(t.Context(), ids[i], cursors[i], len(streamBlock(ids[i], block, size)))
			cursors[i] = next
			if d := differ(got, streamBlock(ids[i], block, size)); err == nil && d != "" {
				err = fmt.Errorf("block %d: %s", block, d)
			}
			return err
		})
	}
	// Once more, whole: nothing has come besides, late or before.
	each(t, sessions, atATime, func(i int) error {
		want := ""
		for block := range blocks {
			want += streamBlock(ids[i], block, size)
		}
		r, err := c.try(
			t.Context(),
			toolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"max_bytes":1000000}`,
			ids[i],
			starts[i],
		)
		if d := differ(r.Chunk, want); err == nil && d != "" {
			err = fmt.Errorf("the whole stream: %s", d)
		}
		return err
	})
	each(t, sessions, atATime, func(i int) error {
		r, err := c.try(t.Context(), toolSession, `{"action":"close","session_id":%s}`, ids[i])
		if err == nil && r.State != "closed" {
			err = fmt.Errorf("close: %s", r.text)
		}
		return err
	})
	s.idle(t)
	list := c.call(t, toolSession, `{"action":"list"}`)
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
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).connect(t)
	id := c.open(t, s)
	const size = 64 << 20
	begin := time.Now()
	c.call(
		t,
		toolIO,
		`{"action":"write","session_id":%s,"data":%s}`,
		id,
		fmt.Sprintf(
			"yes 'a line of sixty-three characters, which is an ordinary length.' | head -c %d; cd; touch finished\r",
			size,
		),
	)
	eventually(t, "the end of a command whose output nobody reads", func() bool {
		_, err := os.Stat(filepath.Join(s.home, "finished"))
		return err == nil
	})
	t.Logf("%d MiB in %v", size>>20, time.Since(begin))
	r := c.call(t, toolIO, `{"action":"read","session_id":%s,"cursor":"0"}`, id)
	if !r.Truncated || r.DroppedBytes < size/2 || r.Chunk == "" {
		t.Errorf(
			"a read from the beginning says truncated %v, dropped_bytes %d: %s",
			r.Truncated,
			r.DroppedBytes,
			tail(r.text, 512),
		)
	}
	if peak := statusField(t, c.pid, "VmHWM"); peak > 256<<10 {
		t.Errorf("the program has used %d KiB of memory for a buffer of 2 MiB", peak)
	}
	c.enter(t, id, "echo still' 'usable\r", `still usable\s`)
	if r := c.call(t, toolExec, `{"session_id":%s,"cmd":"echo hello","lane":"channel"}`, id); r.Stdout != "hello\n" {
		t.Errorf("exec after the overflow: %s", r.text)
	}
}

// A far side that has stopped answering cannot keep a session, nor hold up another one.
func TestForceClose(t *testing.T) {
	s := startSSHD(t)
	c := homeFor(t, []*sshd{s}).converse(t)
	other := c.open(s)
	before := s.sessions(t)
	id := c.open(s)
	opened := slices.DeleteFunc(s.sessions(t), func(p process) bool {
		return slices.ContainsFunc(before, func(b process) bool { return b.pid == p.pid })
	})
	if len(opened) != 1 {
		t.Fatalf("open made the connections %v, want one", opened)
	}
	files := len(openFiles(t, c.pid))
	s.freeze(t, opened[0])

	// Something waits in each way: for output, for a new channel, for room to write, which sshd gives 2 MiB of.
	pending := map[string]bool{
		c.ask(toolIO, `{"action":"read","session_id":%s,"until_regex":"never","timeout_ms":30000}`, id): true,
		c.ask(toolExec, `{"session_id":%s,"cmd":"echo never"}`, id):                                     true,
	}
	for range 12 {
		pending[c.ask(toolIO, `{"action":"write","session_id":%s,"data":%s}`, id, strings.Repeat("x", 256<<10))] = true
	}
	eventually(t, "a waiting read", func() bool {
		status := c.ask(toolSession, `{"action":"status","session_id":%s}`, id)
		for {
			a := c.next()
			if string(a.ID) == status {
				return strings.Contains(a.result(t).text, `"waiting_readers":1`)
			}
			delete(pending, string(a.ID)) // a write that had room
		}
	})
	begin := time.Now()
	closing := c.ask(toolSession, `{"action":"close","session_id":%s,"force":true}`, id)
	for closing != "" || len(pending) > 0 {
		a := c.next()
		r := a.result(t)
		switch took := time.Since(begin); {
		case string(a.ID) == closing:
			closing = ""
			if took > time.Second || r.State != "closed" {
				t.Errorf("the forced close took %v, want at most a second: %s", took, r.text)
			}
		case !pending[string(a.ID)]:
			t.Errorf("got %s, which nobody has asked for", tail(string(a.line), 512))
		case took > 5*time.Second: // each would go on for 10 s at least
			t.Errorf("a call on the closed session went on for %v: %s", took, tail(r.text, 512))
		}
		delete(pending, string(a.ID))
	}
	if r := c.nextResult(c.ask(toolIO, `{"action":"write","session_id":%s,"data":%s,"until_regex":"still here\\s","timeout_ms":10000}`, other, "echo still' 'here\r")); !r.Matched {
		t.Errorf("the other session: %s", r.text)
	}
	if r := c.nextResult(c.ask(toolExec, `{"session_id":%s,"cmd":"echo hello","lane":"channel"}`, other)); r.Stdout != "hello\n" {
		t.Errorf("exec in the other session: %s", r.text)
	}
	eventually(t, "the end of the closed session's connection", func() bool { return len(openFiles(t, c.pid)) < files })
}
