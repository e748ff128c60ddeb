package term

import (
	"context"
	"io/fs"
	"time"
)

// Files are the files of one machine: this one, or the far side of a session.
//
// Every method may be called by any number of goroutines, and returns soon after ctx ends: what was under way then has
// ended too. Paths are those of the machine; a relative one means what the implementation says. Errors are *Error.
type Files interface {
	Read(ctx context.Context, r FileRead) (FileData, error)
	Write(ctx context.Context, w FileWrite) (FileWritten, error)
	List(ctx context.Context, l FileList) (FileListing, error)

	// Stat tells of what is at path, and of a symbolic link itself.
	Stat(ctx context.Context, path string) (FileEntry, error)

	// Lost returns a channel that is closed when the files cannot be reached any more; nil: they always can.
	Lost() <-chan struct{}

	// Close gives up what the implementation holds. It waits for its goroutines.
	Close() error
}

// A FileRead says what to read of a regular file.
type FileRead struct {
	Path     string
	Offset   int64
	Max      int64             // most bytes; 0: the implementation's limit
	Progress func(bytes int64) // told how many have come so far; may be nil. It must not block
}

// FileData is a part of a file.
type FileData struct {
	Data      []byte
	Size      int64 // of the whole file, when it was opened
	Next      int64 // the offset after Data
	Truncated bool  // there is more after Next
	Mode      fs.FileMode
	Modified  time.Time
}

// A FileWrite says what to write.
//
// Unless Append or NonAtomic is set, the file is replaced as a whole: whoever opens it meanwhile finds the old content or
// the new, and if the write fails it is as it was. A symbolic link is followed: what it leads to is written.
type FileWrite struct {
	Path      string
	Data      []byte
	Mode      *fs.FileMode // its permissions; nil: those it has, or for a new file those that the system gives
	Append    bool         // add to what is there; the file is made if it is not
	NonAtomic bool         // write over the file that is there: its owner, its other names and its extra attributes stay
	Progress  func(bytes int64)
}

// FileWritten is what became of a FileWrite.
type FileWritten struct {
	Bytes   int64 // that were written
	Size    int64 // of the file now
	Mode    fs.FileMode
	Created bool // there was none before
	Atomic  bool
}

// A FileList says which part of a folder to list.
type FileList struct {
	Path  string
	After string // the name before the first that is wanted; empty: from the start
	Limit int    // most entries; 0: the implementation's limit
}

// A FileListing is a part of a folder: its entries in the order of the bytes of their names.
type FileListing struct {
	Entries []FileEntry
	More    bool   // there are more
	Last    string // if so, the name after which they come
}

// A FileEntry is what a folder tells of one name.
type FileEntry struct {
	Name     string
	Mode     fs.FileMode // type and permissions
	Size     int64
	Modified time.Time
	Target   string // of a symbolic link; only from Stat
}

// Type is "file", "dir", "link" or "other".
func (e FileEntry) Type() string {
	switch e.Mode.Type() {
	case 0:
		return "file"
	case fs.ModeDir:
		return "dir"
	case fs.ModeSymlink:
		return "link"
	}
	return "other"
}
