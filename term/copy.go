package term

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// CopyFiles are Files that can be one end of a copy: whole files are read and written there in blocks. Several blocks
// may be under way.
//
// As with Files, errors are *Error, and paths are those of the machine. The methods and those of the files that they
// return end soon after ctx ends, or when the Files are closed.
type CopyFiles interface {
	Files

	// Look is Stat, but follows a symbolic link.
	Look(ctx context.Context, path string) (FileEntry, error)

	// Entries returns the entries of a folder, sorted by the bytes of their names. If it has more than most, the
	// error is of kind LimitExceeded.
	Entries(ctx context.Context, path string, most int) ([]FileEntry, error)

	// Source opens a regular file. A symbolic link is followed only with follow.
	Source(ctx context.Context, path string, follow bool) (FileSource, error)

	// Target begins a new file, which replaces the one at its path at last.
	Target(ctx context.Context, t FileTarget) (FileSink, error)

	// MakeFolder makes a folder. It reports false if there is one.
	MakeFolder(ctx context.Context, path string, mode fs.FileMode) (made bool, err error)

	// Requests returns the size of the block that is read and written best, and how many of them at a time.
	Requests() (size, number int)
}

// A FileSource is a file that is being read. Any number of goroutines may call ReadAt.
type FileSource interface {
	io.ReaderAt // the error at the end of the file is io.EOF
	io.Closer

	Entry() FileEntry // as it was when it was opened
}

// A FileTarget is a file that is to be written.
type FileTarget struct {
	Path     string
	Follow   bool        // the target of a symbolic link is meant; otherwise a link is refused
	Mode     fs.FileMode // permissions of a new file, less those that the system keeps from new files
	Modified time.Time   // zero: not set
	New      bool        // a file that is there is not replaced: Target or Commit fails
	// Part names the file beside it, without its folder, that gathers the data and goes on with its content. Empty:
	// a temporary file with a name that cannot be guessed.
	Part string
}

// A FileSink is a file that is being written. Nothing is seen of it at its path before Commit. Any number of goroutines
// may call ReadAt and WriteAt. It must be ended by Commit or Abort.
type FileSink interface {
	io.ReaderAt
	io.WriterAt

	Held() int64 // bytes that an earlier copy has left in FileTarget.Part
	Truncate(size int64) error

	// Commit puts the file in its place, if it has that size. If it fails, the sink must still be ended by Abort.
	Commit(ctx context.Context, size int64) (FileWritten, error)

	// Abort gives it up. The data stays only if it was gathered in FileTarget.Part and keep is true.
	Abort(keep bool)
}
