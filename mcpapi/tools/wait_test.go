package tools_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/internal/mcptest"
)

// answering is a terminal that echoes each line, and then answers it with three lines of ten letters and a prompt.
func answering(_ context.Context, r *sshserver.Request) sshserver.Exit {
	line := make([]byte, 0, 100)
	for p := make([]byte, 1); ; {
		if _, err := io.ReadFull(r.Stdin, p); err != nil {
			return sshserver.Exit{}
		}
		if p[0] != '\r' {
			line = append(line, p[0])
			continue
		}
		_, _ = fmt.Fprintf(r.Stdout, "%s\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY\r\n$ ", line)
		line = line[:0]
	}
}

// A write waits for the terminal's answer, not for the echo of its own data, and returns the part that was asked for.
func TestWriteAndWait(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: answering}})
	l.Open("")
	for _, c := range []struct {
		name, args string
		want       string // the chunk
		matched    bool
		full       bool
		warning    string
	}{
		{"past the echo", `"data":"say READY\r","until_regex":"READY"`, "say READY\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY", true, false, ""},
		{"the echo too", `"data":"say READY\r","until_regex":"READY","include_echo":true`, "say READY", true, false, ""},
		{"clean text", `"data":"say READY\r","until_regex":"^aaaaaaaaaa$","format":"clean"`, "say READY\naaaaaaaaaa", true, false, ""},
		{
			"nothing but the echo", `"data":"say NEVER\r","until_regex":"NEVER","timeout_ms":1000`,
			"say NEVER\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY\r\n$ ", false, false, "include_echo",
		},
		{"the end of a line", `"data":"go\r","until_regex":"READY$"`, "go\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY\r", true, false, ""},
		{
			"raw bytes that hide a line", `"data":"go\r","until_regex":"^aaaaaaaaaa$","timeout_ms":1000`,
			"go\r\n\x1b[1maaaaaaaaaa\x1b[m\r\nbbbbbbbbbb\r\nREADY\r\n$ ", false, false, "format clean",
		},
		{"the last bytes", `"data":"go\r","until_regex":"\\$ $","mode":"tail","max_bytes":9`, "READY\r\n$ ", true, false, ""},
		{"max_bytes alone", `"data":"go\r","until_regex":"\\$ $","max_bytes":9`, "READY\r\n$ ", true, false, ""},
		{"the last lines", `"data":"go\r","until_regex":"\\$ $","mode":"tail","max_lines":2`, "READY\r\n$ ", true, false, ""},
		{"the first bytes", `"data":"go\r","until_regex":"\\$ $","mode":"cursor","max_bytes":4`, "go\r\n", false, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S",`+c.args+`}`)
			if r.Chunk != c.want || r.Matched != c.matched || strings.Contains(r.Text, `"full":true`) != c.full {
				t.Errorf("write %s = %s; want chunk %q, matched %v, full %v", c.args, r.Text, c.want, c.matched, c.full)
			}
			if got := strings.Join(r.Warnings, "; "); !strings.Contains(got, c.warning) || c.warning == "" && got != "" {
				t.Errorf("write %s warns %q, want %q", c.args, got, c.warning)
			}
			l.OK(mcptest.IOTool, `{"action":"read","session_id":"$S","until_idle_ms":200}`) // the rest
		})
	}
	found := l.OK(mcptest.IOTool,
		`{"action":"search","session_id":"$S","pattern":"^aaaaaaaaaa$","format":"clean","max_matches":1}`)
	if !strings.Contains(found.Text, `"text":"aaaaaaaaaa","match":true`) {
		t.Errorf("search in clean text = %s, want the line without its colour", found.Text)
	}
	if raw := l.OK(mcptest.IOTool,
		`{"action":"search","session_id":"$S","pattern":"^aaaaaaaaaa$"}`); !strings.Contains(raw.Text, `"matches":0`) {
		t.Errorf("search in raw text = %s, want no match: the line begins with an escape sequence", raw.Text)
	}
	for _, args := range []string{`"data":"x","mode":"tail"`, `"data":"x","until_regex":"x","max_lines":2`} {
		if r := l.Call(mcptest.IOTool, `{"action":"write","session_id":"$S",`+args+`}`); !strings.Contains(r.Text,
			"INVALID_ARGUMENT") {
			t.Errorf("write %s = %s, want INVALID_ARGUMENT", args, r.Text)
		}
	}
}
