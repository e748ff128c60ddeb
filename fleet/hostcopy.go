package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"ptyctl/internal/lazyregexp"
	"ptyctl/session/filecopy"
	"ptyctl/session/transfer"
	"ptyctl/term"
)

// The codes of hosts without their file, besides those of commands.
const (
	codeExists = "exists"         // a collected file would replace another
	codeLimit  = "limit_exceeded" // it is too large, or all are together
)

// errTooMuch ends the copy that makes the files that are collected exceed the limit together.
var errTooMuch = errors.New("the files of all hosts are too large together")

// copyFile copies the file of this host over the connection.
func (h *host) copyFile(ctx context.Context, conn term.Transport, out io.Writer) Result {
	sub, ok := conn.(term.Subsystemer)
	if !ok {
		return h.lost(ctx, term.Errorf(term.Unsupported, "the connection carries no files"), true)
	}
	cancelable, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limited, stop := context.WithTimeout(cancelable, h.run.r.Timeout)
	defer stop()
	at := &carrier{sub: sub}
	defer at.running.Wait()
	shared, c := h.run.copying, h.run.r.Copy
	far := transfer.CopyEnd{Files: transfer.NewFar(h.id, at, h.connectFiles).Files(h.auth, nil)}
	r := transfer.CopyRequest{
		Verify: c.Verify, MaxBytes: shared.limit, ID: shared.id,
		Progress: func(moved, _ int64) {
			if c.Collect && !shared.moved.holds(h, moved, shared.limit) {
				cancel(errTooMuch)
			}
		},
	}
	if c.Collect {
		far.Path = c.From.Path
		to := c.here(h.Label)
		here := folderOf{h.run.f.c.Here.(term.CopyFiles), filepath.Dir(to), shared.links[FolderName(h.Label)]}
		r.From, r.To, r.New = far, transfer.CopyEnd{Files: h.run.local(here), Path: to}, !c.Overwrite
		r.Compare = func(ctx context.Context, path string) bool {
			_, err := shared.here.Judge(ctx, term.Action{Verb: term.VerbFileRead, Path: path})
			return err == nil
		}
	} else {
		far.Path = c.To
		r.From, r.To = transfer.CopyEnd{Files: unrecorded(shared.file.Files()), Path: c.From.Path}, far
		r.Compare = func(ctx context.Context, path string) bool {
			_, err := h.auth.Judge(ctx, term.Action{Verb: term.VerbFileRead, Path: path})
			return err == nil
		}
	}
	done, err := transfer.Copy(limited, r)
	if err == nil {
		return copied(done, out)
	}
	shared.moved.holds(h, 0, shared.limit) // it leaves nothing here
	return h.notCopied(ctx, limited, at, done, err)
}

// copied is the result of a host that has the file.
func copied(done filecopy.Result, out io.Writer) Result {
	c := Copied{
		Bytes: done.Size, SHA256: done.SHA256, Unchanged: done.Unchanged, Verified: done.Verified, Changed: done.Changed,
	}
	word, note := "written", ""
	if c.Unchanged {
		word = "unchanged"
	} else if !c.Verified {
		note = ", not verified"
	}
	if c.Changed {
		note += ", changed while it was copied"
	}
	_, _ = fmt.Fprintf(out, "%s %d bytes, sha256 %s%s\n", word, c.Bytes, c.SHA256, note)
	return Result{State: Exited, Exit: term.Exit{Started: true, Known: true}, Reached: true, Copied: c}
}

// notCopied is the result of a host that has not got the file.
func (h *host) notCopied(ctx, limited context.Context, at *carrier, done filecopy.Result, err error) Result {
	res := Result{State: Lost, Err: err, Reached: true, Exit: term.Exit{Started: at.used.Load()}}
	kept := "; nothing was replaced"
	if done.Unsure {
		kept = "; it may have been replaced"
	}
	switch {
	case errors.Is(context.Cause(limited), errTooMuch):
		res.Code = codeLimit
		res.Reason = fmt.Sprintf("the files of all hosts have more than %d bytes together; collect from these hosts by themselves",
			h.run.copying.limit)
	case limited.Err() != nil && ctx.Err() == nil:
		res.Code, res.Reason = codeTimeout, "not copied within "+h.run.r.Timeout.String()+kept
	case errors.Is(context.Cause(ctx), errCanceled):
		res.Code, res.Reason = codeCanceled, strings.TrimPrefix(kept, "; ")
	case ctx.Err() != nil:
		res.Code, res.Reason = codeCanceled, stopReason(ctx)+kept
	case at.used.Load() && errors.Is(err, term.RemoteClosed):
		res.Code, res.Reason = codeLost, "the connection broke midway"+kept
	case isReason(err, term.ReasonExists):
		res.Code, res.Reason = codeExists, "a file is there already, with other content, and was not replaced"
	case errors.Is(err, term.LimitExceeded):
		res.Code, res.Reason = codeLimit, fmt.Sprintf("the file has more than %d bytes", h.run.copying.limit)
	case term.FactOf[term.ArgumentFault](err).Field == term.FieldCopyFrom:
		res.Code, res.Reason = codeOf(err), "it is a folder there, and only files are collected; pack it into one file first"
	default:
		res.Code, res.Reason = codeOf(err), reasonOf(shortPaths(err))
	}
	return res
}

