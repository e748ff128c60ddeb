package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"

	"ptyctl/internal/faultlog"
	"ptyctl/internal/rundir"
	"ptyctl/term"
)

// DirOptions configure a Dir. Path is required; all other fields may be zero.
type DirOptions struct {
	Path string // a folder of this user alone; it is made if needed

	// Limits of the folder. Complete recordings are removed, oldest first, where one is exceeded; those that
	// are being written never are.
	MaxTotal int64         // bytes; 0: 1 GiB
	MaxFiles int           // 0: 10,000
	MaxAge   time.Duration // 0: no limit

	MaxBytes   int64  // of one recording; see Options
	Queue      int    // see Options
	Version    string // see Options
	Command    func(line string) string
	Recipients []age.Recipient // encrypt to them; nil: do not

	// FailClosed refuses actions on a session that cannot be recorded, as far as Journal is asked, and calls Failed.
	FailClosed bool
	Failed     func(session string, err error) // to end the session; it must not block

	// Noted gets the data to keep elsewhere, so that Check finds changes. It must not block for long.
	Noted func(Note)

	Logger *slog.Logger // nil: errors go to slog.Default
}

// A Dir records all sessions into a folder, each into a file of its own, and calls without a session into one more. It
// is a term.Observer, and its method Journal is a term.Journal. Several processes may write to one folder.
type Dir struct {
	o DirOptions

	mu       sync.RWMutex // guards the following
	sessions map[string]*tapeFile
	others   *tapeFile   // the recording of calls without a recorded session; nil: none so far
	ending   []*tapeFile // earlier ones of either kind, which write their ends
	closed   bool

	folder   folder
	dropped  atomic.Int64
	failures atomic.Int64
}

