package record

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"filippo.io/age"
)

// partMagic begins each age file (age-encryption.org/v1).
const partMagic = "age-encryption.org/v1\n"

// Encrypted returns a writer for New that encrypts to recipients of age. The part before each seal is an age file of
// its own, and the recording is all of these, one after the other: age decrypts the last block of a file only if that
// is complete, so a process that is killed would leave a single one without its end. The writer keeps the part
// without a seal in memory.
func Encrypted(w io.Writer, recipients ...age.Recipient) (io.Writer, error) {
	if _, err := age.Encrypt(io.Discard, recipients...); err != nil {
		return nil, err
	}
	return &encrypted{to: recipients, file: w}, nil
}

// keptPart is how much memory is kept for the next part.
const keptPart = 6 * sealBytes

type encrypted struct {
	to   []age.Recipient
	file io.Writer
	size int64  // of the complete parts in file
	part []byte // not written yet
	out  bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (e *encrypted) Write(p []byte) (int, error) {
	e.part = append(e.part, p...)
	return len(p), nil
}

// flush writes a part, whole or not at all; then it is lost. broken means that nothing can follow.
func (e *encrypted) flush() (broken bool, err error) {
	defer func() {
		if e.part = e.part[:0]; cap(e.part) > keptPart {
			e.part = nil
		}
		if e.out.Reset(); e.out.Cap() > keptPart {
			e.out = bytes.Buffer{}
		}
	}()
	in, err := age.Encrypt(&e.out, e.to...)
	if err == nil {
		if _, err = in.Write(e.part); err == nil {
			err = in.Close()
		}
	}
	if err != nil {
		return false, err
	}
	n, err := e.file.Write(e.out.Bytes())
	if err == nil {
		e.size += int64(n)
		return false, nil
	}
	if n > 0 {
		t, ok := e.file.(interface{ Truncate(size int64) error })
		broken = !ok || t.Truncate(e.size) != nil
	}
	return broken, err
}

// Sync implements the Sync of an os.File.
func (e *encrypted) Sync() error {
	if f, ok := e.file.(interface{ Sync() error }); ok {
		return f.Sync()
	}
	return nil
}

// inParts implements a parter.
func (e *encrypted) inParts() *encrypted { return e }

// decrypted returns the contents of a file that may be encrypted.
func decrypted(in io.Reader, identities []age.Identity) (io.Reader, error) {
	b := bufio.NewReaderSize(in, 128<<10)
	if head, _ := b.Peek(len(partMagic)); string(head) != partMagic {
		return b, nil
	}
	if len(identities) == 0 {
		return nil, ErrEncrypted
	}
	p := &parts{in: b, ids: identities}
	if err := p.next(); err != nil {
		return nil, err
	}
	return p, nil
}

// errPart means that one of several encrypted parts is not as it was written.
var errPart = errors.New("an encrypted part of it was changed")

// parts reads the contents of age files that follow each other.
type parts struct {
	in    *bufio.Reader
	ids   []age.Identity
	part  *part
	plain io.Reader
}

// next opens the next part.
func (p *parts) next() (err error) {
	p.part = &part{in: p.in}
	p.plain, err = age.Decrypt(p.part, p.ids...)
	return err
}

// Read implements io.Reader. The error is io.ErrUnexpectedEOF where the last part cannot be decrypted: its writer was
// killed, the file was cut, or it was changed there.
func (p *parts) Read(b []byte) (int, error) {
	for {
		n, err := p.plain.Read(b)
		if n > 0 || err == nil {
			return n, nil
		}
		if errors.Is(err, io.EOF) {
			if _, err = p.in.Peek(1); err != nil {
				return 0, err
			}
			err = p.next()
		}
		if err != nil {
			if _, failed := io.Copy(io.Discard, p.part); failed != nil {
				return 0, failed
			}
			if _, last := p.in.Peek(1); last == nil {
				return 0, errPart
			}
			return 0, io.ErrUnexpectedEOF
		}
	}
}

// A part reads one age file, up to the beginning of the next.
type part struct {
	in    *bufio.Reader
	begun bool
}

// Read implements io.Reader.
func (p *part) Read(b []byte) (int, error) {
	seen, err := p.in.Peek(p.in.Size())
	from := 0
	if !p.begun {
		from = min(1, len(seen))
	}
	n := len(seen)
	if i := bytes.Index(seen[from:], []byte(partMagic)); i >= 0 {
		n, err = from+i, io.EOF
	} else if err == nil {
		n -= len(partMagic) - 1 // the next may begin there
	}
	if n = copy(b, seen[:n]); n == 0 && len(b) > 0 {
		return 0, err
	}
	p.begun = true
	_, err = p.in.Discard(n)
	return n, err
}
