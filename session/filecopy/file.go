package filecopy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"ptyctl/term"
)

// A job is one file to copy.
type job struct {
	from, to string
	alone    bool // not one of a tree: links are followed
}

// file copies one file, and returns how many of its bytes were moved.
func (x *copying) file(ctx context.Context, j job) (moved int64, err error) {
	src, err := x.from.Source(ctx, j.from, j.alone)
	if err != nil {
		return 0, err
	}
	defer func() { _ = src.Close() }()
	e := src.Entry()
	if j.alone {
		x.total = e.Size
	}
	if n := e.Size; n > x.MaxBytes-x.result.Bytes {
		return 0, x.tooLarge(x.result.Bytes + n)
	}
	if same, err := x.unchanged(ctx, j, src, e); same || err != nil {
		return 0, err
	}
	t := term.FileTarget{
		Path: j.to, Follow: j.alone, Mode: e.Mode.Perm(), Modified: e.Modified, New: j.alone && x.New,
	}
	if x.Resume {
		t.Part = x.partName(j, e)
		release, err := x.Parts.take(x.To.Machine + "\x00" + j.to + "\x00" + t.Part)
		if err != nil {
			return 0, err
		}
		defer release()
	}
	sink, err := x.to.Target(ctx, t)
	if err != nil {
		return 0, x.placed(ctx, j.to, err)
	}
	keep, committed := true, false
	defer func() {
		if !committed {
			sink.Abort(keep)
			x.kept = keep
		}
	}()
	at, sum, err := x.resume(ctx, src, sink, e.Size)
	if err != nil {
		return 0, err
	}
	s := stream{
		from: src, at: at, end: e.Size, readers: x.pump.readers, to: sink, writers: x.pump.writers,
		each: func(b []byte) error {
			if sum != nil {
				_, _ = sum.Write(b)
			}
			return x.count(len(b))
		},
	}
	err = x.pump.move(ctx, &s)
	if err == nil && at > 0 && s.finished == at { // the source ends within the part that the earlier copy left
		s.at, at, sum = 0, 0, sha256.New()
		if err = sink.Truncate(0); err == nil {
			err = x.pump.move(ctx, &s)
		}
	}
	moved = s.finished - at
	if err != nil {
		keep = !errors.Is(err, term.LimitExceeded) // it would be as much the next time
		return moved, err
	}
	// A file that has shrunk meanwhile may be small enough only now, when the checksum of its beginning is not known.
	verified := sum != nil && x.verifies(s.finished)
	if verified {
		if err := x.readBack(ctx, sink, s.finished, sum, j.to); err != nil {
			keep = ctx.Err() != nil
			return moved, err
		}
	}
	out, err := sink.Commit(ctx, s.finished)
	if err != nil {
		x.result.Unsure = j.alone && (errors.Is(err, term.RemoteClosed) || ctx.Err() != nil)
		return moved, err
	}
	committed = true
	x.copied(ctx, j, e, out, s.finished)
	x.result.Verified = verified && (j.alone || x.result.Verified)
	if j.alone {
		x.result.Resumed, x.result.Size = at, s.finished
		if sum != nil {
			x.result.SHA256 = hex.EncodeToString(sum.Sum(nil))
		}
	}
	return moved, nil
}

// verifies says whether a file of that size is read back.
func (x *copying) verifies(size int64) bool {
	if x.Verify != nil {
		return *x.Verify
	}
	return size < verifyBelow
}

// readBack compares the bytes that have arrived with those that were sent.
func (x *copying) readBack(ctx context.Context, sink term.FileSink, size int64, sent hash.Hash, to string) error {
	arrived := sha256.New()
	s := stream{from: sink, end: size, readers: x.pump.checkers, each: hashing(arrived)}
	if err := x.pump.move(ctx, &s); err != nil {
		return err
	}
	if s.finished == size && string(arrived.Sum(nil)) == string(sent.Sum(nil)) {
		return nil
	}
	return &term.Error{
		Op: "copy", Kind: term.IOError,
		Msg: fmt.Sprintf(
			"%q was not replaced: of the %d bytes sent, %d were read back, and their checksum is another; copy it again",
			to, size, s.finished,
		),
	}
}

// hashing adds bytes to a checksum.
func hashing(sum hash.Hash) func([]byte) error {
	return func(b []byte) error {
		_, _ = sum.Write(b)
		return nil
	}
}

// copied counts a file that is in its place.
func (x *copying) copied(ctx context.Context, j job, was term.FileEntry, out term.FileWritten, size int64) {
	x.result.Files++
	if j.alone { // of a tree, it says whether the folder is new
		x.result.Created = out.Created
	}
	if size != was.Size {
		x.result.Changed = true
		return
	}
	if !j.alone { // one more request for each file of a tree would take longer than many of the files
		return
	}
	now, err := x.from.Look(ctx, j.from)
	x.result.Changed = err == nil && (now.Size != was.Size || !now.Modified.Equal(was.Modified))
}

// unchanged reports whether the target of a single file has the bytes of the source already.
func (x *copying) unchanged(ctx context.Context, j job, src term.FileSource, e term.FileEntry) (bool, error) {
	if !j.alone || x.Compare == nil {
		return false, nil
	}
	there, err := x.to.Look(ctx, j.to)
	if err != nil || !there.Mode.IsRegular() || there.Size != e.Size || !x.Compare(ctx, j.to) {
		return false, ctx.Err()
	}
	is, err := x.to.Source(ctx, j.to, true)
	if err != nil { // a file that cannot be read may still be replaced
		return false, ctx.Err()
	}
	defer func() { _ = is.Close() }()
	check, sum := &comparer{with: is}, sha256.New()
	s := stream{
		from: src, end: e.Size, readers: x.pump.readers, to: check, writers: x.pump.checkers, each: hashing(sum),
	}
	err = x.pump.move(ctx, &s)
	if err != nil || check.differs.Load() || s.finished != e.Size {
		return false, ctx.Err() // a source that cannot be read fails again
	}
	x.result.Files, x.result.Unchanged, x.result.Verified = x.result.Files+1, true, true
	x.result.Size, x.result.SHA256 = e.Size, hex.EncodeToString(sum.Sum(nil))
	return true, nil
}
