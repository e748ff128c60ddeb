package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/term"
)

// A Fsync says when lines are forced to the disk.
type Fsync string

// The policies. In every one of them a line is with the operating system once it counts as written: it survives the
// end of ptyctl, but not that of the machine.
const (
	FsyncAlways   Fsync = "always"   // each line, or batch of lines, before it counts as written
	FsyncInterval Fsync = "interval" // once a second
	FsyncNever    Fsync = "never"    // when the operating system sees fit
)

// Options configure a Log. Path is required; the zero value of everything else works.
type Options struct {
	Path     string        // in a folder that not everybody may write to
	MaxBytes int64         // the size at which a new file is begun; 0: 64 MiB
	Keep     int           // full files that are kept, as Path.1 (the newest) and so on; 0: 10
	Fsync    Fsync         // empty: FsyncInterval
	Commands Commands      // empty: CommandsRedacted
	Queue    int           // lines that may wait to be written; 0: 4096
	Timeout  time.Duration // how long Journal waits for a disk; 0: 5 s
	Version  string        // of the program, for the record
	Logger   *slog.Logger  // nil: silent
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxBytes, 64<<20)
	setDefault(&o.Keep, 10)
	setDefault(&o.Fsync, FsyncInterval)
	setDefault(&o.Commands, CommandsRedacted)
	setDefault(&o.Queue, 4096)
	setDefault(&o.Timeout, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const (
	syncEvery = time.Second // FsyncInterval
	maxBatch  = 256         // lines that are written under one lock, and synced at once
)

// A Log is an audit log that is being written. It is a term.Observer, and its Journal a term.Journal.
type Log struct {
	o     Options
	queue chan request
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed when the last line is written
	once  sync.Once
	lost  atomic.Int64 // lines that could not be kept, in all
	err   error        // of the end; set before done is closed

	// The following belong to the goroutine that writes.
	file    *file
	told    int64 // of lost, how many are written down
	failing bool  // the last write failed
	dirty   bool  // something is not synced
}

// A request is a line to write.
type request struct {
	event  term.Event
	intent bool
	ack    chan error // buffered; nil: nobody waits
}

// Open opens the audit file, or makes it, and begins to write to it. It fails if somebody else could tamper with it.
func Open(o Options) (*Log, error) {
	o = o.withDefaults()
	l := &Log{
		o: o, queue: make(chan request, o.Queue), stop: make(chan struct{}), done: make(chan struct{}),
		file: &file{path: o.Path, max: o.MaxBytes, keep: o.Keep},
	}
	if err := l.start(); err != nil {
		l.file.close()
		return nil, fmt.Errorf("audit: %w", err)
	}
	go l.run() // Close waits for it
	return l, nil
}

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

// Observe takes e for the log. It never blocks: when the disk is too slow for all that happens, lines are lost, and the
// log says how many.
func (l *Log) Observe(e term.Event) {
	if !recorded(e) {
		return
	}
	e.Data = nil // valid only now, and never kept
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

// Journal writes down that e is about to be done, and returns when that is as safe as Options.Fsync says. An error
// means that it could not be written, and must not be done.
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

var (
	errClosed = errors.New("the audit log is closed")
	errSlow   = errors.New("the audit log was not written in time")
)

// Lost is how many lines could not be kept so far. It must stay 0.
func (l *Log) Lost() int64 { return l.lost.Load() }

// Close writes what waits, and a last line, and waits for that as long as Journal would. A nil Log is closed.
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

// run writes what comes until the log is closed and nothing waits any more.
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
			if err := l.sync(true); err != nil {
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
		if l.dirty && clean && l.o.Fsync == FsyncInterval {
			tick.Reset(syncEvery)
		}
	}
}

// gather adds to the batch what waits now.
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

// write puts a batch into the file and tells those who wait for it.
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
		n := newEntry(r.event, l.o.Commands)
		if n.Intent = r.intent; r.intent {
			n.Outcome = ""
		}
		if errs[i] = l.file.add(n); errs[i] == nil {
			l.dirty = true
		}
	}
	if synced := l.sync(l.o.Fsync == FsyncAlways); synced != nil {
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
			l.lost.Add(1)
		}
	}
	l.failed(failure)
}

// count writes down how many lines were lost since the last time. Requires that the file has begun.
func (l *Log) count() error {
	lost := l.lost.Load()
	if lost == l.told {
		return nil
	}
	if err := l.file.add(Entry{Event: eventLost, Self: &SelfNote{Lost: lost - l.told}}); err != nil {
		return err
	}
	l.told, l.dirty = lost, true
	return nil
}

// failed reports the first error of a row of them, and the end of the row.
func (l *Log) failed(err error) {
	switch {
	case err != nil && !l.failing:
		l.o.Logger.Error("the audit log cannot be written", "path", l.o.Path, "error", err)
	case err == nil && l.failing:
		l.o.Logger.Warn("the audit log is written again", "path", l.o.Path, "lost", l.lost.Load())
	}
	l.failing = err != nil
}

// sync forces what was written to the disk, if now is the time.
func (l *Log) sync(now bool) error {
	if !now || l.file.f == nil {
		return nil
	}
	l.dirty = false
	return l.file.f.Sync()
}

// finish writes the last line. The hash of it is worth keeping elsewhere, so it is logged.
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
	l.o.Logger.Info("the audit log is closed", "path", l.o.Path, "head", l.file.last)
	return nil
}
