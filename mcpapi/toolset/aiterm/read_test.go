package aiterm_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
)

// Chunks are numbered from 1, their times do not go back, and later reads return the same
// chunks.
func TestChunks(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	id := l.open(`["sh","-c","stty raw -echo; echo up; for i in 1 2 3 4 5; do head -c 1 >/dev/null; printf $i; done"]`, "")
	_, seq := l.until(id, 0, "up\n")
	for i := 1; i <= 5; i++ {
		l.send(id, "x")
		r := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq)+`,"timeout_ms":10000}`)
		if len(r.Chunks) != 1 || r.Chunks[0].Seq != seq+1 || r.data() != itoa(uint64(i)) || r.Chunks[0].Stream != "stdout" ||
			r.Truncated {
			t.Fatalf("read of chunk %d = %s, want %d in one chunk", seq+1, r.text, i)
		}
		seq++
	}
	end := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq)+`,"timeout_ms":10000}`)
	if !end.Closed || len(end.Chunks) != 0 || !strings.Contains(end.text, `"chunks":[]`) {
		t.Errorf("read at the end = %s, want closed and no chunks", end.text)
	}
	all := l.ok("pty_read", `{"id":"`+id+`"}`)
	if all.data() != "up\n12345" || !all.Closed || all.last(0) != seq {
		t.Errorf("read from the start = %s, want the same chunks and closed", all.text)
	}
	for i, c := range all.Chunks {
		if c.Seq != uint64(i+1) || i > 0 && c.TS < all.Chunks[i-1].TS {
			t.Errorf("chunk %d = %+v, want its number and a later time", i, c)
		}
	}
	part := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq-2)+`}`)
	if part.data() != "45" {
		t.Errorf("read from the middle = %s, want 45", part.text)
	}
}

// A read waits for its timeout, or until there is output.
func TestReadWaits(t *testing.T) {
	l := newLab(t, mcpapi.Options{Limits: toolset.Limits{MaxWait: 2 * time.Second}}, session.Config{})
	id := l.open(`["sh","-c","echo up; read line; sleep 0.3; echo done"]`, "")
	_, seq := l.until(id, 0, "up\r\n")
	read := `{"id":"` + id + `","since_seq":` + itoa(seq) + `,"timeout_ms":`
	if r := l.ok("pty_read", read+`300}`); len(r.Chunks) != 0 || r.Closed || r.DurationMS < 300 {
		t.Errorf("read without new output = %s, want no chunks after 300 ms", r.text)
	}
	if r := l.ok("pty_read", read+`0}`); len(r.Chunks) != 0 || r.Closed {
		t.Errorf("read with timeout_ms 0 = %s, want no chunks", r.text)
	}
	if r := l.ok("pty_read", read+`60000}`); len(r.Chunks) != 0 || r.DurationMS < 2000 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "limits.max_wait_ms") {
		t.Errorf("read with timeout_ms 60000 = %s, want no chunks after 2 s and a warning", r.text)
	}
	l.send(id, "\n")
	if got := l.rest(id, seq); got != "\r\ndone\r\n" {
		t.Errorf("output after the input = %q, want done", got)
	}
}

