package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"ptyctl/internal/tty"
	"ptyctl/vt"
)

// show draws the frame, and then new output.
func (v *viewer) show(ctx context.Context) error {
	ended, err := v.draw(ctx, true)
	for err == nil && !ended {
		var p piece
		reading := v.ready(ctx)
		p, err = v.next(reading)
		if ctx.Err() == nil && errors.Is(context.Cause(reading), errResized) {
			ended, err = v.draw(ctx, false)
			continue
		}
		if err == nil && p.dropped > 0 {
			err = v.gap(p.dropped)
		}
		if err == nil {
			err = v.write(p.data)
		}
		ended = p.ended
	}
	select {
	case <-ctx.Done(): // an error is only a consequence of that
		return nil
	default:
		return err
	}
}

// draw shows the frame. The first time, the previous content of the terminal is scrolled out, not lost.
func (v *viewer) draw(ctx context.Context, first bool) (ended bool, err error) {
	v.mu.Lock()
	v.stale = false
	v.mu.Unlock()
	cols, rows := tty.Size(os.Stdout)
	if !first && rows == 0 {
		return false, nil
	}
	if v.pane != nil {
		return v.drawAll(ctx)
	}
	held, err := v.fill(ctx, history)
	if err != nil {
		return false, err
	}
	if v.filter == nil {
		if first {
			err = v.put(tailLines(held.data, max(rows, 24)))
		}
		return held.ended, err
	}
	begin := v.filter.Restore(nil)
	switch {
	case rows == 0:
		rows = 24
	case first && v.notice == "": // a session that has just begun
	case first:
		begin = append(begin, bytes.Repeat([]byte("\r\n"), rows)...)
		begin = append(begin, "\x1b[H"+v.header(cols, rows)...)
	default:
		begin = append(begin, "\x1b[H\x1b[2J"...)
	}
	now := frameOf(held.data, rows, v.filter.Input)
	*v.filter = vt.Filter{Input: v.filter.Input}
	begin = append(begin, v.filter.Append(nil, now.state)...)
	shown := piece{start: held.start + int64(len(held.data)-len(now.part)), data: now.part}
	earlier := min(max(v.asked-shown.start, 0), int64(len(shown.data)))
	begin = v.filter.Append(begin, shown.data[:earlier])
	v.filter.Questions = v.filter.Input
	begin = v.filter.Append(begin, shown.data[earlier:])
	v.asked = held.start + int64(len(held.data)) // when it is drawn again, these were asked
	return held.ended, v.put(begin)
}

// header says which session is shown.
func (v *viewer) header(cols, rows int) string {
	text := v.notice
	if v.typist == nil && v.cols > 0 && (v.cols != cols || v.rows != rows) {
		text += fmt.Sprintf("; its terminal is %dx%d, yours %dx%d", v.cols, v.rows, cols, rows)
	}
	return "[ptyctl: " + text + "]\r\n"
}
