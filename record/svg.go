package record

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ptyctl/screen"
)

// SVGOptions say how large an animation may be. All fields may be zero.
type SVGOptions struct {
	MaxFrames int           // 0: 400
	MaxBytes  int           // about; 0: 2 MiB
	Idle      time.Duration // a longer pause is cut to this; 0: 2 s
}

// The geometry of a character, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 17
	baseline   = 13
	padding    = 8
)

// minFrame is how long a frame stays at least.
const minFrame = 80 * time.Millisecond

// SVG writes a recording as an animated picture, which needs no script. If it would be too large, it ends early: cut is
// then where.
func SVG(w io.Writer, p *Player, o SVGOptions) (cut time.Duration, err error) {
	o.MaxFrames, o.MaxBytes = cmp.Or(o.MaxFrames, 400), cmp.Or(o.MaxBytes, 2<<20)
	o.Idle = cmp.Or(o.Idle, 2*time.Second)
	total, cols, rows, err := measure(p, o.Idle)
	if err != nil {
		return 0, err
	}
	f := film{rows: make(map[string]int), cols: cols, lines: rows, most: o.MaxBytes}
	step := max(minFrame, total/time.Duration(o.MaxFrames))
	var clock, shown time.Duration
	last := p.Time()
	for {
		e, err := p.peek()
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		pause := o.Idle // of the last frame
		if err == nil {
			pause = min(e.Time-last, o.Idle)
		}
		if err != nil || clock+pause-shown >= step && clock+pause > clock {
			if !f.frame(p.Shown.Snapshot(), clock) {
				cut = p.Time()
				break
			}
			shown = clock + pause
		}
		if clock += pause; err != nil {
			break
		}
		last = e.Time
		if _, err := p.Next(); err != nil {
			return 0, err
		}
	}
	return cut, f.write(w, plain(p.Header().Title), clock)
}

// measure returns how long the animation is, and its largest size; then p is at its start again.
func measure(p *Player, idle time.Duration) (total time.Duration, cols, rows int, err error) {
	r, err := Open(p.path, p.identities...)
	if err != nil {
		return 0, 0, 0, err
	}
	defer r.Close()
	cols, rows = r.Header.Term.Cols, r.Header.Term.Rows
	last := time.Duration(0)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return total + idle, min(cols, screen.MaxCols), min(rows, screen.MaxRows), p.Seek(0)
		}
		if err != nil {
			return 0, 0, 0, err
		}
		total += min(e.Time-last, idle)
		last = e.Time
		if c, r, ok := sizeOf(e.Text); ok && e.Code == codeResize {
			cols, rows = max(cols, c), max(rows, r)
		}
	}
}

// A film is a column of frames; a window shows one frame at a time. Equal rows are drawn once.
type film struct {
	cols, lines int
	most        int

	rows   map[string]int // number of each drawn row
	defs   bytes.Buffer
	frames bytes.Buffer
	times  []time.Duration
	last   string
}

// frame adds a frame that begins at a time, unless it looks as the last one. It reports false if there is no room.
func (f *film) frame(s *screen.Snapshot, at time.Duration) bool {
	var uses strings.Builder
	for y := range s.Rows {
		row := drawRow(s, y)
		if row == "" {
			continue
		}
		n, ok := f.rows[row]
		if !ok {
			n = len(f.rows)
			f.rows[row] = n
			fmt.Fprintf(&f.defs, "<g id=\"r%d\">%s</g>\n", n, row)
		}
		fmt.Fprintf(&uses, `<use href="#r%d" y="%d"/>`, n, y*cellHeight)
	}
	if c := s.Cursor; !c.Hidden {
		fmt.Fprintf(&uses, `<rect class="c" x="%.1f" y="%d" width="%.1f" height="%d"/>`, float64(c.Col)*cellWidth, c.Row*cellHeight, cellWidth, cellHeight)
	}
	if uses.String() == f.last {
		return true
	}
	if f.last = uses.String(); f.defs.Len()+f.frames.Len()+len(f.last) > f.most {
		return false
	}
	fmt.Fprintf(&f.frames, "<g transform=\"translate(0 %d)\">%s</g>\n", len(f.times)*f.height(), f.last)
	f.times = append(f.times, at)
	return true
}

func (f *film) height() int { return f.lines * cellHeight }