// NewDir makes the folder if needed, and removes recordings beyond its limits.
func NewDir(o DirOptions) (*Dir, error) {
	o.MaxTotal = cmp.Or(o.MaxTotal, 1<<30)
	o.MaxFiles = cmp.Or(o.MaxFiles, 10_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Logger = faultlog.Or(o.Logger)
	if err := rundir.Own(o.Path); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	d := &Dir{o: o, sessions: make(map[string]*tapeFile)}
	d.folder.o = &d.o
	if err := d.folder.prune(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return d, nil
}

// A tapeFile is a session that is recorded.
type tapeFile struct {
	*Recorder
	file *file
	bad  atomic.Pointer[error] // why it cannot be written now

	opened atomic.Bool // the session was open
	over   atomic.Bool // and has ended; one that is reopened gets another recording
}

// follow notes where the session is in its life.
func (t *tapeFile) follow(e term.Event) {
	switch {
	case e.Verb == term.VerbState && e.State == "open":
		t.opened.Store(true)
	case e.Verb == term.VerbState, e.Verb == term.VerbOpen && e.Outcome() != nil && !t.opened.Load():
		t.over.Store(true)
	}
}

// Observe implements term.Observer.
func (d *Dir) Observe(e term.Event) {
	if e.Verb == term.VerbOutput { // it comes often, and each call below copies the event, which is large
		if t := d.session(e.Session, false, e.Time); t != nil {
			t.output(e.Data)
		}
		return
	}
	if t := d.session(e.Session, begins(e), e.Time); t != nil {
		t.Observe(e)
		t.follow(e)
	} else if isCall(e.Verb) {
		d.observeOther(e)
	}
}

// ObserveExec implements term.ExecObserver.
func (d *Dir) ObserveExec(e term.Event) {
	if t := d.session(e.Session, false, e.Time); t != nil {
		t.ObserveExec(e)
	}
}

// begins reports whether e is an event of a session that is there from then on. Callers may name sessions that are not.
func begins(e term.Event) bool {
	switch {
	case e.Session == "":
		return false
	case e.Verb == term.VerbOpen:
		return e.Outcome() == nil
	}
	return e.Verb == term.VerbState && e.State == "open"
}

// session returns the recording of a session, or nil. With begin it begins one if needed.
func (d *Dir) session(id string, begin bool, now time.Time) *tapeFile {
	d.mu.RLock()
	t := d.sessions[id]
	d.mu.RUnlock()
	if t != nil && !t.over.Load() || !begin {
		return t
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if t = d.sessions[id]; t != nil && !t.over.Load() || d.closed {
		return t
	}
	if t != nil {
		d.ending = append(d.ending, t)
	}
	t = d.record(id, id, now)
	d.sessions[id] = t
	return t
}

// record starts a recording, of no session if id is empty.
func (d *Dir) record(id, name string, now time.Time) *tapeFile {
	if now.IsZero() {
		now = time.Now()
	}
	t := &tapeFile{file: newFile(&d.folder, name, now)}
	t.Recorder = New(t.file, Options{
		Session: id, Version: d.o.Version, MaxBytes: d.o.MaxBytes, Queue: d.o.Queue, Command: d.o.Command,
		Sealed: t.file.sealed,
		Failed: func(err error) { d.failed(id, t, err) },
		Logger: d.o.Logger,
		ended:  func() { d.over(id, t) },
		others: id == "",
	})
	return t
}

// over lets go of a recording that is complete. Its goroutine calls it.
func (d *Dir) over(id string, t *tapeFile) {
	t.file.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropped.Add(t.Dropped())
	if d.sessions[id] == t {
		delete(d.sessions, id)
	}
	if d.others == t {
		d.others = nil
	}
	if i := slices.Index(d.ending, t); i >= 0 {
		d.ending = slices.Delete(d.ending, i, i+1)
	}
}

// failed notes that a recording cannot be written, or can be again.
func (d *Dir) failed(id string, t *tapeFile, err error) {
	if err == nil {
		t.bad.Store(nil)
		return
	}
	d.failures.Add(1)
	t.bad.Store(&err)
	if d.o.FailClosed && d.o.Failed != nil {
		d.o.Failed(id, err)
	}
}

// Journal refuses an action if its session cannot be recorded and FailClosed is set. A session that is about to open has
// its file from then on.
func (d *Dir) Journal(e term.Event) error {
	if !d.o.FailClosed {
		return nil
	}
	var t *tapeFile
	if e.Session == "" {
		t = d.other(e.Time)
	} else {
		t = d.session(e.Session, e.Verb == term.VerbOpen, e.Time)
	}
	if t == nil {
		return nil
	}
	if err := t.bad.Load(); err != nil {
		return unrecorded(e, *err)
	}
	if e.Session == "" || e.Verb == term.VerbOpen {
		if err := t.file.reserve(); err != nil {
			return unrecorded(e, err)
		}
	}
	return nil
}

// unrecorded is the error for an action on a session that cannot be recorded.
func unrecorded(e term.Event, err error) error {
	what := "the session"
	if e.Session == "" {
		what = "the call"
	}
	return &term.Error{
		Op: string(e.Verb), Session: e.Session, Kind: term.IOError, Reason: term.ReasonNoRecording, Err: err,
		Msg: what + " cannot be recorded, so nothing was done",
	}
}

// Dropped returns how many bytes of output are missing in recordings so far, each marked there.
func (d *Dir) Dropped() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.dropped.Load()
	for _, t := range d.allLocked() {
		n += t.Dropped()
	}
	return n
}

// allLocked returns the recordings that are being written. Requires d.mu.
func (d *Dir) allLocked() []*tapeFile {
	all := slices.AppendSeq(slices.Clone(d.ending), maps.Values(d.sessions))
	if d.others != nil {
		all = append(all, d.others)
	}
	return all
}

// Failures returns how often a recording could not be written.
func (d *Dir) Failures() int64 { return d.failures.Load() }

// Active returns how many sessions are being recorded.
func (d *Dir) Active() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sessions)
}

// Settle implements term.Settler. It waits for the recordings of ended sessions. Each of them is open until the disk
// has it.
func (d *Dir) Settle(ctx context.Context) {
	d.mu.Lock()
	over := slices.DeleteFunc(d.allLocked(), func(t *tapeFile) bool { return !t.over.Load() })
	d.mu.Unlock()
	for _, t := range over {
		select {
		case <-t.Done():
		case <-ctx.Done():
			return
		}
	}
}

// Close completes all recordings. The sessions should have ended.
func (d *Dir) Close() error {
	d.mu.Lock()
	d.closed = true
	all := d.allLocked()
	d.mu.Unlock()
	var err error
	for _, t := range all {
		err = errors.Join(err, t.Recorder.Close())
	}
	return err
}
