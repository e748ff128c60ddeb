package aiterm_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
)

// Chunks have numbers from 1 on and times that do not go back, and stay as they were returned.
func TestChunks(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	id := l.open(`["sh","-c","stty raw -echo; echo up; for i in 1 2 3 4 5; do head -c 1 >/dev/null; printf $i; done"]`, "")
	_, seq := l.until(id, 0, "up\n")
	for i := 1; i <= 5; i++ {
		l.send(id, "x")
		r := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq)+`,"timeout_ms":10000}`)
		if len(r.Chunks) != 1 || r.Chunks[0].Seq != seq+1 || r.data() != itoa(uint64(i)) || r.Chunks[0].Stream != "stdout" ||
			r.Truncated {
			t.Fatalf("%d: %s", i, r.text)
		}
		seq++
	}
	end := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq)+`,"timeout_ms":10000}`)
	if !end.Closed || len(end.Chunks) != 0 || !strings.Contains(end.text, `"chunks":[]`) {
		t.Errorf("the end: %s", end.text)
	}
	all := l.ok("pty_read", `{"id":"`+id+`"}`)
	if all.data() != "up\n12345" || !all.Closed || all.last(0) != seq {
		t.Errorf("again from the start: %s", all.text)
	}
	for i, c := range all.Chunks {
		if c.Seq != uint64(i+1) || i > 0 && c.TS < all.Chunks[i-1].TS {
			t.Errorf("chunk %d: %+v", i, c)
		}
	}
	part := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq-2)+`}`)
	if part.data() != "45" {
		t.Errorf("from the middle: %s", part.text)
	}
}

// A read waits as long as it is told to, and not longer than until there is something.
func TestReadWaits(t *testing.T) {
	l := newLab(t, mcpapi.Options{MaxWait: 2 * time.Second}, session.Config{})
	id := l.open(`["sh","-c","echo up; read line; sleep 0.3; echo done"]`, "")
	_, seq := l.until(id, 0, "up\r\n")
	read := `{"id":"` + id + `","since_seq":` + itoa(seq) + `,"timeout_ms":`
	if r := l.ok("pty_read", read+`300}`); len(r.Chunks) != 0 || r.Closed || r.DurationMS < 300 {
		t.Errorf("nothing came: %s", r.text)
	}
	if r := l.ok("pty_read", read+`0}`); len(r.Chunks) != 0 || r.Closed {
		t.Errorf("without a wait: %s", r.text)
	}
	if r := l.ok("pty_read", read+`60000}`); len(r.Chunks) != 0 || r.DurationMS < 2000 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "limits.max_wait_ms") {
		t.Errorf("longer than a call may: %s", r.text)
	}
	l.send(id, "\n")
	if got := l.rest(id, seq); got != "\r\ndone\r\n" {
		t.Errorf("%q", got)
	}
}

// max_bytes cuts where nobody was given the chunk before, and does not where somebody was.
func TestReadCut(t *testing.T) {
	l := newLab(t, mcpapi.Options{MaxReadBytes: 64 << 10}, session.Config{})
	id := l.open(`["sh","-c","stty raw -echo; seq 20000"]`, "")
	var data strings.Builder
	var seq uint64
	for size := 1; ; size = size*2%5000 + 1 {
		r := l.ok("pty_read", fmt.Sprintf(`{"id":%q,"since_seq":%d,"max_bytes":%d,"timeout_ms":10000}`, id, seq, size))
		if n := len(r.data()); n > size || r.Truncated {
			t.Fatalf("%d bytes asked for: %s", size, r.text)
		}
		for _, c := range r.Chunks {
			if seq++; c.Seq != seq {
				t.Fatalf("chunk %d came after %d", c.Seq, seq-1)
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
		t.Errorf("%d bytes in %d chunks, want %d", data.Len(), seq, want.Len())
	}

	big := l.open(`["sh","-c","stty raw -echo; head -c 20000 /dev/zero"]`, "")
	l.rest(big, 0)
	r := l.ok("pty_read", `{"id":"`+big+`"}`)
	first := len(r.Chunks[0].Data)
	if first < 2 {
		t.Fatalf("%s", r.text)
	}
	f := l.fails(
		"pty_read",
		fmt.Sprintf(`{"id":%q,"max_bytes":%d}`, big, first-1),
		aiterm.EBadArgs,
		fmt.Sprintf("needs %d;", first),
	)
	if f.Details.Field != "max_bytes" {
		t.Errorf("%s", f.text)
	}
	if r := l.ok("pty_read", fmt.Sprintf(`{"id":%q,"max_bytes":%d}`, big, first)); len(r.Chunks) != 1 {
		t.Errorf("%s", r.text)
	}
	if r := l.ok("pty_read", `{"id":"`+big+`","max_bytes":1000000}`); len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "limits.max_read_bytes") {
		t.Errorf("%s", r.text)
	}
}

// What is lost shows as missing numbers, and as truncated; what follows is exact.
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
		t.Fatalf("%.300s", r.text)
	}
	seq = r.last(0)
	l.send(id, "x")
	if r := l.ok("pty_read", `{"id":"`+id+`","since_seq":`+itoa(seq)+`,"timeout_ms":10000}`); r.data() != "more\n" ||
		r.Truncated ||
		r.Chunks[0].Seq != seq+1 {
		t.Errorf("%s", r.text)
	}
}

// strip_ansi returns text for reading; without it the bytes are exact. Runes are cut by neither.
func TestStripANSI(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	id := l.open(`["sh","-c","stty raw -echo; printf '\\033[1;31mred\\033[0m \\033]0;title\\007caf\\303\\251\\n'"]`, "")
	if got := l.rest(id, 0); got != "\x1b[1;31mred\x1b[0m \x1b]0;title\acafé\n" {
		t.Errorf("raw: %q", got)
	}
	if r := l.ok("pty_read", `{"id":"`+id+`","strip_ansi":true}`); r.data() != "red café\n" {
		t.Errorf("clean: %q", r.data())
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
				t.Fatalf("a rune is cut: %q", c.Data)
			}
		}
		seq, closed = r.last(seq), r.Closed
	}
	if got := l.rest(many, 0); !text.MatchString(got) || len(got) != 18000 {
		t.Errorf("%d bytes", len(got))
	}
}
