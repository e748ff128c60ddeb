package lending

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"ptyctl/session"
	"ptyctl/term"
)

// do serves a request that is not a read.
func (l *Lent) do(ctx context.Context, r request) (a answer, err error) {
	switch path := string(r.Path); r.Do {
	case doPermit:
		a.Number, err = l.permit(ctx, path, r)
	case doDone:
		err = l.done(r)
	case doOpen:
		err = l.connect()
	case doLook, doEntries, doSource:
		var files term.CopyFiles
		if files, err = l.permitted(path); err != nil {
			return answer{}, err
		}
		switch r.Do {
		case doLook:
			return l.look(ctx, files, path)
		case doEntries:
			return l.entries(ctx, files, path, r.Most)
		}
		return l.source(files, path, r.Follow)
	case doClose:
		err = l.close(r.Number)
	case doAlive:
	default:
		err = term.Errorf(term.Unsupported, "a request to %.40q files that were lent", r.Do)
	}
	return a, err
}

// with returns the context of a request: in the name of the client, until the request is given up or
// the lending ends.
func (l *Lent) with(ctx context.Context) (context.Context, func()) {
	both, cancel := context.WithCancelCause(l.ctx)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return both, func() {
		stop()
		cancel(nil)
	}
}

// covers reports whether a path was lent: that of the terms, or in a tree one below it that a list of its folder had as a
// file or a folder. So no path leads through a link out of the tree.
func (l *Lent) covers(path string) bool {
	if path == l.terms.Path {
		return true
	}
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(l.terms.Path, "/")+"/")
	if !ok || !l.terms.Tree {
		return false
	}
	for name := range strings.FieldsFuncSeq(below, func(r rune) bool { return r == '/' || r == '\\' }) { // as Windows has it
		if name == ".." {
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok = l.seen[sha256.Sum256([]byte(path))]
	return ok
}

// permit asks whether a file may be read.
func (l *Lent) permit(ctx context.Context, path string, r request) (number int, err error) {
	if !l.covers(path) {
		return 0, &term.Error{
			Op: string(term.VerbFileRead), Kind: term.PolicyDenied,
			Msg: fmt.Sprintf("%.300q is no part of the copy for which the files were lent", path),
		}
	}
	ctx, end := l.with(ctx)
	defer end()
	done, err := l.src.Permit(ctx, path, short(r.What), session.CopyPart{Copy: short(r.Copy), Exec: short(r.Exec)})
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	full := len(l.permits) >= maxOpen
	if !full {
		l.number++
		number = l.number
		l.permits[number] = permit{path, done}
	}
	l.mu.Unlock()
	if full {
		done(0, "", errFull)
		return 0, errFull
	}
	return number, nil
}

// errFull refuses more open files and permissions than a copy has.
var errFull = term.Errorf(term.LimitExceeded, "a copy reads at most %d files at a time", maxOpen)

// short cuts a text of the other node's that goes into the record.
func short(text string) string { return text[:min(len(text), 256)] }

// done records the outcome for a file.
func (l *Lent) done(r request) error {
	l.mu.Lock()
	p, ok := l.permits[r.Number]
	delete(l.permits, r.Number)
	l.mu.Unlock()
	if !ok {
		return unknown(r)
	}
	var err error
	if r.Failure != nil {
		err = r.Failure.err(l.terms.To, "")
	}
	p.done(max(r.Bytes, 0), short(r.Note), err)
	return nil
}

// unknown is the error for a number that was not given.
func unknown(r request) error {
	return term.Errorf(term.InvalidArgument, "a request to %.40q the number %d, which was not given", r.Do, r.Number)
}

// connect opens the connection.
func (l *Lent) connect() error {
	l.opening.Lock()
	defer l.opening.Unlock()
	l.mu.Lock()
	again, ended := l.files != nil, l.ended
	l.mu.Unlock()
	if again || ended {
		return errOver
	}
	files, err := l.src.Open(l.ctx) // it outlives the request
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = files
	return nil
}

// permitted returns the files if a path may be read just now.
func (l *Lent) permitted(path string) (term.CopyFiles, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.permits {
		if p.path == path && l.files != nil {
			return l.files, nil
		}
	}
	return nil, &term.Error{
		Op: string(term.VerbFileRead), Kind: term.PolicyDenied, Msg: fmt.Sprintf("the copy has not asked whether it may read %.300q", path),
	}
}

func (l *Lent) look(ctx context.Context, files term.CopyFiles, path string) (a answer, err error) {
	ctx, end := l.with(ctx)
	defer end()
	e, err := files.Look(ctx, path)
	return answer{Entries: []entry{entryOf(e)}}, err
}

func (l *Lent) entries(ctx context.Context, files term.CopyFiles, path string, most int) (a answer, err error) {
	ctx, end := l.with(ctx)
	defer end()
	l.mu.Lock()
	left := l.terms.Limits.Files - l.listed
	l.mu.Unlock()
	all, err := files.Entries(ctx, path, max(min(most, left), 0))
	for _, e := range all {
		a.Entries = append(a.Entries, entryOf(e))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed += len(all)
	if l.terms.Tree {
		for _, e := range all {
			if e.Mode.IsDir() || e.Mode.IsRegular() {
				l.seen[sha256.Sum256([]byte(strings.TrimSuffix(path, "/")+"/"+e.Name))] = struct{}{}
			}
		}
	}
	return a, err
}

// source opens a file. A link is followed only if the client has named it, as in any copy.
func (l *Lent) source(files term.CopyFiles, path string, follow bool) (a answer, err error) {
	f, err := files.Source(l.ctx, path, follow && path == l.terms.Path) // it outlives the request
	if err != nil {
		return answer{}, err
	}
	e := f.Entry()
	l.mu.Lock()
	switch most := l.terms.Limits.Bytes; {
	case len(l.open) >= maxOpen:
		err = errFull
	case e.Size > most-l.sizes:
		err = tooMuch(most)
	default:
		l.sizes += max(e.Size, 0)
		l.number++
		l.open[l.number] = f
		a = answer{Number: l.number, Entries: []entry{entryOf(e)}}
	}
	l.mu.Unlock()
	if err != nil {
		_ = f.Close() // the error says more
	}
	return a, err
}

// passes is how often a copy may read the bytes of all lent files: files may grow, and a node may ask for a block
// repeatedly. A copy compares a file with its target, and with the rest of an earlier copy, before it reads it.
const passes = 4

func tooMuch(most int64) error {
	return &term.Error{
		Op: string(term.VerbFileRead), Kind: term.LimitExceeded,
		Msg:    fmt.Sprintf("a copy may read %d bytes at the node of its source, and this one has more", most),
		Facts:  term.Facts{term.LimitReached{Limit: term.LimitCopyBytes, Value: most}},
		Advice: "copy a part of it at a time",
	}
}

// read reads a block of a file.
func (l *Lent) read(ctx context.Context, r request) ([]byte, error) {
	l.mu.Lock()
	f, read := l.open[r.Number], l.bytes
	l.mu.Unlock()
	switch {
	case f == nil:
		return nil, unknown(r)
	case read >= passes*l.terms.Limits.Bytes:
		return nil, tooMuch(l.terms.Limits.Bytes)
	case r.Most <= 0 || r.Most > maxRead || r.At < 0:
		return nil, term.Errorf(term.InvalidArgument, "a request for %d bytes, and at most %d are read at a time", r.Most, maxRead)
	}
	select {
	case l.reads <- struct{}{}:
		defer func() { <-l.reads }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.ctx.Done():
		return nil, errOver
	}
	data := make([]byte, r.Most)
	n, err := f.ReadAt(data, r.At)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += int64(n)
	return data[:n], nil
}

// close closes a file.
func (l *Lent) close(number int) error {
	l.mu.Lock()
	f := l.open[number]
	delete(l.open, number)
	l.mu.Unlock()
	if f == nil {
		return unknown(request{Do: doClose, Number: number})
	}
	return f.Close()
}
