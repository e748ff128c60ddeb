package modem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// content returns n bytes with all values, among them many that terminals and Telnet treat in their own ways.
func content(n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(7, uint64(n)))
	for i := range data {
		if data[i] = byte(r.IntN(256)); r.IntN(4) == 0 {
			data[i] = "\r\n\x00\xff\x11\x13\x18\x03\x04\x1a\x1d\xf0\xfb\xfd~"[r.IntN(15)]
		}
	}
	if n >= 8 {
		copy(data, "\r\x00\r\n\xff\xff\xff\xfb")
	}
	return data
}

// A place is a shell at the other end of a session.
type place struct {
	*lab.Client
	id       string
	dir      string // for its files
	programs string // of lrzsz
}

// moved is the result of a copy.
type moved struct {
	SessionID string `json:"session_id"`
	ExecID    string `json:"exec_id"` // of a copy that goes on

	Bytes    int64
	SHA256   string
	FarName  string `json:"far_name"`
	Errors   int
	Warnings []string
}

// rx and the others are the programs of lrzsz.
func programs(t *testing.T) string { return filepath.Dir(lab.Unpacked(t, "lrzsz", "usr/bin/rx")) }

// at makes a place of a session.
func at(t *testing.T, c *lab.Client, id string) *place {
	p := &place{Client: c, id: id, dir: t.TempDir(), programs: programs(t)}
	p.Enter(t, id, "PATH="+p.programs+":$PATH; cd "+p.dir+"; PS1='$ '; echo be''gun\r", `begun\s+\$ $`)
	return p
}

// here starts ptyctl, which may use the files of a folder.
func here(t *testing.T) (folder string, lines []string) {
	dir := t.TempDir()
	return dir, []string{"[fs]", fmt.Sprintf("roots = [%q]", dir), "[limits]", "max_wait_ms = 40000"}
}

func (p *place) write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// copies starts a program at the far side and makes a copy.
func (p *place) copies(t *testing.T, start, arguments string, values ...any) moved {
	t.Helper()
	p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, p.id, start+"\r")
	r := p.Call(t, "ptyctl_fs", `{"action":"copy",`+arguments+`}`, values...)
	var m moved
	if err := json.Unmarshal([]byte(r.Text), &m); err != nil {
		t.Fatalf("%v: %s", err, r.Text)
	}
	if m.ExecID == "" {
		return m
	}
	// The copy goes on where the machine has so much to do that the call ends before it.
	var end struct {
		Stdout   string
		ExitCode *int `json:"exit_code"`
	}
	for end.ExitCode == nil {
		text := p.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, m.SessionID, m.ExecID).Text
		if err := json.Unmarshal([]byte(text), &end); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	m = moved{}
	if err := json.Unmarshal([]byte(end.Stdout), &m); err != nil || *end.ExitCode != 0 {
		t.Fatalf("the end of a copy: %+v, %v", end, err)
	}
	return m
}

// usable checks that the shell is there, and that the transfer left nothing on its line. A program that is about to end
// could take input typed before the prompt.
func (p *place) usable(t *testing.T) {
	t.Helper()
	r := p.Call(
		t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","until_regex":"\\$ \\z","timeout_ms":20000,"max_bytes":262144}`, p.id,
	)
	if !r.Matched {
		t.Fatalf("no prompt: %s", r.Text)
	}
	p.Enter(t, p.id, "echo still-$((40+2))\r", `still-42\s+\$ $`)
}

// A way is a protocol, and how the programs of lrzsz are called for it.
type way struct {
	via, receiver, sender string
	sizes                 []int // that are tried on a local terminal
}

var ways = []way{
	{"xmodem", "rx -c F", "sx F", []int{0, 128}},
	{"xmodem", "rx F", "sx F", []int{1024}}, // with a checksum
	{"xmodem-1k", "rx -c F", "sx -k F", []int{1 << 20}},
	{"ymodem", "rb", "sb F", []int{0, 5000}},
}

// padded returns data with the padding of XMODEM.
func padded(via string, data []byte) []byte {
	if via == "ymodem" {
		return data
	}
	size := (len(data) + 127) / 128 * 128
	return append(bytes.Clone(data), bytes.Repeat([]byte{0x1a}, size-len(data))...)
}

// bothWays moves a file to the far side and back.
func (p *place) bothWays(t *testing.T, w way, folder string, data []byte, before string, errors int) {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '-'
		}
		return r
	}, fmt.Sprintf("%s-%s-%d", p.id, w.receiver, len(data)))
	file := filepath.Join(folder, name)
	p.write(t, file, data)
	far := filepath.Join(p.dir, name)
	m := p.copies(t, before+strings.ReplaceAll(w.receiver, "F", name), `"via":%s,"from":{"path":%s},"to":{"session_id":%s}`, w.via, file, p.id)
	p.usable(t)
	got, err := os.ReadFile(far)
	if err != nil || !bytes.Equal(got, padded(w.via, data)) || m.Bytes != int64(len(data)) || m.Errors < errors {
		t.Fatalf("%s sent %d bytes: %d arrived (%v), %+v; want %d errors or more", w.via, len(data), len(got), err, m, errors)
	}
	p.write(t, far, data) // without the padding of XMODEM
	back := file + ".back"
	m = p.copies(t, before+strings.ReplaceAll(w.sender, "F", name), `"via":%s,"from":{"session_id":%s},"to":{"path":%s}`, w.via, p.id, back)
	p.usable(t)
	got, err = os.ReadFile(back)
	if err != nil || !bytes.Equal(got, received(w, data)) || m.Bytes != int64(len(got)) || m.Errors < errors {
		t.Fatalf("%s received %d bytes of %d (%v), %+v; want %d errors or more", w.via, len(got), len(data), err, m, errors)
	}
	if (w.via == "ymodem") != (m.FarName == name) {
		t.Errorf("%s says that the file is named %q", w.via, m.FarName)
	}
}

