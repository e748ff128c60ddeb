package fsx

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/pkg/sftp"
)

// Packets of a read (draft-ietf-secsh-filexfer-02 sections 6.3, 6.4 and 7).
const (
	packetRead   = 5
	packetStatus = 101
	packetHandle = 102
	packetData   = 103

	statusEOF = 1
)

const (
	firstReadID = 1 << 31  // the library's ids count from 1 on
	maxHandle   = 256      // longest handle (section 6.3)
	maxStatus   = 64 << 10 // longest text of a refusal, and most bytes behind the data
)

// reads sits between the channel and the client library, and reads the data of files itself: the library would put
// each answer into new memory and copy the data from there, a seventh of the processor time of a copy, and the memory
// of all that is under way. All other packets pass.
//
// The goroutine of the library that reads the answers also takes these, so that there is no other one.
type reads struct {
	in  io.Reader // from the server
	out io.Writer // to the server

	sending sync.Mutex // held while a packet is sent
	unsent  int        // rest of the packet that the library sends; only for the library's goroutines, which take turns

	head [9]byte // of the packet that is received: only for the reading goroutine, as the next two
	pass []byte  // received, and to be passed to the library
	rest int64   // and the bytes to pass after that

	mu      sync.Mutex // guards the following
	waiting map[uint32]*read
	last    uint32 // id
	over    error  // why there are no more answers
	handle  string // of the file that was opened last
}

// A read is a request without an answer yet.
type read struct {
	into   []byte
	cut    bool // data beyond into is dropped, as by the library; else it is an error
	n      int
	status uint32 // in place of data
	err    error
	done   chan struct{} // closed when the others are set

	whole   bool // the answer is kept as it is, in the next two: that to another request than a read
	kind    byte
	content []byte
}

var errNotData = errors.New("the server's answer to a read is invalid")

// newReads returns the reads of a channel.
func newReads(in io.Reader, out io.Writer) *reads {
	return &reads{in: in, out: out, waiting: make(map[uint32]*read), last: firstReadID}
}

// Write implements io.Writer for the library. It writes a packet in one or two parts, between which no other one may
// come.
func (r *reads) Write(p []byte) (int, error) {
	if r.unsent <= 0 {
		if len(p) < 4 {
			return 0, io.ErrShortWrite // the library writes the length together with the data after it
		}
		r.unsent = 4 + int(binary.BigEndian.Uint32(p))
		r.sending.Lock()
	}
	n, err := r.out.Write(p)
	if r.unsent -= n; r.unsent <= 0 || err != nil {
		r.unsent = 0
		r.sending.Unlock()
	}
	return n, unexpected(err) // a closed channel returns io.EOF, which the library wraps as the error of a read
}

// Read implements io.Reader for the library.
func (r *reads) Read(p []byte) (int, error) {
	for len(r.pass) == 0 && r.rest == 0 {
		if err := r.receive(); err != nil {
			return 0, err
		}
	}
	if len(r.pass) > 0 {
		n := copy(p, r.pass)
		r.pass = r.pass[n:]
		return n, nil
	}
	n, err := r.in.Read(p[:min(int64(len(p)), r.rest)])
	r.rest -= int64(n)
	return n, err
}

// receive reads the beginning of the next packet, and all of it if it answers a read of a copy.
func (r *reads) receive() error {
	length, err := r.uint32()
	if err != nil {
		return err
	}
	if r.pass = r.head[:4]; length < 5 { // the library refuses it
		r.rest = int64(length)
		return nil
	}
	if _, err := io.ReadFull(r.in, r.head[4:]); err != nil {
		return unexpected(err)
	}
	kind, id, rest := r.head[4], binary.BigEndian.Uint32(r.head[5:]), int64(length)-5
	if q := r.take(id); q != nil {
		r.pass = nil
		q.err = r.answer(q, kind, rest)
		close(q.done)
		return q.err
	}
	if r.pass, r.rest = r.head[:], rest; kind == packetHandle {
		return r.open()
	}
	return nil
}

