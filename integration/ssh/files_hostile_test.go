package ssh

import (
	"bytes"
	"context"
	wire "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A hostileSFTP is an SFTP server (draft-ietf-secsh-filexfer-02) that says of each file that it has as many bytes as
// its name says, and has data wherever it is asked.
type hostileSFTP struct {
	mu      sync.Mutex // guards the following
	offsets []uint64   // that were written at
}

func (s *hostileSFTP) serve(_ context.Context, r *sshserver.Request) sshserver.Exit {
	var listed bool
	handles := make(map[string]string) // the path of each
	for {
		var head [5]byte
		if _, err := io.ReadFull(r.Stdin, head[:]); err != nil {
			return sshserver.Exit{}
		}
		body := make([]byte, wire.BigEndian.Uint32(head[:])-1)
		if _, err := io.ReadFull(r.Stdin, body); err != nil {
			return sshserver.Exit{}
		}
		send := func(kind byte, payload []byte) {
			p := wire.BigEndian.AppendUint32(nil, uint32(len(payload)+1))
			_, _ = r.Stdout.Write(append(append(p, kind), payload...))
		}
		if head[4] == 1 { // SSH_FXP_INIT
			send(2, wire.BigEndian.AppendUint32(nil, 3))
			continue
		}
		id, rest := body[:4], body[4:]
		name, rest := sftpString(rest)
		status := func(code uint32) {
			p := wire.BigEndian.AppendUint32(bytes.Clone(id), code)
			send(101, sftpAppend(sftpAppend(p, ""), ""))
		}
		switch head[4] {
		case 7, 17: // LSTAT, STAT
			send(105, append(bytes.Clone(id), sftpAttrs(name)...))
		case 8: // FSTAT
			send(105, append(bytes.Clone(id), sftpAttrs(handles[name])...))
		case 3, 11: // OPEN, OPENDIR
			handle := fmt.Sprint("h", len(handles))
			handles[handle] = name
			send(102, sftpAppend(bytes.Clone(id), handle))
		case 5: // READ
			send(103, sftpAppend(bytes.Clone(id), strings.Repeat("x", int(min(wire.BigEndian.Uint32(rest[8:]), 32<<10)))))
		case 6: // WRITE
			s.mu.Lock()
			s.offsets = append(s.offsets, wire.BigEndian.Uint64(rest))
			s.mu.Unlock()
			status(0)
		case 12: // READDIR
			if listed {
				status(1)
				continue
			}
			listed = true
			names := []string{"9223372036854775808", "18446744073709551615", "..", "", "a/..", "7", "7"}
			p := wire.BigEndian.AppendUint32(bytes.Clone(id), uint32(len(names)))
			for _, n := range names {
				p = append(sftpAppend(sftpAppend(p, n), n), sftpAttrs(n)...)
			}
			send(104, p)
		default:
			status(0)
		}
	}
}

func sftpString(p []byte) (s string, rest []byte) {
	if len(p) < 4 {
		return "", nil
	}
	n := wire.BigEndian.Uint32(p)
	return string(p[4 : 4+n]), p[4+n:]
}

func sftpAppend(p []byte, s string) []byte {
	return append(wire.BigEndian.AppendUint32(p, uint32(len(s))), s...)
}

// sftpAttrs says how large the file of that name is, and that all of its times are the last that there can be.
func sftpAttrs(name string) []byte {
	mode, size := uint32(0o100644), uint64(0)
	if _, err := fmt.Sscan(name[strings.LastIndexByte(name, '/')+1:], &size); err != nil {
		mode = 0o40755
	}
	p := wire.BigEndian.AppendUint32(nil, 1|4|8)
	p = wire.BigEndian.AppendUint64(p, size)
	p = wire.BigEndian.AppendUint32(p, mode)
	return wire.BigEndian.AppendUint32(wire.BigEndian.AppendUint32(p, math.MaxUint32), math.MaxUint32)
}

// TestHostileSizes checks the effect of sizes and offsets that a server makes up: no number is negative, no offset that
// is sent to it overflows, and ptyctl goes on.
func TestHostileSizes(t *testing.T) {
	hostile := new(hostileSFTP)
	srv := lab.ServeSSH(
		t,
		sshserver.Config{NoAuth: true, Subsystems: map[string]string{"sftp": ""}, Handler: hostile.serve},
	)
	h := lab.NewHome(t, "[fs]", "remote = true")
	h.Trust(t, srv.KnownHostsLine())
	c := h.Connect(t)
	opened := c.Call(
		t,
		lab.ToolSession,
		`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"u","pty":{"enabled":false}}`,
		srv.Port(),
	)
	checked := func(arguments string, values ...any) lab.Result {
		t.Helper()
		r := c.Call(t, toolFS, arguments, values...)
		var numbers map[string]json.RawMessage
		if err := json.Unmarshal([]byte(r.Text), &numbers); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ReplaceAll(r.Text, " ", ""), `":-`) {
			t.Errorf("a number is negative: %.300s", r.Text)
		}
		return r
	}
	id := opened.SessionID
	for _, size := range []string{"0", "9223372036854775807", "9223372036854775808", "18446744073709551615"} {
		checked(`{"action":"stat","session_id":%s,"path":%s}`, id, "/"+size)
		for _, offset := range []int64{0, 1, 1 << 62} {
			checked(`{"action":"read","session_id":%s,"path":%s,"offset":%s}`, id, "/"+size, offset)
		}
		checked(`{"action":"write","session_id":%s,"path":%s,"data":"abc","non_atomic":true}`, id, "/"+size)
		const add = `{"action":"write","session_id":%s,"path":%s,"data":"abc","append":true}`
		if size == "0" {
			checked(add, id, "/"+size)
		} else if r := c.Refused(t, "IO_ERROR", toolFS, add, id, "/"+size); !strings.Contains(r.Message, size) {
			t.Errorf("the refusal %q does not say which size cannot be", r.Message)
		}
	}
	list := checked(`{"action":"list","session_id":%s,"path":"/folder"}`, id)
	var listing struct{ Entries []struct{ Name string } }
	if err := json.Unmarshal([]byte(list.Text), &listing); err != nil || len(listing.Entries) != 3 {
		t.Errorf("the list has %s (%v), want three names, each once", list.Text, err)
	}
	hostile.mu.Lock()
	defer hostile.mu.Unlock()
	for _, at := range hostile.offsets {
		if at > math.MaxInt64-3 {
			t.Errorf("ptyctl wrote at %d", at)
		}
	}
}
