package audit

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/term"
)

// A Fsync selects when lines are forced to disk.
type Fsync string

// Values of Fsync. With each of them the operating system has a line before it counts as
// written, so that the line survives the end of ptyctl. Only a forced line survives a
// crash of the machine.
const (
	FsyncAlways   Fsync = "always"   // a line of Journal before it counts as written, all others within 10 ms
	FsyncInterval Fsync = "interval" // once a second
	FsyncNever    Fsync = "never"    // when the operating system decides
)

// Options configure a Log. Path is required; all other fields may be zero.
type Options struct {
	Path     string        // in a folder that not everybody may write to
	MaxBytes int64         // size of a file before rotation; 0: 64 MiB
	Keep     int           // number of rotated files; 0: 10
	Fsync    Fsync         // empty: FsyncInterval
	Commands Commands      // empty: CommandsRedacted
	Queue    int           // lines that may wait to be written; 0: 4096
	Timeout  time.Duration // how long Journal and Close wait for the disk; 0: 5 s
	Version  string        // of the program, for the entry "start"
	Node     string        // of a cluster, for all entries; empty: this machine is alone
	Logger   *slog.Logger  // nil: no log
}

// withDefaults returns o with defaults for its zero fields.
func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Keep = cmp.Or(o.Keep, 10)
	o.Fsync = cmp.Or(o.Fsync, FsyncInterval)
	o.Commands = cmp.Or(o.Commands, CommandsRedacted)
	o.Queue = cmp.Or(o.Queue, 4096)
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Costs of the writer: syncEvery is the interval of FsyncInterval, maxBatch the number of
// lines written under one lock and synced at once.
//
// syncSoon is how long FsyncAlways lets a line wait that no caller waits for, so that one fsync(2) forces several. A
// command has a line before it begins and two after; each took a call, the second while the command ran. Measured by
// BenchmarkExecAudited, in two alternated runs: 1.08 and 1.20 times as long as without a log, in place of 1.23 and 1.21.
const (
	syncEvery = time.Second
	syncSoon  = 10 * time.Millisecond
	maxBatch  = 256
)

// maxOwed is how many events are kept until the log can be written again. A session is closed, and a lock given back,
// also when that cannot be recorded, so each such line comes later; of all others only the count does.
const maxOwed = 4096

// owes reports whether r was done although the log could not be written.
func owes(r request) bool {
	return r.recording != nil || r.event.Verb == term.VerbClose || r.event.Verb == term.VerbUnlock
}

// A Log writes an audit log. It implements term.Observer, and its method Journal is a
// term.Journal. All methods are safe for concurrent use.
type Log struct {
	o     Options
	queue chan request
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed after the last line is written
	once  sync.Once
	lost  atomic.Int64 // lines lost in total
	head  atomic.Pointer[Head]
	err   error // of the end; set before done is closed

	// Owned by the goroutine that writes.
	file    *file
	noted   int64     // lost lines that the log already mentions
	owed    []request // actions done although they could not be written: see maxOwed
	failing bool      // the last write has failed
	dirty   bool      // some lines are not synced
	due     []request // FsyncAlways: those of Observe and Recording among them; at most 2 * maxBatch
}

// A request asks for a line to be written.
type request struct {
	event     term.Event
	recording *Recording // in place of event
	intent    bool
	ack       chan error // buffered; nil: no caller waits
}

// Open opens or creates the audit file and starts to write to it. It fails if another
// user could tamper with the file.
func Open(o Options) (*Log, error) {
	o = o.withDefaults()
	l := &Log{
		o: o, queue: make(chan request, o.Queue), stop: make(chan struct{}), done: make(chan struct{}),
		file: &file{path: o.Path, max: o.MaxBytes, keep: o.Keep, node: o.Node},
	}
	if err := l.start(); err != nil {
		l.file.close()
		return nil, fmt.Errorf("audit: %w", err)
	}
	go l.run() // Close waits for it
	return l, nil
}

// start writes the first entry of this process. It runs before Open returns, so that a
// log that cannot be written is reported at once.
func (l *Log) start() error {
	if err := l.file.begin(); err != nil {
		return err
	}
	defer l.file.end()
	if err := l.file.add(Entry{Event: eventStart, Self: &SelfNote{Program: l.o.Version}}); err != nil {
		return err
	}
	return l.sync(l.o.Fsync != FsyncNever)
}

// Observe queues e for the log. It never blocks: if the disk is too slow, lines are lost,
// and the log says how many.
func (l *Log) Observe(e term.Event) {
	if !recorded(e) {
		return
	}
	e.Data = nil // valid only during the call, and never kept
	select {
	case <-l.stop:
		l.lost.Add(1)
	default:
		select {
		case l.queue <- request{event: e}:
		default:
			l.lost.Add(1)
		}
	}
}

// Recording queues a note of a recording for the log. It never blocks.
func (l *Log) Recording(r Recording) {
	select {
	case <-l.stop:
		l.lost.Add(1)
	default:
		select {
		case l.queue <- request{recording: &r}:
		default:
			l.lost.Add(1)
		}
	}
}

// Journal records that e is about to be done, and returns after the line is as durable as
// Options.Fsync demands. After an error the action must not be done.
func (l *Log) Journal(e term.Event) error {
	e.Data = nil
	r := request{event: e, intent: true, ack: make(chan error, 1)}
	timer := time.NewTimer(l.o.Timeout)
	defer timer.Stop()
	select {
	case <-l.stop:
		return errClosed
	case l.queue <- r:
	case <-timer.C:
		return errSlow
	}
	select {
	case err := <-r.ack:
		return err
	case <-timer.C:
		return errSlow
	case <-l.done:
		select {
		case err := <-r.ack:
			return err
		default:
			return errClosed
		}
	}
}

