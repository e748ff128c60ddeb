package aiterm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"ptyctl/term"
)

// readFileOut is the result of fs_readFile.
type readFileOut struct {
	Data      []byte `json:"data" is:"listed" doc:"base64"`
	Size      int64  `json:"size" is:"listed" doc:"of the whole file"`
	Truncated bool   `json:"truncated" is:"listed"`
	meta
}

type readFileArgs struct {
	Path     string `json:"path" need:"*" is:"filled"`
	MaxBytes int64  `json:"max_bytes" min:"1" max:"1<<53"`
}

// readFile returns the start of a file below the operator's folders, up to max_bytes.
func (s *Set) readFile(ctx context.Context, c *call, in *readFileArgs) (*readFileOut, error) {
	limit := int64(c.Limits().MaxFileRead)
	c.Waits("reading "+filepath.Base(in.Path), nil)
	ctx, stop := context.WithTimeout(ctx, c.Limits().MaxWait)
	defer stop()
	most := c.lower("max_bytes", cmp.Or(in.MaxBytes, limit), limit, "fs.max_read_bytes")
	d, err := c.Files().Read(ctx, term.FileRead{Path: in.Path, Max: most})
	if err != nil {
		return nil, fileError(in.Path, err)
	}
	return &readFileOut{Data: append([]byte{}, d.Data...), Size: d.Size, Truncated: d.Truncated}, nil
}

// writeFileOut is the result of fs_writeFile.
type writeFileOut struct {
	Bytes int64 `json:"bytes" is:"listed"`
	meta
}

type writeFileArgs struct {
	Path string `json:"path" need:"*" is:"filled"`
	Data string `json:"data" need:"*" doc:"base64"`
	Mode string `json:"mode" doc:"permissions, octal"`
}

// writeFile replaces a file. It first writes a new file beside the old one and renames
// it, so that no reader sees half a file. If that is not permitted, it writes into the
// old file.
func (s *Set) writeFile(ctx context.Context, c *call, in *writeFileArgs) (*writeFileOut, error) {
	w := term.FileWrite{Path: in.Path}
	var err error
	if w.Data, err = c.bytesOf("data", in.Data); err != nil {
		return nil, err
	}
	if in.Mode != "" {
		n, err := strconv.ParseUint(in.Mode, 8, 9)
		if err != nil {
			return nil, c.Invalid("mode", `mode must be octal permissions up to 0777, for example "0644"`)
		}
		w.Mode = new(fs.FileMode(n))
	}
	c.Waits("writing "+filepath.Base(in.Path), nil)
	ctx, stop := context.WithTimeout(ctx, c.Limits().MaxWait)
	defer stop()
	files := c.Files()
	out, err := files.Write(ctx, w)
	if errors.Is(err, term.AccessDenied) { // the folder may be read-only for this user while the file itself is not
		w.NonAtomic = true
		out, err = files.Write(ctx, w)
	}
	if err != nil {
		return nil, fileError(in.Path, err)
	}
	return &writeFileOut{Bytes: out.Bytes}, nil
}

// listOut is the result of fs_list.
type listOut struct {
	Entries   []entry `json:"entries" is:"listed"`
	Truncated bool    `json:"truncated" is:"listed"` // there are more than fs.max_entries
	meta
}

// An entry is a file in a listOut.
type entry struct {
	Name string `json:"name"` // without the folder
	Type string `json:"type"` // "file", "dir", "link" or "other"
	Mode string `json:"mode"` // permissions in octal, for example "0644"
	Size int64  `json:"size"`
}

type listArgs struct {
	Path string `json:"path" need:"*" is:"filled"`
}

// list returns the entries of a folder, sorted by name.
func (s *Set) list(ctx context.Context, c *call, in *listArgs) (*listOut, error) {
	ctx, stop := context.WithTimeout(ctx, c.Limits().MaxWait)
	defer stop()
	l, err := c.Files().List(ctx, term.FileList{Path: in.Path})
	if err != nil {
		return nil, fileError(in.Path, err)
	}
	out := &listOut{Entries: make([]entry, len(l.Entries)), Truncated: l.More}
	for i, e := range l.Entries {
		out.Entries[i] = entry{e.Name, e.Type(), fmt.Sprintf("%04o", e.Mode.Perm()), e.Size}
	}
	return out, nil
}

// fileError adds advice in the words of this set to an error of a file action.
func fileError(path string, err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	advised := *e
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		advised.Kind, advised.Msg = term.ExecTimeout, "file system too slow: no answer within limits.max_wait_ms"
		advised.Advice = "try again"
	case e.Kind == term.NotFound:
		advised.Msg = fmt.Sprintf("no file or folder %.300q", path)
		advised.Advice = "list a folder with fs_list"
	case e.Kind == term.LimitExceeded && len(e.Facts) > 0:
		most := term.FactOf[term.LimitReached](e).Value
		advised.Msg = fmt.Sprintf("data too long: one fs_writeFile may write at most %d bytes", most)
		advised.Advice = "ask the operator to raise this limit"
	}
	return &advised
}
