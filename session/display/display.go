package display

import (
	"bytes"
	"sync"
	"time"

	"ptyctl/screen"
	"ptyctl/session/redact"
)

const (
	// mostQueued is how much output waits to be drawn at most. The more waits, the more of a long log need not be drawn.
	mostQueued = 64 << 10
	// smallQueue is how much may wait without a queue from queues.
	smallQueue = 4 << 10
)

// queues are those of the sessions with more output that waits: most sessions have little.
var queues = sync.Pool{New: func() any { return new([mostQueued]byte) }}

// A Display is the screen of one session. Make it with New.
type Display struct {
	mu         sync.Mutex // guards the following
	secrets    redact.Known
	cols, rows int
	screen     *screen.Screen // nil: nothing was drawn or asked for yet
	queue      []byte         // output that is to be drawn
	echoes     []part         // the parts of queue that show secrets
	times      []arrival      // when the parts of queue came
	ended      bool           // no more comes
	debt       int            // of work that the output has not paid for; see write
	paid       time.Time      // until when
	left       bool           // the last output was not drawn
	partial    bool           // nor was some other
	shown      uint64         // counts the calls that changed something
	changed    chan struct{}  // closed at the next change; nil: no one waits for it
}

// An arrival is the time when the output from a place in the queue on came.
type arrival struct {
	from int
	at   time.Time
}

const (
	// mostTimes is how many arrivals are kept. Of more, every second one is dropped: those of late remain exact.
	mostTimes = 64
	// sameTime is how much later output may come and count as come at once.
	sameTime = 10 * time.Millisecond
)

// A part is a range of bytes.
type part struct{ from, to int }

// New makes a blank display. The size is brought within that of package screen.
func New(cols, rows int) *Display {
	return &Display{cols: max(1, min(cols, screen.MaxCols)), rows: max(1, min(rows, screen.MaxRows))}
}

// Show takes the next piece of the output, in which echoes were replaced.
func (d *Display) Show(output []byte, echoes []redact.Echo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, now := 0, time.Now()
	for _, e := range echoes {
		d.arrives(now)
		d.add(output[at:e.From], false)
		d.add(e.Text, true)
		at = e.To
	}
	d.arrives(now)
	d.add(output[at:], false)
	d.changes()
}

// arrives notes that output added to the queue from now on has come at now. Requires d.mu.
func (d *Display) arrives(now time.Time) {
	if len(d.queue) == 0 {
		d.times = append(d.times[:0], arrival{0, now})
		return
	}
	if n := len(d.times); n > 0 && now.Sub(d.times[n-1].at) < sameTime {
		return
	}
	if len(d.times) == mostTimes {
		for i := range mostTimes / 2 {
			d.times[i] = d.times[2*i]
		}
		d.times = d.times[:mostTimes/2]
	}
	d.times = append(d.times, arrival{len(d.queue), now})
}

// add queues p, which shows a secret or not. Requires d.mu.
func (d *Display) add(p []byte, secret bool) {
	for len(p) > 0 {
		n := min(len(p), mostQueued-len(d.queue))
		if secret {
			d.echoes = append(d.echoes, part{len(d.queue), len(d.queue) + n})
		}
		if len(d.queue)+n > smallQueue && cap(d.queue) < mostQueued {
			small := d.queue
			d.queue = append(queues.Get().(*[mostQueued]byte)[:0], small...)
			clear(small)
		}
		d.queue = append(d.queue, p[:n]...)
		if p = p[n:]; len(d.queue) == mostQueued {
			d.makeRoom()
		}
	}
}

// makeRoom makes room in a queue that is full, by drawing if it must. Requires d.mu.
func (d *Display) makeRoom() {
	d.skip()
	if len(d.queue) > mostQueued/2 { // all that is left would be looked at again and again
		d.draw()
	}
}

// skip drops what need not be drawn from the queue. Requires d.mu.
func (d *Display) skip() {
	if d.screen == nil || len(d.echoes) > 0 || len(d.queue) < smallQueue {
		return
	}
	n := d.screen.Skip(d.queue)
	rest := copy(d.queue, d.queue[n:])
	clear(d.queue[rest:])
	d.queue = d.queue[:rest]
	for len(d.times) > 1 && d.times[1].from <= n {
		d.times = d.times[1:]
	}
	for i := range d.times {
		d.times[i].from = max(0, d.times[i].from-n)
	}
}

