package attach

import (
	"context"
	"io"
	"os"

	"ptyctl/internal/client"
	"ptyctl/internal/tty"
	"ptyctl/vt"
)

// TailOptions say how Tail shows the output.
type TailOptions struct {
	Out    io.Writer
	Lines  int  // from the end
	Follow bool // and go on until the session ends or ctx does
	Raw    bool // the bytes as they are
}

// Tail shows the end of the session's output.
func Tail(ctx context.Context, s client.Session, o TailOptions) error {
	f := &follower{Attachment: To(s)}
	begin, err := f.fill(ctx, history)
	if err != nil {
		return err
	}
	show := tailView(o, begin.data)
	if err := show.write(tailLines(begin.data, o.Lines)); err != nil {
		return err
	}
	if o.Follow && !begin.ended {
		err = show.follow(ctx, f)
	}
	if last := show.end(); err == nil {
		err = last
	}
	select {
	case <-ctx.Done(): // ctrl-c
		return nil
	default:
		return err
	}
}

// tailView decides how the output is shown: as it is, as the terminal would show it, or as text. Text is for a reader
// that is no terminal, and for the end of the output of a full-screen program, which is only a part of its frame.
func tailView(o TailOptions, held []byte) *view {
	v := &view{out: o.Out}
	switch {
	case o.Raw:
	case !tty.IsTerminal(os.Stdout), !o.Follow && altScreen(held):
		v.text = new(vt.Cleaner)
	default:
		v.filter = new(vt.Filter)
	}
	return v
}

func altScreen(data []byte) bool {
	var f vt.Filter
	f.Append(nil, data)
	return f.AltScreen()
}