// write writes the picture. One turn of its animation takes the time total.
func (f *film) write(w io.Writer, title string, total time.Duration) error {
	width, height := float64(f.cols)*cellWidth, f.height()
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %d" width="%.1f" height="%d">`+"\n",
		width+2*padding, height+2*padding, width+2*padding, height+2*padding)
	b.WriteString("<title>")
	_ = xml.EscapeText(&b, []byte(title)) // of a bytes.Buffer
	b.WriteString("</title>\n<style>text{font:14px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre}" +
		".c{fill:#d0d0d0;opacity:.5}.b{font-weight:bold}.f{opacity:.6}.i{font-style:italic}.u{text-decoration:underline}" +
		".s{text-decoration:line-through}.us{text-decoration:underline line-through}")
	if len(f.times) > 1 && total > 0 {
		fmt.Fprintf(&b, "#f{animation:f %.2fs step-end infinite}@keyframes f{", total.Seconds())
		for i, at := range f.times {
			fmt.Fprintf(&b, "%.3f%%{transform:translateY(-%dpx)}", 100*at.Seconds()/total.Seconds(), i*height)
		}
		fmt.Fprintf(&b, "100%%{transform:translateY(-%dpx)}}", (len(f.times)-1)*height)
	}
	fmt.Fprintf(&b, "</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"#1e1e1e\"/>\n<defs>\n%s</defs>\n", f.defs.Bytes())
	fmt.Fprintf(&b, `<svg x="%d" y="%d" width="%.1f" height="%d" viewBox="0 0 %.1f %d"><g id="f">`+"\n", padding, padding, width, height, width, height)
	b.Write(f.frames.Bytes())
	b.WriteString("</g></svg>\n</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// drawRow returns the drawing of a row, or "".
func drawRow(s *screen.Snapshot, y int) string {
	var back, text strings.Builder
	for x := 0; x < s.Cols; {
		c := s.Cell(y, x)
		style := c.Style
		style.Link = ""
		var run bytes.Buffer
		from := x
		for ; x < s.Cols; x++ {
			next := s.Cell(y, x)
			if next.Style.Link = ""; next.Style != style && next.Width > 0 {
				break
			}
			switch {
			case next.Width == 0:
			case next.Cluster != "":
				run.WriteString(next.Cluster)
			default:
				run.WriteRune(next.Rune)
			}
		}
		fg, bg := colours(style)
		if bg != "" {
			fmt.Fprintf(&back, `<rect x="%.1f" width="%.1f" height="%d" fill="%s"/>`, float64(from)*cellWidth, float64(x-from)*cellWidth, cellHeight, bg)
		}
		if content := strings.TrimRight(run.String(), " "); content != "" && style.Attr&screen.Conceal == 0 {
			columns := x - from - (run.Len() - len(content))
			fmt.Fprintf(&text, `<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s>`, float64(from)*cellWidth, baseline, float64(columns)*cellWidth, fg, class(style))
			_ = xml.EscapeText(&text, []byte(content)) // of a strings.Builder
			text.WriteString("</text>")
		}
	}
	return back.String() + text.String()
}

// class returns the attribute with the classes of a style.
func class(s screen.Style) string {
	var names []string
	for _, c := range []struct {
		attr screen.Attr
		name string
	}{{screen.Bold, "b"}, {screen.Faint, "f"}, {screen.Italic, "i"}} {
		if s.Attr&c.attr != 0 {
			names = append(names, c.name)
		}
	}
	line := ""
	if s.Underline != screen.NoUnderline {
		line = "u"
	}
	if s.Attr&screen.Strike != 0 {
		line += "s"
	}
	if line != "" {
		names = append(names, line)
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

const (
	foreground = "#d0d0d0"
	background = "#1e1e1e"
)

// colours returns those of a style; bg is "" if it is that of the picture.
func colours(s screen.Style) (fg, bg string) {
	fg, bg = cmp.Or(colour(s.Fg), foreground), colour(s.Bg)
	if n, ok := s.Fg.Index(); ok && n < 8 && s.Attr&screen.Bold != 0 {
		fg = palette[n+8]
	}
	if s.Attr&screen.Reverse != 0 {
		fg, bg = cmp.Or(bg, background), fg
	}
	return fg, bg
}

// palette are the first colours, as most terminals have them.
var palette = [16]string{
	"#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
	"#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
}

// colour returns a colour for SVG; "" is the default.
func colour(c screen.Color) string {
	if r, g, b, ok := c.RGB(); ok {
		return fmt.Sprintf("#%02x%02x%02x", r, g, b)
	}
	n, ok := c.Index()
	switch {
	case !ok:
		return ""
	case n < 16:
		return palette[n]
	case n < 232: // a cube of six steps
		step := func(n int) int {
			if n == 0 {
				return 0
			}
			return 55 + 40*n
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", step(n/36), step(n/6%6), step(n%6))
	}
	grey := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}
