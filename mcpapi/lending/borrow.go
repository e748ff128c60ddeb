package lending

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

const (
	aliveEvery = Silence / 3

	// tellTime is how long a message about an end may take. The other node also detects the end by itself.
	tellTime = 2 * time.Second

	// roomTime is how long a request waits for a node that has no room for it, asking again after firstWait to mostWait.
	roomTime  = 30 * time.Second
	firstWait = 20 * time.Millisecond
	mostWait  = time.Second
)

// Options name the files that were borrowed.
type Options struct {
	ID      string
	Node    string // that has lent it
	Session string // that has the files, for errors
	Machine string // see session.CopySource

	// Call has the node serve a request. Its errors are of package term.
	Call func(ctx context.Context, request []byte) (answer []byte, err error)
}

// A Borrowed is files of a session of another node, for one copy.
type Borrowed struct {
	o     Options
	lost  atomic.Bool // the node has not answered the last request
	over  chan struct{}
	alive sync.WaitGroup
}

var _ session.CopySource = (*Borrowed)(nil)

// Borrow returns files that were lent.
func Borrow(o Options) *Borrowed { return &Borrowed{o: o, over: make(chan struct{})} }

// Machine implements session.CopySource.
func (b *Borrowed) Machine() string { return b.o.Machine }

// call has a request served.
func (b *Borrowed) call(ctx context.Context, r request) ([]byte, error) {
	r.ID = b.o.ID
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(body) > maxRequest {
		return nil, &term.Error{
			Op: string(term.VerbFileRead), Session: b.o.Session, Kind: term.InvalidArgument,
			Msg: fmt.Sprintf("a path of %d bytes is too long for a copy between two nodes", len(r.Path)),
		}
	}
	text, err := b.send(ctx, body)
	if err != nil {
		return nil, b.failed(err)
	}
	b.lost.Store(false)
	return text, nil
}

// send is Call. A node that answers as many calls as it may has done nothing, and has room when one of them is over, which
// may be of another copy: send waits for that.
func (b *Borrowed) send(ctx context.Context, body []byte) ([]byte, error) {
	patience := time.NewTimer(roomTime)
	defer patience.Stop()
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		text, err := b.o.Call(ctx, body)
		e, ok := errors.AsType[*term.Error](err)
		if !ok || e.Kind != term.LimitExceeded || term.FactOf[term.LimitReached](err) != (term.LimitReached{}) { // one of copies
			return text, err
		}
		again := time.NewTimer(wait/2 + rand.N(wait/2)) // the requests of many copies are refused at the same moment
		select {
		case <-again.C:
			continue
		case <-patience.C:
		case <-ctx.Done():
		}
		again.Stop()
		return nil, err
	}
}

// ask is call for an answer in JSON.
func (b *Borrowed) ask(ctx context.Context, r request) (answer, error) {
	text, err := b.call(ctx, r)
	if err != nil {
		return answer{}, err
	}
	return decode(b.o.Node, b.o.Session, text)
}

// failed names the session in an error about its files. A lost node does no harm but to the copy, which has only read.
func (b *Borrowed) failed(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		e = &term.Error{Kind: term.IOError, Msg: "the files of another node cannot be read", Err: err}
	}
	named := *e
	named.Op, named.Session = string(term.VerbFileRead), b.o.Session
	if named.Kind == term.NodeUnreachable || named.Kind == term.NodeSilent {
		b.lost.Store(true)
		named.Kind, named.Reason, named.Advice, named.Err = term.NodeUnreachable, term.ReasonNodeUnreachable, "", err
		named.Facts = term.Facts{term.UnreachedNode{Node: b.o.Node}}
		named.Msg = "node " + b.o.Node + ", from which the copy reads, gives no answer any more; " +
			"a file that was under way has replaced nothing"
	}
	return &named
}

// tell reports an end to the other node, even if ctx has ended.
func (b *Borrowed) tell(ctx context.Context, r request) {
	if !b.lost.Load() {
		b.try(ctx, r)
	}
}

// try sends a request, and ignores the answer.
func (b *Borrowed) try(ctx context.Context, r request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer cancel()
	_, _ = b.ask(ctx, r)
}

