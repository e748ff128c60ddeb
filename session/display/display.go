package display

import (
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
	known      Known
	cols, rows int
	screen     *screen.Screen // nil: nothing was drawn or asked for yet
	queue      []byte         // output that is to be drawn
	echoes     []part         // the parts of queue that show secrets
	times      []arrival      // when the parts of queue came
	unanswered int            // the queries in so much of queue get no answer
	ended      bool           // no more comes
	budget     budget
	shown      uint64        // counts the calls that changed something
	changed    chan struct{} // closed at the next change; nil: no one waits for it
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

// Known finds more secrets than those that were typed.
type Known interface {
	Any() bool                         // there are some
	Find(text []byte) (parts [][2]int) // where text shows them, as pairs of a beginning and an end
}

// Conceal also masks the secrets of k in everything that the display returns. The output is already masked, but parts
// that are drawn in another order join into one text only on the screen.
func (d *Display) Conceal(k Known) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = k
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

// skip drops output that need not be drawn from the queue. Requires d.mu.
func (d *Display) skip() {
	if d.screen == nil || len(d.echoes) > 0 || len(d.queue) < smallQueue {
		return
	}
	n := d.screen.Skip(d.queue)
	rest := copy(d.queue, d.queue[n:])
	clear(d.queue[rest:])
	d.queue = d.queue[:rest]
	d.unanswered = max(0, d.unanswered-n)
	for len(d.times) > 1 && d.times[1].from <= n {
		d.times = d.times[1:]
	}
	for i := range d.times {
		d.times[i].from = max(0, d.times[i].from-n)
	}
}

// changes wakes the waiters for a change. Requires d.mu.
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
	}
	d.hide() // others may be known now
	d.skip()
	if d.unanswered > 0 {
		d.drawPart(0, d.unanswered)
		d.screen.Replies()
	}
	d.drawPart(d.unanswered, len(d.queue))
	d.unanswered = 0
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

// drawPart draws a part of the queue, which contains each echo as a whole or not at all. Requires d.mu.
func (d *Display) drawPart(from, to int) {
	for _, e := range d.echoes {
		if from <= e.from && e.to <= to {
			d.drawOpen(from, e.from)
			d.screen.WriteSecret(d.queue[e.from:e.to])
			from = e.to
		}
	}
	d.drawOpen(from, to)
}

// drawOpen draws a part of the queue that shows no echo, at the times when it came. Requires d.mu.
func (d *Display) drawOpen(from, to int) {
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
	return View{d.draw().Diff(since), d.budget.partial}
}

// Replies returns the answers of a terminal to the output since the last call; see [screen.Screen.Replies].
func (d *Display) Replies() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.draw().Replies()
}

// Unanswered has the queries of the output so far get no answer. It draws nothing.
func (d *Display) Unanswered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.screen != nil {
		d.screen.Replies()
	}
	d.unanswered = len(d.queue)
}

// Expect looks for a secret, which is about to be typed, in all that the display returns from now on.
func (d *Display) Expect(secret []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.secrets.Add(secret, d.shows) {
		d.cover()
		d.secrets.Add(secret, d.shows) // there is room now, or its echo could not be kept out of the output either
	}
	d.hide()
}

// shows reports whether the screen shows a word, or the output to be drawn has it, apart from secrets. Requires d.mu.
func (d *Display) shows(word []byte) bool {
	at := 0
	for _, e := range d.echoes {
		if redact.Shows(d.queue[at:e.from], word) {
			return true
		}
		at = e.to
	}
	if redact.Shows(d.queue[at:], word) {
		return true
	}
	if d.screen == nil {
		return false
	}
	now, _ := d.screen.Peek()
	return redact.Shows([]byte(now.Text()), word)
}

// Mask returns text with an asterisk for each byte of the secrets that the display looks for.
func (d *Display) Mask(text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hides() {
		return text
	}
	return screen.MaskText(text, d.find)
}

// hides reports whether there are secrets to look for. Requires d.mu.
func (d *Display) hides() bool { return d.secrets.Any() || d.known != nil && d.known.Any() }

// find returns where text shows secrets. Requires d.mu.
func (d *Display) find(text []byte) [][2]int {
	parts := d.secrets.Find(text)
	if d.known != nil {
		parts = append(parts, d.known.Find(text)...)
	}
	return parts
}

// hide keeps the secrets out of all that the screen returns. Requires d.mu.
func (d *Display) hide() {
	switch {
	case d.screen == nil: // draw makes it
	case d.hides():
		d.screen.Hide(d.find)
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

// Restart says that output follows after all, of another program: the screen is blank, with the modes of a new one.
func (d *Display) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = false
	now := d.draw()
	_, _ = now.Write([]byte{can})
	_, _ = now.Write(reset)
	now.Replies() // queries of programs that are gone
	d.budget = budget{}
	d.changes()
}

// cover makes the screen forget the text of the secrets, and then forgets them. Requires d.mu.
func (d *Display) cover() {
	d.draw().Cover(d.secrets.Find)
	d.secrets.Forget()
	d.hide()
}
