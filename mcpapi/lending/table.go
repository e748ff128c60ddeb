package lending

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

const (
	// Silence is how long the node that copies may be silent before its loan ends.
	Silence = 90 * time.Second

	// unused is how long the node that copies may take to send its first request after the client's call has ended. It
	// sends none if the same copy was made before.
	unused = 10 * time.Second
)

// Files are the files of a session that are lent: a *session.Lending.
type Files interface {
	session.CopySource
	Context() context.Context
	Named(err error) error
}

var _ Files = (*session.Lending)(nil)

// Terms say which files are lent, and to which node.
type Terms struct {
	To     string // the node
	Path   string
	Tree   bool               // also files below Path
	Limits session.CopyLimits // of all that is read; neither is 0
}

// A Table has all that this node has lent, through any of its servers. The zero value is ready for use.
type Table struct {
	mu     sync.Mutex // guards the following
	closed bool
	lent   map[string]*Lent

	ending sync.WaitGroup // has one for each that has not ended
}

// Close ends all loans, and waits until that is on record. A later loan ends at once.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	all := slices.Collect(maps.Values(t.lent))
	t.mu.Unlock()
	for _, l := range all {
		l.end()
	}
	t.ending.Wait()
}

// Lend lends files in the name of the actor of ctx. The loan outlives the end of ctx. The Table closes the files.
func (t *Table) Lend(ctx context.Context, files Files, terms Terms) *Lent {
	l := &Lent{
		id: rand.Text(), terms: terms, table: t, src: files, reads: make(chan struct{}, maxReads),
		permits: make(map[int]permit), open: make(map[int]term.FileSource), seen: make(map[[sha256.Size]byte]struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.mu.Lock()
	l.silent = time.AfterFunc(Silence, l.end)
	l.forget = func() bool { return true }
	late := !t.add(l)
	if !late { // if late, a session that has ended would run l.end beside the call below, and no one would wait for it
		l.forget = context.AfterFunc(files.Context(), l.end)
	}
	l.mu.Unlock()
	if late {
		l.end()
	}
	return l
}

// add reports false after Close.
func (t *Table) add(l *Lent) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.ending.Add(1)
	l.waited = true
	if t.lent == nil {
		t.lent = make(map[string]*Lent)
	}
	t.lent[l.id] = l
	return true
}

// Serve answers a request of a node.
func (t *Table) Serve(ctx context.Context, node string, text []byte) ([]byte, error) {
	var r request
	if len(text) > maxRequest || json.Unmarshal(text, &r) != nil {
		return nil, term.Errorf(term.InvalidArgument, "a request for a file that cannot be read")
	}
	t.mu.Lock()
	l := t.lent[r.ID]
	t.mu.Unlock()
	if l == nil || l.terms.To != node || !l.enter() {
		return nil, errOver
	}
	if r.Do == doEnd {
		l.running.Done()
		l.end()
		return json.Marshal(answer{})
	}
	defer l.running.Done()
	if r.Do == doRead {
		data, err := l.read(ctx, r)
		if err != nil {
			return nil, l.src.Named(err)
		}
		return data, nil
	}
	a, err := l.do(ctx, r)
	if err != nil {
		a = answer{Failure: failureOf(l.src.Named(err))}
	}
	return json.Marshal(a)
}

// errOver is the error for files that are not lent. It differs from the error for a missing file, which a copy of a
// tree skips.
var errOver = &term.Error{
	Op: string(term.VerbFileRead), Kind: term.RemoteClosed,
	Msg: "these files are not lent any more: their session has ended, or the copy was silent for too long",
}

// A Lent is the files that were lent to one copy.
type Lent struct {
	id     string
	terms  Terms
	table  *Table
	src    Files
	ctx    context.Context // of its requests, in the name of the client
	cancel context.CancelFunc
	reads  chan struct{} // has a token for each read

	waited bool // by Table.Close

	opening sync.Mutex // held while the connection is opened and closed

	mu      sync.Mutex // guards the following
	running sync.WaitGroup
	ended   bool
	used    bool // the node has said something
	silent  *time.Timer
	forget  func() bool // stops watching the session
	files   term.CopyFiles
	number  int // the last that was given
	permits map[int]permit
	open    map[int]term.FileSource
	bytes   int64 // that were read
	sizes   int64 // of the files that were opened
	listed  int   // entries

	// seen has the hashes of the paths of files and folders that a list of their folder had. A link is not among them.
	seen map[[sha256.Size]byte]struct{}
}

// A permit is a file that may be read.
type permit struct {
	path string
	done func(bytes int64, note string, err error)
}

// ID is the name by which the node that copies asks for it. No one can guess it.
func (l *Lent) ID() string { return l.id }

// Context ends when the files are lent no more.
func (l *Lent) Context() context.Context { return l.ctx }

// Over records that the client's call has ended. The copy may outlive it. Over returns how many bytes were read so far.
func (l *Lent) Over() (bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.used && !l.ended {
		l.silent.Reset(unused)
	}
	return l.bytes
}

// enter notes that the node has said something. It reports false if that comes too late; else running has one more.
func (l *Lent) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.used = true
	l.silent.Reset(Silence)
	l.running.Add(1)
	return true
}

// end ends the lending, and its requests under way.
func (l *Lent) end() {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return
	}
	l.ended = true
	l.silent.Stop()
	l.forget()
	l.mu.Unlock()
	if l.waited {
		defer l.table.ending.Done()
	}
	l.table.mu.Lock()
	delete(l.table.lent, l.id)
	l.table.mu.Unlock()
	l.cancel()
	l.opening.Lock()
	l.src.Close() // ends the requests under way
	l.opening.Unlock()
	l.running.Wait()
	for _, n := range slices.Sorted(maps.Keys(l.permits)) {
		l.permits[n].done(0, "", l.src.Named(errOver))
	}
	for _, f := range l.open {
		_ = f.Close() // it has ended with its connection
	}
}
