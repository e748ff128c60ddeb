package fsx

import (
	"fmt"
	"io/fs"
	"math"
	"path"

	"ptyctl/term"
)

// A server counts bytes in 64 bits (draft-ietf-secsh-filexfer-02, 5), a file here
// in 63. A larger number is not a valid size.

// sizeOf returns the size of a file on a server; 0 for an invalid one.
func sizeOf(info fs.FileInfo) int64 { return max(info.Size(), 0) }

// endOf returns the end of a file, where more bytes will be added.
func endOf(name string, info fs.FileInfo, more int) (int64, error) {
	if size := info.Size(); size >= 0 && size <= math.MaxInt64-int64(more) {
		return size, nil
	}
	return 0, &term.Error{
		Op: opWrite, Kind: term.IOError,
		Msg: fmt.Sprintf(
			"%s cannot be added to: the server says that it has %d bytes, which no file can have; "+
				"replace it as a whole",
			quote(name),
			uint64(info.Size()),
		),
	}
}

// remoteEntry returns the facts about a file as the server reports them.
func remoteEntry(name string, info fs.FileInfo) term.FileEntry {
	e := entry(name, info)
	e.Size = sizeOf(info)
	return e
}

// inFolder reports whether a name from a server can be an entry of the folder.
func inFolder(name string) bool { return name != "." && name != ".." && name == path.Base(name) }