// open notes the handle in a packet that is received and passed.
func (r *reads) open() error {
	handle := ""
	if r.rest <= 4+maxHandle {
		content := make([]byte, r.rest)
		if _, err := io.ReadFull(r.in, content); err != nil {
			return unexpected(err)
		}
		r.pass, r.rest = append(slices.Clip(r.pass), content...), 0
		handle, _, _ = cutString(content)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handle = handle
	return nil
}

// answer reads the rest of the answer to q.
func (r *reads) answer(q *read, kind byte, rest int64) error {
	if q.whole {
		return r.answerWhole(q, kind, rest)
	}
	if kind != packetData && kind != packetStatus || rest < 4 || rest > int64(len(q.into))+maxStatus {
		return errNotData
	}
	n, err := r.uint32()
	if err != nil {
		return unexpected(err)
	}
	if rest -= 4; kind == packetStatus {
		q.status = n
	} else {
		if int64(n) > rest || n == 0 {
			return errNotData
		}
		if int64(n) > int64(len(q.into)) {
			if !q.cut {
				return errNotData
			}
			n = uint32(len(q.into))
		}
		if q.n, err = io.ReadFull(r.in, q.into[:n]); err != nil {
			return unexpected(err)
		}
		rest -= int64(n)
	}
	_, err = io.CopyN(io.Discard, r.in, rest)
	return unexpected(err)
}

// uint32 reads a number, into the memory of the packet's length.
func (r *reads) uint32() (uint32, error) {
	_, err := io.ReadFull(r.in, r.head[:4])
	return binary.BigEndian.Uint32(r.head[:4]), err
}

// unexpected is the error for the end of the connection in place of err, which must not look like that of a file.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// take returns the read that waits for an answer with that id, or nil.
func (r *reads) take(id uint32) *read {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.waiting[id]
	delete(r.waiting, id)
	return q
}

// opened returns the handle of the file that was opened last. The caller has had the turn since before that. Empty: it
// is not known.
func (r *reads) opened() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.handle
	r.handle = ""
	return h
}

// end ends all reads, and refuses others. No goroutine may be receiving any more.
func (r *reads) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = sftp.ErrSSHFxConnectionLost
	for _, q := range r.waiting {
		q.err = r.over
		close(q.done)
	}
	clear(r.waiting)
}

// readAt fills b from a file. A server may send less than it was asked for before the end of the file. other reports
// that the server refused, and the library must ask for its reason.
func (r *reads) readAt(handle string, b []byte, off int64) (n int, other bool, err error) {
	for n < len(b) {
		q := &read{into: b[n:], done: make(chan struct{})}
		if err := r.ask(handle, uint64(off)+uint64(n), q); err != nil {
			return n, false, err
		}
		<-q.done
		if other, err := q.outcome(); other || err != nil {
			return n, other, err
		}
		n += q.n
	}
	return n, false, nil
}

// readTogether fills b from a file, as readAt does, with one request for each size bytes. All of them are sent in one
// packet of the channel, before the first answer.
func (r *reads) readTogether(handle string, b []byte, off int64, size int) (n int, other bool, err error) {
	var all []*read
	for part := range slices.Chunk(b, size) {
		all = append(all, &read{into: part, cut: true, done: make(chan struct{})})
	}
	if err := r.ask(handle, uint64(off), all...); err != nil {
		return 0, false, err
	}
	for _, q := range all { // all, also after an error: they are read into b
		<-q.done
	}
	for _, q := range all {
		if other, err := q.outcome(); other || err != nil {
			return n, other, err
		}
		if n += q.n; q.n < len(q.into) { // most often the end of the file
			m, other, err := r.readAt(handle, q.into[q.n:], off+int64(n))
			if n += m; other || err != nil {
				return n, other, err
			}
		}
	}
	return n, false, nil
}

// outcome returns why an answered read has no data, as readAt does.
func (q *read) outcome() (other bool, err error) {
	switch {
	case q.err != nil:
		return false, q.err
	case q.n == 0 && q.status == statusEOF:
		return false, io.EOF
	}
	return q.n == 0, nil
}

// ask sends the requests for parts of a file that follow one another from off on. After an error none of them is read.
func (r *reads) ask(handle string, off uint64, parts ...*read) error {
	r.mu.Lock()
	if r.over != nil {
		r.mu.Unlock()
		return r.over
	}
	var packets []byte
	ids := make([]uint32, len(parts))
	for i, q := range parts {
		r.last = max(r.last+1, firstReadID)
		ids[i] = r.last
		r.waiting[r.last] = q
		content := appendString(binary.BigEndian.AppendUint32(nil, r.last), handle)
		content = binary.BigEndian.AppendUint64(content, off)
		content = binary.BigEndian.AppendUint32(content, uint32(len(q.into)))
		packets = append(packets, packet(packetRead, content)...)
		off += uint64(len(q.into))
	}
	r.mu.Unlock()

	r.sending.Lock()
	_, err := r.out.Write(packets)
	r.sending.Unlock()
	if err == nil {
		return nil
	}
	for i, id := range ids {
		if r.take(id) == nil { // it is being answered
			<-parts[i].done
		}
	}
	return unexpected(err)
}
