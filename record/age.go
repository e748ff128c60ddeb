package record

import (
	"io"

	"filippo.io/age"
)

// Encrypted returns a writer for New that encrypts to recipients of age. The file is readable up to the last
// 64 KiB if the process is killed.
func Encrypted(w io.Writer, recipients ...age.Recipient) (io.Writer, error) {
	in, err := age.Encrypt(w, recipients...)
	if err != nil {
		return nil, err
	}
	return &encrypted{in, w}, nil
}

type encrypted struct {
	in   io.WriteCloser
	file io.Writer
}

func (e *encrypted) Write(p []byte) (int, error) { return e.in.Write(p) }

func (e *encrypted) Sync() error {
	if f, ok := e.file.(interface{ Sync() error }); ok {
		return f.Sync()
	}
	return nil
}

// end writes the last block.
func (e *encrypted) end() error { return e.in.Close() }
