package aiterm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"ptyctl/term"
)

type readFileOut struct {
	Data      []byte `json:"data"`
	Size      int64  `json:"size"` // of the whole file
	Truncated bool   `json:"truncated"`
	meta
}

func (s *Set) readFile(ctx context.Context, c *call) (result, error) {
	limit := int64(c.Options().MaxFileRead)
	in := struct {
		Path     string
		MaxBytes int64 `json:"max_bytes"`
	}{MaxBytes: limit}
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	c.Waits("reading "+filepath.Base(in.Path), nil)
	ctx, stop := context.WithTimeout(ctx, c.Options().MaxWait)
	defer stop()
	d, err := c.Options().
		Sessions.Files().
		Read(ctx, term.FileRead{Path: in.Path, Max: c.lower("max_bytes", in.MaxBytes, limit, "fs.max_read_bytes")})
	if err != nil {
		return nil, fileError(in.Path, err)
	}
	return &readFileOut{Data: append([]byte{}, d.Data...), Size: d.Size, Truncated: d.Truncated}, nil
}

type writeFileOut struct {
	Bytes int64 `json:"bytes"`
	meta
}

func (s *Set) writeFile(ctx context.Context, c *call) (result, error) {
	var in struct{ Path, Data, Mode string }
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	w := term.FileWrite{Path: in.Path}
	var err error
	if w.Data, err = c.bytesOf("data", in.Data); err != nil {
		return nil, err
	}
	if in.Mode != "" {
		n, err := strconv.ParseUint(in.Mode, 8, 9)
		if err != nil {
			return nil, c.Invalid("mode", `mode must be permissions in octal, 0777 at most, such as "0644"`)
		}
		w.Mode = new(fs.FileMode(n))
	}
	c.Waits("writing "+filepath.Base(in.Path), nil)
	ctx, stop := context.WithTimeout(ctx, c.Options().MaxWait)
	defer stop()
	files := c.Options().Sessions.Files()
	out, err := files.Write(ctx, w)
	if errors.Is(err, term.AccessDenied) { // a file of somebody else's cannot be replaced, and can perhaps be written over
		w.NonAtomic = true
		out, err = files.Write(ctx, w)
	}
	if err != nil {
		return nil, fileError(in.Path, err)
	}
	return &writeFileOut{Bytes: out.Bytes}, nil
}

type listOut struct {
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated"` // there are more than fs.max_entries
	meta
}

type entry struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Mode string `json:"mode"` // permissions, in octal
	Size int64  `json:"size"`
}

func (s *Set) list(ctx context.Context, c *call) (result, error) {
	var in struct{ Path string }
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, c.Options().MaxWait)
	defer stop()
	l, err := c.Options().Sessions.Files().List(ctx, term.FileList{Path: in.Path})
	if err != nil {
		return nil, fileError(in.Path, err)
	}
	out := &listOut{Entries: make([]entry, len(l.Entries)), Truncated: l.More}
	for i, e := range l.Entries {
		out.Entries[i] = entry{e.Name, e.Type(), fmt.Sprintf("%04o", e.Mode.Perm()), e.Size}
	}
	return out, nil
}

// fileError is the error of a file action with advice for these tools.
func fileError(path string, err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	told := *e
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		told.Kind, told.Msg = term.ExecTimeout, "the file system did not answer in time (limits.max_wait_ms); try again"
	case e.Kind == term.NotFound:
		told.Msg = fmt.Sprintf("there is no file or folder %.300q; see with fs_list what there is", path)
	case e.Kind == term.LimitExceeded && e.Details != nil:
		told.Msg = fmt.Sprintf(
			"the data is longer than the %d bytes that one fs_writeFile may write (%s); the operator may allow more",
			e.Details.Value,
			e.Details.Limit,
		)
	}
	return &told
}
