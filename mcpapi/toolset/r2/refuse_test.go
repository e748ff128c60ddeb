package r2

import (
	"io"
	"strings"
	"testing"
)

// Lines that are more than one command, or that leave the program, are refused with their reason, and others are not.
func TestCheck(t *testing.T) {
	for cmd, says := range map[string]string{
		"pdf @ main": "", "aaa; s main; pdf": "", "/x 7f45": "", "?e a.b": "", "iz~.rodata": "", "axt @@ sym.*": "", "px 16 @ 0x10": "",
		"": "empty", "  ": "empty", "a\nb": "a line end at byte 1", "a\r": "a carriage return", "a\x00b": "a NUL at byte 1",
		strings.Repeat("x", mostLine+1): "16385 bytes", strings.Repeat("x", mostLine): "",
		"!ls": `"!" at byte 0`, "pd 1; !!id": `"!" at byte 6`, "#!python x": `"#!"`, "pd | sh": `"|"`, "pd > /tmp/x": `">"`,
		"s `?v 1`": "\"`\"", "s $(x)": `"$("`, ". script.r2": "runs the lines", "aa; .ia*": "runs the lines", "3.x": "runs the lines",
	} {
		got := check(cmd, false)
		if (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("check(%.40q) = %q, want %q", cmd, got, says)
		}
		if lines := strings.ContainsAny(cmd, "\x00\r\n") || strings.TrimSpace(cmd) == "" || len(cmd) > mostLine; (check(cmd, true) != "") != lines {
			t.Errorf("check(%.40q) where commands may leave = %q", cmd, check(cmd, true))
		}
	}
	for file, says := range map[string]string{
		"/bin/ls": "", "./-x": "", "a b": "", "-d": "option", "a\x00": "NUL", "a\nb": "line end", "dbg:///bin/sh": "address",
		"http://host/": "address",
	} {
		if got := checkFile(file, false); (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("checkFile(%q) = %q, want %q", file, got, says)
		}
	}
	if got := checkFile("dbg:///bin/sh", true); got != "" {
		t.Errorf("checkFile of an address where commands may leave = %q, want nothing", got)
	}
}

// A feed gives its lines to one reader, holds one that is not read, and ends for both sides.
func TestFeed(t *testing.T) {
	f := newFeed()
	if err := f.send([]byte("first\n")); err != nil {
		t.Fatal(err)
	}
	if err := f.send([]byte("second\n")); err != io.ErrShortWrite {
		t.Errorf("send before the line before is read = %v, want %v", err, io.ErrShortWrite)
	}
	var got []byte
	for buf := make([]byte, 4); len(got) < 6; {
		n, err := f.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	if string(got) != "first\n" {
		t.Errorf("Read = %q, want the line", got)
	}
	ended := make(chan error)
	go func() {
		_, err := f.Read(make([]byte, 1))
		ended <- err
	}()
	_ = f.Close()
	_ = f.Close()
	if err := <-ended; err != io.EOF {
		t.Errorf("Read at the end = %v, want EOF", err)
	}
	if err := f.send([]byte("x")); err != io.ErrClosedPipe {
		t.Errorf("send at the end = %v, want %v", err, io.ErrClosedPipe)
	}
}
