package record

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
)

// A Report is the result of Verify.
type Report struct {
	Seals int
	Last  Seal  // the last of them
	Ended bool  // it is the end of the recording
	Open  int64 // bytes after it, which no seal closes
}

// A BrokenError says where a recording was changed.
type BrokenError struct {
	File string
	Line int // from 1; 0: the file as a whole
	Why  string
}

func (e *BrokenError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Why
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why)
}

// Verify checks the seals of a recording. If known is a seal that was kept elsewhere, it must be in it, and the last one
// if it is an end. A recording that is not ended was being written, or its writer was killed; whether seals were cut
// from its end shows only with a later known seal.
func Verify(path string, known *Seal, identities ...age.Identity) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	return verify(path, f, known, identities)
}

func verify(name string, f io.Reader, known *Seal, identities []age.Identity) (rep Report, err error) {
	plain, err := decrypted(f, identities)
	if err != nil {
		return rep, fmt.Errorf("%s: %w", name, err)
	}
	in := bufio.NewReaderSize(plain, 64<<10)
	c := newChain()
	line := 0
	broken := func(format string, args ...any) (Report, error) {
		return rep, &BrokenError{name, line, fmt.Sprintf(format, args...)}
	}
	found := known == nil
	whole := true // the line begins at the beginning of part
	for {
		part, err := in.ReadSlice('\n')
		if whole && len(part) > 0 {
			line++
		}
		if rep.Ended && len(part) > 0 {
			return broken("there is more after the last seal: it was added")
		}
		full := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case err == nil && whole && isSeal(part):
			if rep.Last, err = c.check(part); err != nil {
				return broken("%v", err)
			}
			rep.Seals, rep.Ended, rep.Open = rep.Last.Number, rep.Last.End, 0
			if known != nil && known.Number == rep.Last.Number {
				if found = known.Hash == rep.Last.Hash && known.End == rep.Last.End; !found {
					return broken("seal %d is not the one that was kept elsewhere: this is another recording", known.Number)
				}
			}
		case err == nil || full:
			c.add(part)
			rep.Open += int64(len(part))
		default:
			rep.Open += int64(len(part))
			if errors.Is(err, errPart) {
				return broken("%v", err)
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return rep, fmt.Errorf("%s: %w", name, err)
			}
			if !found {
				line = 0
				return broken("it ends at seal %d, and seal %d was kept elsewhere: its tail was cut off", rep.Seals, known.Number)
			}
			return rep, nil
		}
		whole = !full
	}
}

// Check compares a recording with the notes of it elsewhere. An encrypted one is compared as it is in the file, and
// with an identity also by its seals.
func Check(n Note, identities ...age.Identity) (Report, error) {
	f, err := openAny(n.Path)
	if errors.Is(err, os.ErrNotExist) {
		return Report{}, &BrokenError{n.Path, 0, "the recording is gone, and ptyctl has not removed it"}
	}
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() { // it may have no end, and no beginning
		return Report{}, &BrokenError{n.Path, 0, "it is no regular file: the recording was exchanged"}
	}
	if n.FileSHA256 == "" {
		return verify(n.Path, f, &n.Seal, identities)
	}
	sum := sha256.New()
	got, err := io.CopyN(sum, f, n.FileBytes)
	switch {
	case errors.Is(err, io.EOF):
		return Report{}, &BrokenError{n.Path, 0, fmt.Sprintf("it has %d bytes, and had %d: its tail was cut off", got, n.FileBytes)}
	case err != nil:
		return Report{}, err
	case hex.EncodeToString(sum.Sum(nil)) != n.FileSHA256:
		return Report{}, &BrokenError{n.Path, 0, "it is not what was recorded: it was changed, or is another file"}
	}
	if more, err := io.Copy(io.Discard, io.LimitReader(f, 1)); err == nil && more > 0 && n.Seal.End {
		return Report{}, &BrokenError{n.Path, 0, "there is more after its end: it was added"}
	}
	if len(identities) == 0 {
		return Report{Seals: n.Seal.Number, Last: n.Seal, Ended: n.Seal.End}, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Report{}, err
	}
	return verify(n.Path, f, &n.Seal, identities)
}