// max_bytes cuts a chunk that no reader has received, and never a final one.
func TestReadCut(t *testing.T) {
	l := newLab(t, mcpapi.Options{Limits: toolset.Limits{MaxReadBytes: 64 << 10}}, session.Config{})
	id := l.open(`["sh","-c","stty raw -echo; seq 20000"]`, "")
	var data strings.Builder
	var seq uint64
	for size := 1; ; size = size*2%5000 + 1 {
		r := l.ok("pty_read", fmt.Sprintf(`{"id":%q,"since_seq":%d,"max_bytes":%d,"timeout_ms":10000}`, id, seq, size))
		if n := len(r.data()); n > size || r.Truncated {
			t.Fatalf("read with max_bytes %d = %s, want at most that", size, r.text)
		}
		for _, c := range r.Chunks {
			if seq++; c.Seq != seq {
				t.Fatalf("chunk %d came after %d, want consecutive numbers", c.Seq, seq-1)
			}
		}
		data.WriteString(r.data())
		if r.Closed {
			break
		}
	}
	var want strings.Builder
	for i := 1; i <= 20000; i++ {
		fmt.Fprintln(&want, i)
	}
	if data.String() != want.String() {
		t.Errorf("read %d bytes in %d chunks, want %d bytes", data.Len(), seq, want.Len())
	}

	big := l.open(`["sh","-c","stty raw -echo; head -c 20000 /dev/zero"]`, "")
	l.rest(big, 0)
	r := l.ok("pty_read", `{"id":"`+big+`"}`)
	first := len(r.Chunks[0].Data)
	if first < 2 {
		t.Fatalf("first chunk = %s, want at least 2 bytes", r.text)
	}
	f := l.fails(
		"pty_read",
		fmt.Sprintf(`{"id":%q,"max_bytes":%d}`, big, first-1),
		aiterm.EBadArgs,
		fmt.Sprintf("needs %d;", first),
	)
	if f.Details.Field != "max_bytes" {
		t.Errorf("read of part of a final chunk = %s, want a failure for max_bytes", f.text)
	}
	if r := l.ok("pty_read", fmt.Sprintf(`{"id":%q,"max_bytes":%d}`, big, first)); len(r.Chunks) != 1 {
		t.Errorf("read with max_bytes %d = %s, want one chunk", first, r.text)
	}
	if r := l.ok("pty_read", `{"id":"`+big+`","max_bytes":1000000}`); len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "limits.max_read_bytes") {
		t.Errorf("read with max_bytes 1000000 = %s, want a warning", r.text)
	}
}

// Lost output shows as missing numbers and as truncated. The chunks after it are exact.
func TestReadLost(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{BufferBytes: 16 << 10})
	id := l.open(`["sh","-c","stty raw -echo; seq 30000; head -c 1 >/dev/null; echo more"]`, "")
	var seq uint64
	for deadline := time.Now().Add(20 * time.Second); ; {
		s, err := l.manager.Get(id)
		if err != nil || time.Now().After(deadline) {
			t.Fatal(err)
		}
		if s.End() == 168894 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	r := l.ok("pty_read", `{"id":"`+id+`"}`)
	if !r.Truncated || r.Chunks[0].Seq < 2 || !strings.HasSuffix(r.data(), "\n29999\n30000\n") || len(r.data()) > 16<<10 ||
		len(r.data()) < 15<<10 {
		t.Fatalf("read after a loss = %.300s, want the last 15 to 16 KiB, truncated", r.text)
	}
	seq = r.last(0)
	l.send(id, "x")
	if r := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq)+`,"timeout_ms":10000}`); r.data() != "more\n" ||
		r.Truncated ||
		r.Chunks[0].Seq != seq+1 {
		t.Errorf("read after chunk %d = %s, want the next chunk, not truncated", seq, r.text)
	}
}

// strip_ansi returns clean text. Without it the bytes are exact. Neither cuts a rune.
func TestStripANSI(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	id := l.open(`["sh","-c","stty raw -echo; printf '\\033[1;31mred\\033[0m \\033]0;title\\007caf\\303\\251\\n'"]`, "")
	if got := l.rest(id, 0); got != "\x1b[1;31mred\x1b[0m \x1b]0;title\acafé\n" {
		t.Errorf("raw output = %q, want all escape sequences", got)
	}
	if r := l.ok("pty_read", `{"id":"`+id+`","strip_ansi":true}`); r.data() != "red café\n" {
		t.Errorf("output with strip_ansi = %q, want red café", r.data())
	}
	many := l.open(
		`["sh","-c","i=0; while [ $i -lt 3000 ]; do printf '\\342\\224\\200\\303\\251x'; i=$((i+1)); done"]`,
		"",
	)
	text := regexp.MustCompile(`^(?:─éx)+$`)
	var seq uint64
	for closed := false; !closed; {
		r := l.ok("pty_read", `{"id":"`+many+`","since_seq":`+itoa(seq)+`,"timeout_ms":10000,"max_bytes":100}`)
		for _, c := range r.Chunks {
			if !strings.HasPrefix(string(c.Data), "\xe2") && strings.ContainsRune(string(c.Data), 0xfffd) {
				t.Fatalf("chunk = %q, want whole runes", c.Data)
			}
		}
		seq, closed = r.last(seq), r.Closed
	}
	if got := l.rest(many, 0); !text.MatchString(got) || len(got) != 18000 {
		t.Errorf("whole output = %d bytes, want 18000 in whole runes", len(got))
	}
}
