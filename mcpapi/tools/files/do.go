package files

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// Defaults for a call that does not say how much it wants.
const (
	fsReadDefault = 64 << 10
	fsListDefault = 200
)

// doFS runs one action of ptyctl_fs, on the files of a session's host or, without session_id, on those of this
// machine.
func doFS(ctx context.Context, c *toolset.Call, in *fsArgs) (any, error) {
	switch {
	case c.Action() == "collect", in.To.Hosts != nil:
		return manyHosts(ctx, c, in)
	case c.Action() == "copy":
		return fsCopy(ctx, c, in)
	}
	// A read or a write cannot go on as a command can: the rest is abandoned when the client gives up, and the error
	// says so.
	ctx, cancel := context.WithTimeout(ctx, c.Limits().MaxWait)
	defer cancel()
	if in.TimeoutMS > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(
			ctx,
			c.Millis("timeout_ms", in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms"),
		)
		defer stop()
	}
	// The files of this machine; each of the two has its own roots and limits.
	files := c.Files()
	if in.SessionID != "" {
		s, err := c.Session(ctx, c.Verb(), string(in.SessionID))
		if err != nil {
			return nil, err
		}
		files = s.Files()
	}
	switch c.Action() {
	case "read":
		return fsRead(ctx, c, files, in)
	case "write":
		return fsWrite(ctx, c, files, in)
	case "list":
		return fsList(ctx, c, files, in)
	}
	// stat is the last of the actions; the checker refuses all others.
	e, err := files.Stat(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	return &fsStatOut{Action: c.Action(), fsEntry: newFSEntry(e), Target: e.Target, Warnings: c.Warnings()}, nil
}

// fsRead returns part of a file: as text if it is UTF-8, else as base64. Text never ends within a character.
func fsRead(ctx context.Context, c *toolset.Call, files *session.Files, in *fsArgs) (any, error) {
	r := term.FileRead{
		Path:   in.Path,
		Offset: in.Offset,
		// The default stays within the operator's limit without a warning: the caller has not asked for more.
		Max:      min(fsReadDefault, int64(c.Limits().MaxFileRead)),
		Progress: c.Moves("reading " + filepath.Base(in.Path)),
	}
	if in.MaxBytes > 0 {
		r.Max = int64(c.Lower("max_bytes", in.MaxBytes, c.Limits().MaxFileRead, "fs.max_read_bytes"))
	}
	d, err := files.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	if d.Truncated && in.Encoding != "base64" { // a character that is cut in the middle is left for the next read
		if n := wholeRunes(d.Data); n > 0 {
			// The next read begins at the character, so that the caller can join the two texts.
			d.Next -= int64(len(d.Data) - n)
			d.Data = d.Data[:n]
		}
	}
	out := &fsReadOut{
		Action: c.Action(), DataEncoding: "utf-8", Size: max(d.Size, 0), NextOffset: max(d.Next, 0),
		Truncated: d.Truncated,
		Mode:      modeText(d.Mode), ModifiedAt: wire.Millis(d.Modified), Warnings: c.Warnings(),
	}
	if in.Encoding != "base64" && utf8.Valid(d.Data) {
		out.Data = jsonrpc.TextContent(jsonrpc.Text(d.Data))
	} else {
		out.Data, out.DataEncoding = jsonrpc.BinaryContent(d.Data), "base64"
	}
	return out, nil
}

// wholeRunes returns the length of p without an incomplete character at its end. It returns len(p) if the end is
// complete, and if p is not UTF-8.
func wholeRunes(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRune(c) {
				return len(p) - n
			}
			break
		}
	}
	return len(p)
}

// fsWrite replaces a file or appends to it. mode is octal; without it no permissions are requested.
func fsWrite(ctx context.Context, c *toolset.Call, files *session.Files, in *fsArgs) (any, error) {
	ch := c.Checker()
	data, err := toolset.Content(ch, "data", in.Data, in.Encoding)
	if err != nil {
		return nil, err
	}
	w := term.FileWrite{
		Path:      in.Path,
		Data:      data,
		Append:    in.Append,
		NonAtomic: in.NonAtomic,
		Progress:  c.Moves("writing " + filepath.Base(in.Path)),
	}
	// Absent is not 0: without a mode an existing file keeps its own.
	if in.Mode != "" {
		// Nine bits: setuid, setgid and sticky are not for a caller to set.
		n, err := strconv.ParseUint(in.Mode, 8, 9)
		if err != nil {
			return nil, ch.Invalid("mode", nil, "mode must be permissions in octal, 0777 at most, such as \"0644\"")
		}
		mode := fs.FileMode(n)
		w.Mode = &mode
	}
	if !in.Append && !in.NonAtomic { // a retry replaces the file as a whole, whatever the first call has left
		c.MayRepeat()
	}
	r, err := files.Write(ctx, w)
	if err != nil {
		return nil, err
	}
	return &fsWriteOut{
		Action:       c.Action(),
		BytesWritten: max(r.Bytes, 0),
		Size:         max(r.Size, 0),
		Mode:         modeText(r.Mode),
		Created:      r.Created,
		Atomic:       r.Atomic,
		Warnings:     c.Warnings(),
	}, nil
}

// fsList returns one page of a folder. The cursor is a name, not an index, so entries that come or go between two
// calls shift nothing.
func fsList(ctx context.Context, c *toolset.Call, files *session.Files, in *fsArgs) (any, error) {
	after, err := nameOf(in.Cursor)
	if err != nil {
		return nil, c.Checker().Invalid(
			"cursor",
			nil,
			"cursor is no next_cursor of a list; leave it out to list from the start",
		)
	}
	l, err := files.List(ctx, term.FileList{Path: in.Path, After: after, Limit: cmp.Or(in.Limit, fsListDefault)})
	if err != nil {
		return nil, err
	}
	out := &fsListOut{
		Action: c.Action(), Entries: make([]fsEntry, len(l.Entries)), Truncated: l.More, Warnings: c.Warnings(),
	}
	for i, e := range l.Entries {
		out.Entries[i] = newFSEntry(e)
	}
	if l.More {
		out.NextCursor = cursorOf(l.Last)
	}
	return out, nil
}

// newFSEntry is the wire form of e. An unknown size is 0.
func newFSEntry(e term.FileEntry) fsEntry {
	return fsEntry{
		Name:       e.Name,
		Type:       e.Type(),
		Mode:       modeText(e.Mode),
		Size:       max(e.Size, 0),
		ModifiedAt: wire.Millis(e.Modified),
	}
}

// modeText writes permissions as chmod(1) takes them.
func modeText(m fs.FileMode) string {
	bits := m.Perm()
	if m&fs.ModeSetuid != 0 {
		// chmod(1) writes the three bits before the permissions; fs.FileMode keeps them elsewhere.
		bits |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return fmt.Sprintf("%04o", uint32(bits))
}

// A cursor of a list is the last name, or its base64 if JSON cannot hold the name.
const encodedCursor = "base64:"

// cursorOf returns the cursor that continues a list after name.
func cursorOf(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, encodedCursor) {
		return name
	}
	// Prefixed, so that a name which happens to look like base64 is not taken for one.
	return encodedCursor + base64.RawURLEncoding.EncodeToString([]byte(name))
}

// nameOf returns the name in a cursor; an empty cursor has an empty name, and lists from the start.
func nameOf(cursor string) (string, error) {
	code, ok := strings.CutPrefix(cursor, encodedCursor)
	if !ok {
		return cursor, nil
	}
	name, err := base64.RawURLEncoding.DecodeString(code)
	return string(name), err
}