// maxPath is the longest path in a reason, which the caller knows and which leaves room for the cause, in bytes.
const maxPath = 60

// quoted is a path in a message.
var quoted = lazyregexp.New(`"(?:[^"\\]|\\.)*"`)

// shortPaths returns the error with the ends of long paths in its message.
func shortPaths(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	short := *e
	short.Msg = quoted.ReplaceAllStringFunc(e.Msg, func(name string) string {
		plain, err := strconv.Unquote(name)
		if err != nil || len(name) <= maxPath {
			return name
		}
		end := plain[max(len(plain)-maxPath, 0):]
		return strconv.Quote("..." + strings.ToValidUTF8(end, ""))
	})
	return &short
}

// isReason reports whether an error has the reason.
func isReason(err error, reason term.Reason) bool {
	e, ok := errors.AsType[*term.Error](err)
	return ok && e.Reason == reason
}

// connectFiles opens the files of the host, with this host's share of the memory for blocks.
func (h *host) connectFiles(ctx context.Context, channel io.ReadWriteCloser) (term.Files, error) {
	files, err := h.run.f.c.FarFiles(ctx, channel)
	if err != nil {
		return nil, err
	}
	if all, ok := files.(term.CopyFiles); ok {
		return thrifty{all, copyWindow / min(h.run.r.Rules.MaxParallel, len(h.run.hosts))}, nil
	}
	return files, nil
}

// A thrifty end of a copy has no more blocks under way than fit into its window.
type thrifty struct {
	term.CopyFiles
	window int
}

// leastBlock is the size of the smallest block.
const leastBlock = 32 << 10

// Requests implements term.CopyFiles.
func (t thrifty) Requests() (size, number int) {
	size, number = t.CopyFiles.Requests()
	size = min(size, max(t.window/2, leastBlock))
	return size, min(number, max(t.window/size-1, 1)) // one more is read or written at the other end
}

// A folderOf makes the folder of a collected file when the file begins. The file comes to its very path: not into a
// folder of its name, and not to where a symbolic link leads.
type folderOf struct {
	term.CopyFiles
	folder string
	link   bool // the folder is a symbolic link
}

// The errors of a place where no file is collected.
var (
	errLink = &term.Error{
		Op: string(term.VerbFileWrite), Kind: term.Unsupported, Msg: "the folder here for the host is a symbolic link, which is not followed; remove it",
	}
	errFolder = &term.Error{
		Op: string(term.VerbFileWrite), Kind: term.Unsupported, Msg: "a folder here has the name of the file, and is not replaced; collect to another one",
	}
)

// Look implements term.CopyFiles. It hides a folder in place of the file, into which a copy would go.
func (f folderOf) Look(ctx context.Context, path string) (term.FileEntry, error) {
	e, err := f.CopyFiles.Look(ctx, path)
	if err == nil && e.Mode.IsDir() {
		return term.FileEntry{}, errFolder
	}
	return e, err
}

// Source implements term.CopyFiles.
func (f folderOf) Source(ctx context.Context, path string, _ bool) (term.FileSource, error) {
	if f.link {
		return nil, errLink
	}
	return f.CopyFiles.Source(ctx, path, false)
}

// Target implements term.CopyFiles.
func (f folderOf) Target(ctx context.Context, t term.FileTarget) (term.FileSink, error) {
	if f.link {
		return nil, errLink
	}
	if _, err := f.Look(ctx, t.Path); errors.Is(err, errFolder) {
		return nil, err
	}
	if _, err := f.MakeFolder(ctx, f.folder, folderMode); err != nil {
		return nil, err
	}
	t.Follow = false
	return f.CopyFiles.Target(ctx, t)
}

// A carrier is the connection of a host as package transfer sees it.
type carrier struct {
	sub     term.Subsystemer
	used    atomic.Bool // a channel for files was opened
	running sync.WaitGroup
}

// The connection has no life of its own: a copy ends with the context of its call.
func (c *carrier) Context() context.Context       { return context.Background() }
func (c *carrier) Alive(string) error             { return nil }
func (c *carrier) Ended(string) error             { return nil }
func (c *carrier) Failed(_ string, e error) error { return e }
func (c *carrier) Busy() (done func())            { return func() {} }
func (c *carrier) Carries() bool                  { return true }

func (c *carrier) Spawn(_ string, f func()) bool {
	c.running.Go(f)
	return true
}

// Channel implements transfer.Carrier.
func (c *carrier) Channel(ctx context.Context) (io.ReadWriteCloser, error) {
	channel, err := c.sub.Subsystem(ctx, "sftp")
	if err == nil {
		c.used.Store(true)
	}
	return channel, err
}

// A counter adds up the bytes that hosts have moved. A host that finds no room gives its share back, so that the others
// may end.
type counter struct {
	mu    sync.Mutex // guards the following
	all   int64
	hosts map[*host]int64 // noRoom: of a host that counts no more
}

const noRoom = -1

// holds notes how many bytes a host has moved so far, and reports whether all together are at most limit.
func (c *counter) holds(h *host, moved, limit int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil {
		c.hosts = make(map[*host]int64)
	}
	had := c.hosts[h]
	if had == noRoom {
		return false
	}
	if c.all += moved - had; c.all > limit {
		c.all -= moved
		c.hosts[h] = noRoom
		return false
	}
	c.hosts[h] = moved
	return true
}
