package fsx

import (
	"fmt"
	"io/fs"
	"math"
	"path"

	"ptyctl/term"
)

// A server counts bytes by 64 bits (draft-ietf-secsh-filexfer-02, 5), a file here by 63: what is larger is no size.

// sizeOf is the size that a server tells of a file; 0 where it tells none that can be.
func sizeOf(info fs.FileInfo) int64 { return max(info.Size(), 0) }

// endOf is where a file ends, at which more bytes are to be added.
func endOf(name string, info fs.FileInfo, more int) (int64, error) {
	if size := info.Size(); size >= 0 && size <= math.MaxInt64-int64(more) {
		return size, nil
	}
	return 0, &term.Error{
		Op: opWrite, Kind: term.IOError,
		Msg: fmt.Sprintf(
			"%s cannot be added to: the server says that it has %d bytes, which no file can have; replace it as a whole",
			quote(name),
			uint64(info.Size()),
		),
	}
}

// told is the entry that a server tells of.
func told(name string, info fs.FileInfo) term.FileEntry {
	e := entry(name, info)
	e.Size = sizeOf(info)
	return e
}

// inFolder reports whether a name that a server tells can be one of its folder's entries.
func inFolder(name string) bool { return name != "." && name != ".." && name == path.Base(name) }
