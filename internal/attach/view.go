package attach

import (
	"context"
	"fmt"
	"io"
	"os"

	"ptyctl/vt"
)

// A view shows output to a person or a program.
type view struct {
	out    io.Writer
	filter *vt.Filter  // nil: not filtered
	text   *vt.Cleaner // not nil: as text
	last   byte        // byte that was written
}

func (v *view) write(data []byte) error {
	switch {
	case v.text != nil:
		data = v.text.Append(nil, data)
	case v.filter != nil:
		data = v.filter.Append(nil, data)
	}
	return v.put(data)
}

func (v *view) put(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	v.last = data[len(data)-1]
	_, err := v.out.Write(data)
	return err
}

// follow shows new output until the session ends.
func (v *view) follow(ctx context.Context, f *follower) error {
	for {
		p, err := f.next(ctx)
		if err == nil && p.dropped > 0 {
			err = v.gap(p.dropped)
		}
		if err == nil {
			err = v.write(p.data)
		}
		if err != nil || p.ended {
			return err
		}
	}
}

// gap says that output is missing: this reader was too slow.
func (v *view) gap(n int64) error {
	if v.filter == nil && v.text == nil {
		fmt.Fprintf(os.Stderr, "ptyctl: %d bytes are missing here\n", n)
		return nil
	}
	return v.write(fmt.Appendf(nil, "\r\n[ptyctl: %d bytes are missing here]\r\n", n))
}

// end leaves the terminal as it was.
func (v *view) end() error {
	var rest []byte
	switch {
	case v.text != nil:
		if rest = v.text.Flush(nil); len(rest) > 0 && rest[len(rest)-1] != '\n' {
			rest = append(rest, '\n')
		}
	case v.filter != nil:
		rest = v.filter.Restore(nil)
	default:
		return nil
	}
	if v.last != 0 && v.last != '\n' && v.filter != nil {
		rest = append(rest, "\r\n"...)
	}
	return v.put(rest)
}
