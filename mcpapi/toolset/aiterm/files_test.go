//go:build unix

package aiterm_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"ptyctl/fsx"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
)

// Files can be written, read in part, and listed.
func TestFiles(t *testing.T) {
	l, dir := newFileLab(t, mcpapi.Options{Limits: toolset.Limits{MaxFileRead: 1000}}, fsx.Limits{Write: 5000})
	data := bytes.Repeat([]byte{0, 0xff, 'a', '\n'}, 1000)
	if r := l.ok("fs_writeFile", fmt.Sprintf(`{"path":%q,"data":%q,"mode":"0640"}`, dir+"/file",
		base64.StdEncoding.EncodeToString(data))); r.Bytes != 4000 {
		t.Errorf("fs_writeFile of 4000 bytes = %s, want bytes 4000", r.text)
	}
	if got, err := os.ReadFile(dir + "/file"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("file after fs_writeFile: %v, %d bytes; want the 4000 bytes written", err, len(got))
	}
	if info, err := os.Stat(dir + "/file"); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode after fs_writeFile: %v, %v; want 0640", err, info)
	}
	if r := l.ok("fs_readFile", `{"path":"file","max_bytes":10}`); string(r.Data) != string(data[:10]) || r.Size != 4000 ||
		!r.Truncated {
		t.Errorf("fs_readFile of 10 bytes = %s, want the first 10 of 4000, truncated", r.text)
	}
	if r := l.ok("fs_readFile", `{"path":"file","max_bytes":100000}`); len(r.Data) != 1000 || !r.Truncated ||
		len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "fs.max_read_bytes") {
		t.Errorf("fs_readFile beyond the limit = %s, want 1000 bytes and a warning", r.text)
	}
	l.ok("fs_writeFile", `{"path":"file","data":""}`)
	if r := l.ok("fs_readFile", `{"path":"file"}`); len(r.Data) != 0 || r.Size != 0 || r.Truncated ||
		!strings.HasPrefix(r.text, `{"data":"","size":0,"truncated":false,`) {
		t.Errorf("fs_readFile of an empty file = %s, want empty data", r.text)
	}
	if err := os.Mkdir(dir+"/folder", 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	r := l.ok("fs_list", `{"path":"."}`)
	var lines []string
	for _, e := range r.Entries {
		lines = append(lines, e.Name+" "+e.Type+" "+e.Mode)
	}
	if got, want := strings.Join(lines,
		", "), "fifo other 0600, file file 0640, folder dir 0750, link link 0777"; got != want ||
		r.Truncated {
		t.Errorf("entries = %s, want %s", got, want)
	}
	if r := l.ok("fs_list", `{"path":"folder"}`); !strings.Contains(r.text, `{"entries":[],`) {
		t.Errorf("fs_list of an empty folder = %s, want no entries", r.text)
	}
}

// Forbidden and impossible file actions are refused, each with its code.
func TestFileRefusals(t *testing.T) {
	l, dir := newFileLab(t, mcpapi.Options{}, fsx.Limits{Write: 100})
	if err := os.Symlink("/etc/passwd", dir+"/out"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, arguments string
		code            aiterm.Code
		part            string
	}{
		{"fs_readFile", `{"path":"/etc/passwd"}`, aiterm.EDenied, "fs.roots"},
		{"fs_readFile", `{"path":"../x"}`, aiterm.EDenied, "fs.roots"},
		{"fs_readFile", `{"path":"out"}`, aiterm.EDenied, "fs.roots"},
		{"fs_writeFile", `{"path":"out","data":""}`, aiterm.EDenied, "fs.roots"},
		{"fs_writeFile", `{"path":"/etc/motd","data":""}`, aiterm.EDenied, "fs.roots"},
		{"fs_list", `{"path":"/"}`, aiterm.EDenied, "fs.roots"},
		{"fs_readFile", `{"path":"none"}`, aiterm.ENotFound, "fs_list"},
		{"fs_list", `{"path":"none"}`, aiterm.ENotFound, "fs_list"},
		{"fs_readFile", `{"path":"fifo"}`, aiterm.EBadArgs, "FIFO"},
		{"fs_readFile", `{"path":"."}`, aiterm.EBadArgs, "folder"},
		{"fs_writeFile", `{"path":"file","data":"?"}`, aiterm.EBadArgs, "base64"},
		{"fs_writeFile", `{"path":"file","data":"","mode":"0999"}`, aiterm.EBadArgs, "octal"},
		{"fs_writeFile", `{"path":"file"}`, aiterm.EBadArgs, "data is missing"},
		{"fs_writeFile", `{"path":"file","data":"` + b64(strings.Repeat("x", 101)) + `"}`, aiterm.ERLimit, "fs.max_write_bytes"},
		{"fs_readFile", `{"path":"file","max_bytes":0}`, aiterm.EBadArgs, "between 1"},
	} {
		if r := l.fails(c.tool, c.arguments, c.code, c.part); strings.Contains(r.Message, "append") {
			t.Errorf("failure of %s %s = %s, want advice for these tools only", c.tool, c.arguments, r.text)
		}
	}
}

// If the operator offers no files, the tools are not listed. A call of one says how to
// change that.
func TestNoFiles(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	for tool, more := range map[string]string{"fs_readFile": "", "fs_writeFile": `,"data":""`, "fs_list": ""} {
		if l.schemas[tool] != nil {
			t.Errorf("tools/list has %s, want no file tools", tool)
		}
		l.schemas[tool] = l.schemas["pty_send"] // failures have the same form in all tools
		l.fails(tool, `{"path":"/etc/passwd"`+more+`}`, aiterm.EDenied, "fs.roots")
	}
}