// Permit implements session.CopySource.
func (b *Borrowed) Permit(
	ctx context.Context, path, what string, of session.CopyPart,
) (done func(bytes int64, note string, err error), err error) {
	a, err := b.ask(ctx, request{Do: doPermit, Path: []byte(path), What: what, Copy: of.Copy, Exec: of.Exec})
	if err != nil {
		return nil, err
	}
	return func(bytes int64, note string, err error) {
		b.tell(ctx, request{Do: doDone, Number: a.Number, Bytes: bytes, Note: note, Failure: failureOf(err)})
	}, nil
}

// Open implements session.CopySource.
func (b *Borrowed) Open(ctx context.Context) (term.CopyFiles, error) {
	if _, err := b.ask(ctx, request{Do: doOpen}); err != nil {
		return nil, err
	}
	b.alive.Go(func() { b.beat(context.WithoutCancel(ctx)) })
	return &files{b: b}, nil
}

// beat reports that the copy goes on, even while it reads no source, for example when it reads the target back. It does
// so after a request has failed, too: a connection that was away for a moment must not end the loan.
func (b *Borrowed) beat(ctx context.Context) {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.try(ctx, request{Do: doAlive})
		case <-b.over:
			return
		}
	}
}

// Close implements session.CopySource.
func (b *Borrowed) Close() {
	close(b.over)
	b.alive.Wait()
	b.tell(context.Background(), request{Do: doEnd})
}

// files are the borrowed files, for the copy.
type files struct {
	term.CopyFiles // nil: no file is written, and files are read as a whole
	b              *Borrowed
}

// Requests implements term.CopyFiles.
func (f *files) Requests() (size, number int) { return maxRead, maxReads }

// one returns the entry of an answer.
func (f *files) one(a answer) (term.FileEntry, error) {
	if len(a.Entries) != 1 {
		return term.FileEntry{}, garbled(f.b.o.Node, fmt.Sprintf("%d entries in place of one", len(a.Entries)))
	}
	e, err := a.Entries[0].file()
	if err != nil {
		return term.FileEntry{}, garbled(f.b.o.Node, "an entry that cannot be: "+err.Error())
	}
	return e, nil
}

// Look implements term.CopyFiles.
func (f *files) Look(ctx context.Context, path string) (term.FileEntry, error) {
	a, err := f.b.ask(ctx, request{Do: doLook, Path: []byte(path)})
	if err != nil {
		return term.FileEntry{}, err
	}
	return f.one(a)
}

// Entries implements term.CopyFiles.
func (f *files) Entries(ctx context.Context, path string, most int) ([]term.FileEntry, error) {
	a, err := f.b.ask(ctx, request{Do: doEntries, Path: []byte(path), Most: most})
	if err != nil {
		return nil, err
	}
	if len(a.Entries) > most {
		return nil, garbled(f.b.o.Node, "more entries than were asked for")
	}
	entries := make([]term.FileEntry, len(a.Entries))
	for i, e := range a.Entries {
		if entries[i], err = e.file(); err != nil {
			return nil, garbled(f.b.o.Node, "an entry that cannot be: "+err.Error())
		}
	}
	return entries, nil
}

// Source implements term.CopyFiles.
func (f *files) Source(ctx context.Context, path string, follow bool) (term.FileSource, error) {
	a, err := f.b.ask(ctx, request{Do: doSource, Path: []byte(path), Follow: follow})
	if err != nil {
		return nil, err
	}
	e, err := f.one(a)
	if err != nil {
		return nil, err
	}
	return &source{f.b, ctx, a.Number, e}, nil
}

// A source is an open file.
type source struct {
	b      *Borrowed
	ctx    context.Context // of the copy
	number int
	entry  term.FileEntry
}

// Entry implements term.FileSource.
func (s *source) Entry() term.FileEntry { return s.entry }

// ReadAt implements io.ReaderAt. Requests for several blocks may be under way.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	data, err := s.b.call(s.ctx, request{Do: doRead, Number: s.number, At: off, Most: len(p)})
	switch {
	case err != nil:
		return 0, err
	case len(data) > len(p):
		return 0, garbled(s.b.o.Node, "more bytes than were asked for")
	}
	if n := copy(p, data); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}

// Close implements io.Closer.
func (s *source) Close() error {
	s.b.tell(s.ctx, request{Do: doClose, Number: s.number})
	return nil
}