// received returns data as sx fills it up: sx -k sends long blocks, and at the end short ones.
func received(w way, data []byte) []byte {
	if rest := len(data) % 1024; w.sender == "sx -k F" && rest > 896 {
		size := (len(data) + 1023) / 1024 * 1024
		return append(bytes.Clone(data), bytes.Repeat([]byte{0x1a}, size-len(data))...)
	}
	return padded(w.via, data)
}

// TestLocal moves files of many sizes, in all ways.
func TestLocal(t *testing.T) {
	for _, w := range ways {
		t.Run(w.via+" "+w.receiver, func(t *testing.T) {
			t.Parallel()
			folder, lines := here(t)
			c := lab.ConnectLocal(t, lines...)
			p := at(t, c, c.OpenLocal(t, []string{"/bin/sh"}, ""))
			for _, size := range w.sizes {
				p.bothWays(t, w, folder, content(size), "", 0)
			}
		})
	}
}

// spoiling returns the beginning of a command that spoils the bytes for the program that follows.
func spoiling(t *testing.T) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return lab.FixtureVariable + "=spoil " + self + " "
}

// TestErrors moves files over a line that spoils bytes.
func TestErrors(t *testing.T) {
	for _, w := range []way{ways[0], ways[3]} { // a checksum does not see every error
		t.Run(w.via, func(t *testing.T) {
			t.Parallel()
			folder, lines := here(t)
			c := lab.ConnectLocal(t, lines...)
			p := at(t, c, c.OpenLocal(t, []string{"/bin/sh"}, ""))
			p.bothWays(t, w, folder, content(8000), spoiling(t), 2)
		})
	}
}

func TestSSH(t *testing.T) {
	t.Parallel()
	folder, lines := here(t)
	server := lab.StartSSHD(t)
	c := lab.HomeFor(t, []*lab.SSHD{server}, lines...).Connect(t)
	p := at(t, c, c.Open(t, server))
	p.bothWays(t, ways[0], folder, content(20_000), "", 0)
	p.bothWays(t, ways[3], folder, content(5000), "", 0)
}

// TestTelnet uses a server that agrees to BINARY, and one that does not know it, but sends all bytes as they are.
func TestTelnet(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *lab.TelnetServer{"inetutils": lab.StartInetutils, "busybox": lab.StartBusybox} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, lines := here(t)
			server := start(t)
			c := lab.ConnectLocal(t, lines...)
			id, _ := c.OpenTelnet(t, server, "")
			c.LoginTelnet(t, server, id)
			p := at(t, c, id)
			p.bothWays(t, ways[3], folder, content(6000), "", 0)
			p.bothWays(t, ways[0], folder, make([]byte, 300), "", 0) // busybox drops a NUL that ends one read
		})
	}
}

// TestStop stops transfers: by cancel and by the deadline of the copy. Meanwhile nothing else is typed.
func TestStop(t *testing.T) {
	t.Parallel()
	folder, lines := here(t)
	lines[len(lines)-1] = "max_wait_ms = 2000"
	c := lab.ConnectLocal(t, lines...)
	p := at(t, c, c.OpenLocal(t, []string{"/bin/sh"}, ""))
	file := filepath.Join(folder, "large")
	p.write(t, file, content(4<<20))
	p.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"rx -c F\r"}`, p.id)
	const copies = `{"action":"copy","via":"xmodem","from":{"path":%s},"to":{"session_id":%s}}`
	r := p.Call(t, "ptyctl_fs", copies, file, p.id)
	if r.DoneReason != "running" || r.ExecID == "" {
		t.Fatalf("the copy of 4 MiB: %s", r.Text)
	}
	for tool, arguments := range map[string]string{
		lab.ToolIO: `{"action":"write","session_id":%s,"data":"x"}`, lab.ToolExec: `{"session_id":%s,"cmd":"true"}`,
		"ptyctl_fs": strings.Replace(copies, "%s", fmt.Sprintf("%q", file), 1),
	} {
		if e := p.Refused(t, "BUSY", tool, arguments, p.id); !strings.Contains(e.Message, r.ExecID) {
			t.Errorf("%s is refused with %q, which does not name %s", tool, e.Message, r.ExecID)
		}
	}
	end := p.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s,"cancel":true}`, p.id, r.ExecID)
	for end.DoneReason == "running" {
		end = p.Call(t, lab.ToolExec, `{"session_id":%s,"exec_id":%s}`, p.id, r.ExecID)
	}
	if !strings.Contains(end.Stderr, "CANCELED") {
		t.Errorf("a canceled copy ends with %s", end.Text)
	}
	p.usable(t)
	e := p.Refused(
		t, "IO_ERROR", "ptyctl_fs", `{"action":"copy","via":"xmodem","from":{"session_id":%s},"to":{"path":%s},"timeout_ms":1000}`, p.id, file+".back",
	)
	if !strings.Contains(e.Message, "timed out") {
		t.Errorf("a copy at its deadline ends with %q", e.Message)
	}
	if _, err := os.Stat(file + ".back"); err == nil {
		t.Error("a copy that has failed left its file")
	}
	p.usable(t)
}
