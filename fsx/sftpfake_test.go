//go:build unix

package fsx

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"ptyctl/term"
)

// A fakeServer has files in memory, each with one handle, which is its name and perhaps more. It takes payloads of
// 32 KiB.
type fakeServer struct {
	in   *io.PipeReader
	out  *io.PipeWriter
	late sync.WaitGroup // answers under way

	backwards bool         // the answers to requests that come together are in the opposite order
	alone     int          // writes that come alone
	stale     bool         // an fstat overtakes the writes before it
	pad       string       // follows a name in a handle
	refuse    map[byte]int // which request of a kind is refused, counted from 1 on
	freeze    byte         // the kind of request from which on nothing is answered
	code      byte         // of refusals

	mu     sync.Mutex // guards the following
	rest   []byte     // a part of a packet
	frozen bool
	had    map[byte]int
	held   [][]byte // answers
	writes int      // among them
	sent   string   // the kinds of requests, as letters
	files  map[string]*fakeFile
	open   map[string]int
}

type fakeFile struct {
	data        []byte
	mode, owner uint32
}

func newFakeServer(files map[string]string) *fakeServer {
	f := &fakeServer{refuse: map[byte]int{}, code: 4, had: map[byte]int{}, files: map[string]*fakeFile{}, open: map[string]int{}}
	for name, text := range files {
		f.files[name] = &fakeFile{data: []byte(text), mode: 0o104640}
	}
	f.in, f.out = io.Pipe()
	return f
}

func (f *fakeServer) Read(p []byte) (int, error) { return f.in.Read(p) }

func (f *fakeServer) Close() error {
	_ = f.in.Close()
	err := f.out.Close()
	f.late.Wait()
	return err
}

// Write takes requests.
func (f *fakeServer) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.rest = append(f.rest, p...); len(f.rest) >= 5; {
		n := 4 + int(binary.BigEndian.Uint32(f.rest))
		if len(f.rest) < n {
			break
		}
		f.request(f.rest[4], slices.Clone(f.rest[5:n]))
		f.rest = f.rest[n:]
	}
	return len(p), nil
}

// send sends answers in their order.
func (f *fakeServer) send(answers ...[]byte) {
	var all []byte
	for _, a := range answers {
		all = append(append(all, binary.BigEndian.AppendUint32(nil, uint32(len(a)))...), a...)
	}
	before := f.out
	f.late.Go(func() { _, _ = before.Write(all) }) // one request, or one group of them, is under way
}

// request works on one request, of which content begins with the id.
func (f *fakeServer) request(kind byte, content []byte) {
	if kind == packetInit {
		f.late.Go(func() { _, _ = f.out.Write(version(extRename, extSync)) })
		return
	}
	if f.sent += map[byte]string{
		3: "o", packetClose: "c", packetWrite: "w", 7: "l", packetFstat: "f", packetFsetstat: "m", 13: "x", 17: "s", packetExtended: "e",
	}[kind]; f.frozen || f.freeze == kind {
		f.frozen = true
		return
	}
	answer := f.work(kind, content[4:])
	if f.had[kind]++; f.had[kind] == f.refuse[kind] {
		answer = status(f.code)
	}
	copy(answer[1:5], content)
	group := kind == packetWrite || kind == packetFsetstat || kind == packetFstat || kind == packetClose ||
		kind == packetExtended && !bytes.Contains(content, []byte(extRename))
	if kind == packetWrite && f.had[kind] <= f.alone || kind == packetFsetstat && f.writes == 0 {
		group = false
	}
	if !f.backwards || !group {
		f.send(answer)
		return
	}
	f.held = append(f.held, answer)
	if kind == packetWrite {
		f.writes++
	}
	if kind == packetClose || kind == packetFstat && f.writes == 0 {
		slices.Reverse(f.held)
		f.send(f.held...)
		f.held, f.writes = nil, 0
	}
}

// work does what a request asks for, unless that will be refused, and returns the answer.
func (f *fakeServer) work(kind byte, p []byte) []byte {
	if f.had[kind]+1 == f.refuse[kind] && kind != packetClose {
		return status(f.code)
	}
	name, p, _ := cutString(p)
	name = strings.TrimSuffix(name, f.pad)
	file := f.files[name]
	switch kind {
	case 3: // open
		flags := binary.BigEndian.Uint32(p)
		if file == nil {
			file = &fakeFile{mode: 0o100644}
			f.files[name] = file
		}
		if flags&0x10 != 0 { // truncate
			file.data = nil
		}
		f.open[name]++
		return answer(packetHandle, text(name+f.pad)...)
	case packetClose:
		f.open[name]--
		return status(0)
	case packetWrite:
		at := int(binary.BigEndian.Uint64(p))
		if missing := at + len(p) - 12 - len(file.data); missing > 0 { // the library does not write in order
			file.data = append(file.data, make([]byte, missing)...)
		}
		copy(file.data[at:], p[12:])
		return status(0)
	case packetFsetstat:
		if binary.BigEndian.Uint32(p) == attrOwner {
			file.owner = binary.BigEndian.Uint32(p[4:])
		} else {
			file.mode = 0o100000 | binary.BigEndian.Uint32(p[4:])
		}
		return status(0)
	case 7, 17, packetFstat:
		if file == nil {
			return status(statusNoFile)
		}
		size := len(file.data)
		if f.stale && kind == packetFstat {
			size = 0
		}
		a := binary.BigEndian.AppendUint64([]byte{0, 0, 0, attrSize | attrOwner | attrPermissions}, uint64(size))
		for _, n := range []uint32{file.owner, 0, file.mode} {
			a = binary.BigEndian.AppendUint32(a, n)
		}
		return answer(packetAttrs, a...)
	case 13: // remove
		delete(f.files, name)
		return status(0)
	case packetExtended:
		if name == extRename {
			from, p, _ := cutString(p)
			to, _, _ := cutString(p)
			f.files[to] = f.files[from]
			delete(f.files, from)
		}
		return status(0)
	}
	return status(8)
}

// state describes the files, and whether one is open.
func (f *fakeServer) state() (files map[string]fakeFile, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	files = make(map[string]fakeFile)
	for name, file := range f.files {
		files[name] = *file
	}
	for _, n := range f.open {
		open += n
	}
	return files, open
}

// startFake opens the files of a fake server.
func startFake(t *testing.T, f *fakeServer) *SFTP {
	t.Helper()
	files, err := NewSFTP(t.Context(), f, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files
}

// fakeWrites are the writes that are tested with fake servers that have the file old.
func fakeWrites() map[string]term.FileWrite {
	data := bytes.Repeat([]byte("0123456789"), 10<<10) // four requests
	return map[string]term.FileWrite{
		"append":            {Path: "old", Append: true, Data: data},
		"append little":     {Path: "old", Append: true, Data: data[:10]},
		"append to new":     {Path: "new", Append: true, Data: data, Mode: new(fsMode(0o600))},
		"append none":       {Path: "old", Append: true},
		"over":              {Path: "old", NonAtomic: true, Data: data},
		"over with mode":    {Path: "old", NonAtomic: true, Data: data, Mode: new(fsMode(0o606))},
		"new":               {Path: "new", Data: data},
		"new with mode":     {Path: "new", Data: data, Mode: new(fsMode(0o606))},
		"empty":             {Path: "new"},
		"replace":           {Path: "old", Data: data},
		"replace with mode": {Path: "old", Data: data, Mode: new(fsMode(0o606))},
	}
}
