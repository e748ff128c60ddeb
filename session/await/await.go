package await

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"ptyctl/session"
	"ptyctl/term"
)

// An Entry is one thing to wait for: output, or the end of a command.
type Entry struct {
	Session *session.Session
	Exec    string // the id of a command of the session; empty: its terminal

	// Read says which output of the terminal, or of the command's stdout, to wait for. Its Timeout and NoWait have no
	// effect. For an Entry that Ends, only its Cursor has an effect: session.Latest is behind the output that the
	// caller has had.
	Read session.ReadRequest

	Ends bool // wait for the end of the command Exec, not for output
	Asks bool // with Ends: a question of the command is enough

	// Over, if not nil, is waited for in place of a session: the entry is met when it is closed. No other field has an
	// effect then.
	Over <-chan struct{}

	Opens bool // wait until the session is open, has ended or asks a question of its login, and for nothing else
}

// A Result is the outcome of an entry.
type Result struct {
	Met   bool
	Chunk session.Chunk // the output that was waited for; empty for an Entry that Ends

	// Next is the cursor for the next wait: behind the output that met this one, or where this one began. Of an Entry
	// that Ends it is where this one began, met or not: session.Session.ContinueExec has the output from there on.
	Next int64
}

// An EntryError says which entry an error is about.
type EntryError struct {
	Index int
	Err   error
}

// Error implements error.
func (e *EntryError) Error() string { return fmt.Sprintf("entry %d: %v", e.Index, e.Err) }

// Unwrap returns the error without the entry.
func (e *EntryError) Unwrap() error { return e.Err }

// Any waits until at least one entry is met or ctx ends, and returns a result for each. The results show all entries
// that are met by then. An error is an *EntryError.
func Any(ctx context.Context, entries []Entry) ([]Result, error) { return wait(ctx, entries, true) }

// All waits until every entry is met, or ctx ends, and returns a result for each.
func All(ctx context.Context, entries []Entry) ([]Result, error) { return wait(ctx, entries, false) }

func wait(ctx context.Context, list []Entry, first bool) ([]Result, error) {
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	entries := make([]entry, len(list))
	results, errs := make([]Result, len(list)), make([]error, len(list))
	for i, e := range list { // before the first of them waits: each begins at the time of the call
		entries[i], errs[i] = begin(ctx, e)
		if errs[i] != nil {
			return nil, &EntryError{i, errs[i]}
		}
	}
	var group sync.WaitGroup
	var fault atomic.Pointer[string]
	for i, e := range entries {
		if ctx.Err() != nil { // there is no time to wait
			break
		}
		group.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					fault.Store(new(fmt.Sprintf("%v\n%s", p, debug.Stack())))
					enough()
				}
			}()
			results[i], errs[i] = e.try(waiting, false)
			if errs[i] != nil || first && results[i].Met {
				enough()
			}
		})
	}
	group.Wait()
	if text := fault.Load(); text != nil { // it is the caller's to contain, as that of a read would be
		panic(*text)
	}
	met := false
	for i, e := range entries {
		// It was still waiting when another ended the call, and may be met by now.
		if !results[i].Met && errs[i] == nil {
			results[i], errs[i] = e.try(waiting, true)
		}
		met = met || results[i].Met
	}
	for i, err := range errs {
		// That too many reads wait does not matter where nothing has to be waited for.
		if err != nil && !(first && met && errors.Is(err, term.LimitExceeded)) {
			return nil, &EntryError{i, err}
		}
	}
	return results, nil
}

// An entry is one that is waited for, from a fixed cursor on.
type entry struct {
	Entry
	from int64
}

// begin fixes where the wait for e begins.
func begin(ctx context.Context, e Entry) (entry, error) {
	at := entry{e, e.Read.Cursor}
	switch {
	case e.Over != nil:
		at.from = 0
	case e.Exec != "":
		c, err := e.Session.ReadExec(ctx, e.Exec, "stdout", session.ReadRequest{Cursor: session.Latest, NoWait: true})
		if err == nil && at.from < 0 && e.Ends {
			at.from, err = e.Session.ServerView().Delivered(ctx, e.Exec)
		}
		if err != nil {
			return at, err
		}
		if at.from < 0 || at.from > c.Next {
			at.from = c.Next
		}
		at.Read.Cursor = at.from
	default:
		if end := e.Session.End(); at.from < 0 || at.from > end {
			at.from = end
		}
		if !e.Read.Prompt { // from now on, a prompt that is there counts
			at.Read.Cursor = at.from
		}
	}
	return at, nil
}

// over waits until done is closed or ctx ends, or only looks, and reports whether it is closed.
func over(ctx context.Context, done <-chan struct{}, look bool) bool {
	select {
	case <-done:
		return true
	default:
	}
	if look {
		return false
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// try waits until e is met or ctx ends, or only looks whether it is met.
func (e entry) try(ctx context.Context, look bool) (r Result, err error) {
	read := e.Read
	read.Timeout, read.NoWait = 0, look
	r.Next = e.from
	if e.Over != nil {
		r.Met = over(ctx, e.Over, look)
		return r, nil
	}
	switch {
	case e.Opens:
		r.Met, err = e.Session.ServerView().AwaitOpen(ctx)
		return r, err
	case e.Ends:
		r.Met, err = e.Session.ServerView().AwaitExec(ctx, e.Exec, e.Asks)
		return r, err
	case e.Exec != "":
		r.Chunk, err = e.Session.ReadExec(ctx, e.Exec, "stdout", read)
		r.Met = r.Chunk.Reason.Met() && err == nil
	default:
		r.Chunk, r.Met = e.Session.ServerView().AwaitRead(ctx, read)
	}
	switch {
	case r.Met:
		r.Next = r.Chunk.Next
	case r.Chunk.Reason == session.ReasonLimit:
		err = e.Session.TooManyReads()
	}
	if !r.Met {
		r.Chunk = session.Chunk{}
	}
	return r, err
}
