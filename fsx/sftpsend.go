package fsx

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/sftp"
)

// Packets of a write and of its end (draft-ietf-secsh-filexfer-02 sections 6.3, 6.4, 6.8, 6.9 and 7).
const (
	packetClose    = 4
	packetWrite    = 6
	packetFstat    = 8
	packetFsetstat = 10
	packetAttrs    = 105

	statusOK         = 0
	statusNoFile     = 2
	statusPermission = 3

	attrSize        = 1
	attrOwner       = 2
	attrPermissions = 4
)

// A request is a packet about an open file.
type request struct {
	kind   byte
	fields []byte // its content, from behind the id on
	data   []byte // the last of its content, sent from where it is
	id     uint32
	answer read
}

var errNoAnswer = errors.New("the server's answer to a request is invalid")

// newRequest returns a request about the file with that handle.
func newRequest(kind byte, handle string, more ...byte) *request {
	return &request{kind: kind, fields: append(appendString(nil, handle), more...)}
}

// newWrites returns the requests that write data from off on, each of size bytes at most.
func newWrites(handle string, data []byte, off int64, size int) (all []*request) {
	for part := range slices.Chunk(data, size) {
		q := newRequest(packetWrite, handle)
		q.fields = binary.BigEndian.AppendUint64(q.fields, uint64(off))
		q.fields = binary.BigEndian.AppendUint32(q.fields, uint32(len(part)))
		q.data = part
		all = append(all, q)
		off += int64(len(part))
	}
	return all
}

// newChmod returns the request that sets the permissions of a file.
func newChmod(handle string, mode fs.FileMode) *request {
	q := newRequest(packetFsetstat, handle, 0, 0, 0, attrPermissions)
	q.fields = binary.BigEndian.AppendUint32(q.fields, uint32(mode.Perm()))
	return q
}

// newSync returns the request that forces a file to the disk.
func newSync(handle string) *request {
	return &request{kind: packetExtended, fields: appendString(appendString(nil, extSync), handle)}
}

// send sends requests before the first answer, in the order in which the server must work on them (section 6.1), and
// waits for all answers. Its error is that of the connection; those of the server are in the requests.
func (r *reads) send(all ...*request) error {
	r.mu.Lock()
	if r.over != nil {
		r.mu.Unlock()
		return r.over
	}
	var parts [][]byte
	var head []byte
	for _, q := range all {
		r.last = max(r.last+1, firstReadID)
		q.id = r.last
		q.answer = read{whole: true, done: make(chan struct{})}
		r.waiting[q.id] = &q.answer
		head = binary.BigEndian.AppendUint32(head, uint32(1+4+len(q.fields)+len(q.data)))
		head = append(binary.BigEndian.AppendUint32(append(head, q.kind), q.id), q.fields...)
		if len(q.data) > 0 {
			parts = append(parts, head, q.data)
			head = nil
		}
	}
	if len(head) > 0 {
		parts = append(parts, head)
	}
	r.mu.Unlock()

	if err := r.writeParts(parts); err != nil {
		for _, q := range all {
			if r.take(q.id) == nil { // it is being answered
				<-q.answer.done
			}
		}
		return unexpected(err)
	}
	for _, q := range slices.Backward(all) { // most often the last is answered last, and this wakes up once
		<-q.answer.done
	}
	for _, q := range all {
		if q.answer.err != nil {
			return q.answer.err
		}
	}
	return nil
}

// writeParts sends whole packets.
func (r *reads) writeParts(parts [][]byte) error {
	r.sending.Lock()
	defer r.sending.Unlock()
	for _, p := range parts {
		if _, err := r.out.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// answerWhole reads the rest of the answer to a request other than a read.
func (r *reads) answerWhole(q *read, kind byte, rest int64) error {
	if rest > maxStatus {
		return errNoAnswer
	}
	q.kind, q.content = kind, make([]byte, rest)
	_, err := io.ReadFull(r.in, q.content)
	return unexpected(err)
}

// err returns why the server refused an answered request, as the library does.
func (q *request) err() error {
	kind, content := q.answer.kind, q.answer.content
	switch {
	case kind == packetAttrs && q.kind == packetFstat:
		return nil
	case kind != packetStatus || len(content) < 4:
		return errNoAnswer
	}
	code := binary.BigEndian.Uint32(content)
	switch {
	case code == statusOK && q.kind != packetFstat:
		return nil
	case code == statusOK:
		return errNoAnswer
	case code == statusEOF:
		return io.EOF
	case code == statusNoFile:
		return fs.ErrNotExist
	case code == statusPermission:
		return fs.ErrPermission
	}
	text, _, _ := cutString(content[4:])
	return &refusal{sftp.StatusError{Code: code}, text}
}

// A refusal is an sftp.StatusError with a text, which only the library can set.
type refusal struct {
	status sftp.StatusError
	text   string
}

// Error implements error.
func (e *refusal) Error() string {
	return strings.Replace(e.status.Error(), `""`, strconv.Quote(e.text), 1)
}

// As lets a refusal be found as what it is.
func (e *refusal) As(target any) bool {
	t, ok := target.(**sftp.StatusError)
	if ok {
		*t = &e.status
	}
	return ok
}

// attributes returns the attributes in the answer to an fstat (section 5), those that are missing as 0, as the library does.
func (q *request) attributes() (a sftp.FileStat, err error) {
	p := q.answer.content
	number := func() (n uint32) {
		if len(p) < 4 {
			err = errNoAnswer
			return 0
		}
		n, p = binary.BigEndian.Uint32(p), p[4:]
		return n
	}
	flags := number()
	if flags&attrSize != 0 {
		a.Size = uint64(number())<<32 | uint64(number())
	}
	if flags&attrOwner != 0 {
		a.UID, a.GID = number(), number()
	}
	if flags&attrPermissions != 0 {
		a.Mode = number()
	}
	return a, err
}
