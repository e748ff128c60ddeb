package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"ptyctl/vt"
)

// A Line is a line of the text of a recording, in the last state that it was drawn in.
type Line struct {
	Time   time.Duration // when it was finished
	Text   string
	Marker bool // it is a marker
	View   View // of other lines
}

// Lines calls yield for each line of text, in the order in which they were finished, until yield returns false.
func Lines(r *Reader, yield func(Line) bool) error {
	var views [2]vt.Cleaner
	var open [2][]byte // text of an unfinished line
	views[Terminal].Cols, views[Commands].Cols = r.Header.Term.Cols, r.Header.Term.Cols
	var failed error
	for {
		e, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				failed = err // after the lines so far
			}
			break
		}
		switch e.Code {
		case codeMarker:
			if !yield(Line{Time: e.Time, Text: plain(e.Text), Marker: true}) {
				return nil
			}
		case codeResize:
			if cols, _, ok := sizeOf(e.Text); ok {
				views[Terminal].Cols, views[Commands].Cols = cols, cols
			}
		case codeOutput:
			if e.Redraw {
				continue
			}
			b := views[e.View].Append(open[e.View], []byte(e.Text))
			for {
				line, rest, ok := bytes.Cut(b, []byte("\n"))
				if !ok {
					break
				}
				if !yield(Line{Time: e.Time, Text: string(line), View: e.View}) {
					return nil
				}
				b = rest
			}
			open[e.View] = append(open[e.View][:0], b...)
			if len(b) > maxText {
				if !yield(Line{Time: e.Time, Text: string(b), View: e.View}) {
					return nil
				}
				open[e.View] = open[e.View][:0]
			}
		}
	}
	for v := range views {
		if b := views[v].Flush(open[v]); len(b) > 0 {
			for line := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
				if !yield(Line{Time: r.time, Text: string(line), View: View(v)}) {
					return nil
				}
			}
		}
	}
	return failed
}

// maxText is the longest line of text; the rest of a longer one is a line of its own.
const maxText = 64 << 10

// Text writes the text of a recording: its lines with their times, and its markers.
func Text(w io.Writer, r *Reader) error {
	out := bufio.NewWriter(w)
	var failed error
	err := Lines(r, func(l Line) bool {
		if l.Marker {
			_, failed = fmt.Fprintf(out, "%9s -- %s\n", Clock(l.Time), l.Text)
		} else {
			_, failed = fmt.Fprintf(out, "%9s    %s\n", Clock(l.Time), l.Text)
		}
		return failed == nil
	})
	return errors.Join(err, failed, out.Flush())
}

// Clock formats a time of a recording: 1:02:03.4.
func Clock(d time.Duration) string {
	d = d.Truncate(100 * time.Millisecond)
	s := fmt.Sprintf("%d:%04.1f", int(d.Minutes())%60, (d % time.Minute).Seconds())
	if h := int(d.Hours()); h > 0 {
		s = fmt.Sprintf("%d:%02d:%04.1f", h, int(d.Minutes())%60, (d % time.Minute).Seconds())
	}
	return s
}