// Errors of Journal and Close.
var (
	errClosed = errors.New("audit log closed")
	errSlow   = errors.New("audit log not written in time")
)

// Lost returns the number of lines lost so far. It should stay 0.
func (l *Log) Lost() int64 { return l.lost.Load() }

// Close writes the queued lines and a last entry. It waits at most Options.Timeout. Close
// of a nil Log does nothing.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.once.Do(func() { close(l.stop) })
	timer := time.NewTimer(l.o.Timeout)
	defer timer.Stop()
	select {
	case <-l.done:
		return l.err
	case <-timer.C:
		return errSlow
	}
}

// run writes requests until the log is closed and the queue is empty.
func (l *Log) run() {
	defer close(l.done)
	tick := time.NewTimer(syncEvery)
	tick.Stop()
	batch := make([]request, 0, maxBatch)
	for {
		select {
		case r := <-l.queue:
			batch = l.gather(append(batch[:0], r))
		case <-tick.C:
			if err := l.sync(l.dirty); err != nil {
				l.failed(err)
			}
			continue
		case <-l.stop:
			batch = l.gather(batch[:0])
			if len(batch) == 0 {
				l.err = l.finish()
				return
			}
		}
		clean := !l.dirty
		l.write(batch)
		clear(batch)
		if l.dirty && clean {
			switch l.o.Fsync {
			case FsyncAlways:
				tick.Reset(syncSoon)
			case FsyncInterval:
				tick.Reset(syncEvery)
			}
		}
	}
}

// gather adds the queued requests to the batch, up to maxBatch.
func (l *Log) gather(batch []request) []request {
	for len(batch) < maxBatch {
		select {
		case r := <-l.queue:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// write writes a batch to the file and reports the result to the callers that wait.
func (l *Log) write(batch []request) {
	errs := make([]error, len(batch))
	err := l.file.begin()
	if err == nil {
		err = l.count()
	}
	for i, r := range batch {
		if errs[i] = err; err != nil {
			continue
		}
		n := l.entry(r)
		if n.Intent = r.intent; r.intent {
			n.Outcome = ""
		}
		if errs[i] = l.file.add(n); errs[i] == nil {
			l.dirty = true
		}
	}
	awaited := func(r request) bool { return r.ack != nil }
	now := l.o.Fsync == FsyncAlways && (len(l.due) >= maxBatch || slices.ContainsFunc(batch, awaited))
	if synced := l.sync(now); synced != nil {
		for i := range errs {
			errs[i] = errors.Join(errs[i], synced)
		}
	}
	l.file.end()
	failure := l.file.stuck
	for i, r := range batch {
		if errs[i] != nil {
			failure = errs[i]
		}
		switch {
		case r.ack != nil:
			r.ack <- errs[i]
		case errs[i] != nil:
			l.owe(r)
		case l.dirty && l.o.Fsync == FsyncAlways:
			l.due = append(l.due, r)
		}
	}
	l.failed(failure)
}

// owe keeps or counts a line that is not written.
func (l *Log) owe(r request) {
	if owes(r) && len(l.owed) < maxOwed {
		l.owed = append(l.owed, r)
		return
	}
	l.lost.Add(1)
}

// entry returns the line of a request.
func (l *Log) entry(r request) Entry {
	if r.recording != nil {
		return Entry{Event: eventRecording, Recording: r.recording}
	}
	return newEntry(r.event, l.o.Commands)
}

// count adds the lines that are owed, and an entry with the number of lines lost since the last one. Requires begin.
func (l *Log) count() error {
	for len(l.owed) > 0 {
		if err := l.file.add(l.entry(l.owed[0])); err != nil {
			return err
		}
		l.owed, l.dirty = l.owed[1:], true
	}
	lost := l.lost.Load()
	if lost == l.noted {
		return nil
	}
	if err := l.file.add(Entry{Event: eventLost, Self: &SelfNote{Lost: lost - l.noted}}); err != nil {
		return err
	}
	l.noted, l.dirty = lost, true
	return nil
}

// failed logs the first error of a series and the end of the series.
func (l *Log) failed(err error) {
	switch {
	case err != nil && !l.failing:
		l.o.Logger.Error("audit log not writable", "path", l.o.Path, "error", err)
	case err == nil && l.failing:
		l.o.Logger.Warn("audit log writable again", "path", l.o.Path, "lost", l.lost.Load())
	}
	l.failing = err != nil
}

// sync forces the written lines to disk if now is true. Lines that are due and cannot be forced are not written: the
// system may have dropped them from its memory (fsync(2), since Linux 4.13).
func (l *Log) sync(now bool) error {
	if !now || l.file.f == nil {
		if l.o.Fsync == FsyncNever {
			l.head.Store(l.file.head())
		}
		return nil
	}
	l.dirty = false
	err := l.file.force()
	if err == nil {
		l.head.Store(l.file.head())
	} else {
		for _, r := range l.due {
			l.owe(r)
		}
	}
	clear(l.due)
	l.due = l.due[:0]
	return err
}

// finish writes the last entry and logs its hash, which an operator should keep
// elsewhere.
func (l *Log) finish() error {
	defer l.file.close()
	err := l.file.begin()
	if err == nil {
		err = l.count()
	}
	if err == nil {
		err = l.file.add(Entry{Event: eventStop})
	}
	if err == nil {
		err = l.sync(l.o.Fsync != FsyncNever)
	}
	if err != nil {
		l.failed(err)
		return fmt.Errorf("audit: %w", err)
	}
	l.o.Logger.Info("audit log closed", "path", l.o.Path, "head", l.file.last)
	return nil
}