// changes wakes those who wait for a change. Requires d.mu.
func (d *Display) changes() {
	d.shown++
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// draw brings the screen up to date. Requires d.mu.
func (d *Display) draw() *screen.Screen {
	if d.screen == nil {
		d.screen = screen.New(d.cols, d.rows)
		d.hide()
	}
	d.skip()
	at := 0
	for _, e := range d.echoes {
		d.drawPart(at, e.from)
		d.screen.WriteSecret(d.queue[e.from:e.to])
		at = e.to
	}
	d.drawPart(at, len(d.queue))
	d.screen.At(time.Time{})
	if d.ended {
		d.screen.EndFrame()
	}
	d.times = d.times[max(0, len(d.times)-1):] // of output that is being added
	for i := range d.times {
		d.times[i].from = 0
	}
	clear(d.queue)
	if d.queue, d.echoes = d.queue[:0], nil; cap(d.queue) == mostQueued {
		queues.Put((*[mostQueued]byte)(d.queue[:mostQueued]))
		d.queue = nil
	}
	return d.screen
}

// drawPart draws a part of the queue, at the times when it came. Requires d.mu.
func (d *Display) drawPart(from, to int) {
	for i, t := range d.times {
		end := to
		if i+1 < len(d.times) {
			end = min(to, d.times[i+1].from)
		}
		if from < end {
			d.screen.At(t.at)
			d.write(d.queue[from:end])
			from = end
		}
	}
}

// Drawing is work, in cells, which each byte pays in part and the time that passes in part; what programs draw costs
// less. Output that has made a debt of mostDebt, about a quarter of a second of work, is not drawn until it is less. So a
// far side that sends costly sequences without end, for example DECALN, cannot keep the machine busy with its screen.
const (
	payPerByte   = 128
	payPerSecond = 1 << 26
	mostDebt     = 1 << 26
)

// reset is RIS, and cleanPiece how much after it is drawn at once, in spite of a debt, as long as that is cheap.
// It makes a debt like any other, of which twice mostDebt is the end.
var reset = []byte("\x1bc")

const cleanPiece = 128

// can ends a control sequence that was begun (ECMA-48 section 8.3.6).
const can = 0x18

// write draws p as far as it has paid for that. Requires d.mu.
func (d *Display) write(p []byte) {
	now := time.Now()
	d.debt = max(0, d.debt-int(min(now.Sub(d.paid).Seconds(), 1)*payPerSecond))
	d.paid = now
	piece := max(128, min(4<<10, 80<<20/(d.cols*d.rows))) // of the largest screen, a sequence may make a million
	clean := false                                        // p begins with a reset, or goes on after one at little cost
	for len(p) > 0 {
		if d.debt > mostDebt && d.debt <= 2*mostDebt && !clean { // nothing before the last reset counts any more
			if i := bytes.LastIndex(p, reset); i >= 0 {
				d.left, clean, p = true, true, p[i:]
			}
		}
		n := min(piece, len(p))
		if clean {
			n = min(n, cleanPiece)
		}
		switch {
		case d.debt <= mostDebt || clean:
			if d.left {
				_, _ = d.screen.Write([]byte{can})
			}
			resets := d.screen.Resets()
			_, _ = d.screen.Write(p[:n])
			work, again := d.screen.Work(), d.screen.Resets() != resets
			d.debt, d.left = d.debt+work, false
			d.partial = d.partial && !again
			clean = clean && (again || work <= payPerByte*n)
		default:
			d.partial, d.left = true, true
		}
		d.debt = max(0, d.debt-payPerByte*n)
		p = p[n:]
	}
}

// Resize changes the size for the output that comes from now on.
func (d *Display) Resize(cols, rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draw().Resize(cols, rows)
	d.cols, d.rows = d.screen.Size()
	d.changes()
}

// A View is the screen as a caller gets it.
type View struct {
	screen.Diff

	// Partial says that output was left out because it was too costly to draw, and that the program has not reset the
	// terminal since then. Cells that were not drawn again may be wrong.
	Partial bool
}

// View returns the screen as it is now, and the changes since the version of an earlier call; 0: all of it.
func (d *Display) View(since uint64) View {
	d.mu.Lock()
	defer d.mu.Unlock()
	return View{d.draw().Diff(since), d.partial}
}

// Replies returns the answers of a terminal to the output since the last call; see [screen.Screen.Replies].
func (d *Display) Replies() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.draw().Replies()
}

// Expect looks for a secret, which is about to be typed, in all that the display returns from now on.
func (d *Display) Expect(secret []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.secrets.Add(secret) {
		d.cover()
		d.secrets.Add(secret) // there is room now, or its echo could not be kept out of the output either
	}
	d.hide()
}

// Mask returns text with an asterisk for each byte of the secrets that the display looks for.
func (d *Display) Mask(text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.secrets.Any() {
		return text
	}
	return screen.MaskText(text, d.secrets.Find)
}

// hide keeps the secrets out of all that the screen returns. Requires d.mu.
func (d *Display) hide() {
	switch {
	case d.screen == nil: // draw makes it
	case d.secrets.Any():
		d.screen.Hide(d.secrets.Find)
	default:
		d.screen.Hide(nil)
	}
}

// End says that no output follows. It wipes the secrets, and the screen shows none of them for good.
func (d *Display) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.secrets.Any() {
		d.cover()
	}
	d.ended = true
	d.changes()
}

// cover makes the screen forget the text of the secrets, and then forgets them. Requires d.mu.
func (d *Display) cover() {
	d.draw().Cover(d.secrets.Find)
	d.secrets.Forget()
	d.hide()
}
