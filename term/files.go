package term

import (
	"context"
	"io/fs"
	"time"
)

// Files gives access to the files of one machine: this one, or the far side of a session.
//
// All methods are safe for concurrent use and return soon after ctx ends; the operation
// has ended by then. Paths are those of the machine; the implementation defines relative
// ones. Errors are *Error.
type Files interface {
	Read(ctx context.Context, r FileRead) (FileData, error)
	Write(ctx context.Context, w FileWrite) (FileWritten, error)
	List(ctx context.Context, l FileList) (FileListing, error)

	// Stat describes the file at path. It does not follow a symbolic link.
	Stat(ctx context.Context, path string) (FileEntry, error)

	// Lost returns a channel that is closed when the files are no longer reachable. Nil:
	// they always are.
	Lost() <-chan struct{}

	// Close releases the resources of the implementation and waits for its goroutines.
	Close() error
}

// A FileRead selects a part of a regular file.
type FileRead struct {
	Path     string
	Offset   int64
	Max      int64             // most bytes; 0: the implementation's limit
	Progress func(bytes int64) // receives the number of bytes read so far; must not block; may be nil
}

// FileData is a part of a file.
type FileData struct {
	Data      []byte
	Size      int64 // size of the whole file when it was opened
	Next      int64 // offset after Data
	Truncated bool  // the file has more after Next
	Mode      fs.FileMode
	Modified  time.Time
}

// A FileWrite describes a write to a file.
//
// Unless Append or NonAtomic is set, the file is replaced atomically: a reader sees
// either the old or the new content, and after a failed write the old one. A symbolic
// link is followed.
type FileWrite struct {
	Path      string
	Data      []byte
	Mode      *fs.FileMode // permissions; nil: unchanged, or the system's default for a new file
	Append    bool         // append to the file; create it if necessary
	NonAtomic bool         // write into the existing file, which keeps its owner, hard links and extended attributes
	Progress  func(bytes int64)
}

// FileWritten is the result of a FileWrite.
type FileWritten struct {
	Bytes   int64 // bytes written
	Size    int64 // new size of the file
	Mode    fs.FileMode
	Created bool // the file did not exist before
	Atomic  bool
}

// A FileList selects a part of a folder.
type FileList struct {
	Path  string
	After string // return the names after this one; empty: from the start
	Limit int    // most entries; 0: the implementation's limit
}

// A FileListing is a part of a folder. Entries are sorted by the bytes of their names.
type FileListing struct {
	Entries []FileEntry
	More    bool   // the folder has more entries
	Last    string // if so, the value of After for the next ones
}

// A FileEntry describes one name in a folder.
type FileEntry struct {
	Name     string
	Mode     fs.FileMode // type and permissions
	Size     int64
	Modified time.Time
	Target   string // of a symbolic link; only from Stat
}

// Type returns "file", "dir", "link" or "other".
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
