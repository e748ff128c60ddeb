package fsx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"

	"ptyctl/term"
)

// SFTP gives access to the files of an SFTP server (draft-ietf-secsh-filexfer-02,
// with OpenSSH's extensions if the server has them). A relative path starts in the
// server's first folder, in most cases the account's home. Create it with NewSFTP.
//
// Only one action runs at a time, because servers work that way, too. An action
// that does not end soon after its context is ended by closing the channel. Then
// SFTP is unusable, and Lost reports it.
type SFTP struct {
	limits  Limits
	channel io.Closer
	c       *sftp.Client
	payload int           // largest payload of one read or write
	turn    chan struct{} // a semaphore: its holder may send requests

	// The sizes of pieces go on from action to action: the server and the way to it are the same. Its users have the turn.
	reading, writing pace

	inbound *counter // of the bytes that the library reads
	reads   *reads
	lost    chan struct{}
	running sync.WaitGroup
}

var _ term.Files = (*SFTP)(nil)

// grace is the time for an action to end and clean up after its context has ended.
const grace = 2 * time.Second

// NewSFTP starts the protocol on the channel, limited by ctx. It owns the channel,
// also after an error. Closing the channel must wake its Read and its Write.
func NewSFTP(ctx context.Context, channel io.ReadWriteCloser, limits Limits) (*SFTP, error) {
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })()
	in := new(counter)
	var r *reads
	var c *sftp.Client
	g, err := exchangeVersions(channel)
	if err == nil {
		r = newReads(g.in, g.out)
		in.r = r
		// Concurrent writes leave holes after an error, so they are used for
		// temporary files only.
		c, err = sftp.NewClientPipe(in, writeCloser{r, channel}, sftp.UseConcurrentWrites(true),
			sftp.MaxPacketUnchecked(g.payload), sftp.MaxConcurrentRequestsPerFile(max(underWay/g.payload, 1)))
	}
	if err != nil {
		_ = channel.Close()
		if ctx.Err() != nil {
			return nil, fault("files", "", ctx.Err())
		}
		return nil, &term.Error{
			Op: "files", Kind: term.Unsupported, Err: err,
			Msg: fmt.Sprintf(
				"the peer is not an SFTP server (%.200q); "+
					"if its shell prints text at every login, remove that text",
				err.Error(),
			),
		}
	}
	s := &SFTP{
		limits:  limits.withDefaults(),
		channel: channel,
		c:       c,
		payload: g.payload,
		reading: pace{unit: int64(g.payload)},
		writing: pace{unit: int64(g.payload)},
		turn:    make(chan struct{}, 1),
		inbound: in,
		reads:   r,
		lost:    make(chan struct{}),
	}
	// A lost connection must be visible even without an action.
	s.running.Go(func() { // ends with the channel
		_ = c.Wait() // the library receives no more
		r.end()
		close(s.lost)
	})
	return s, nil
}

// underWay is the most bytes requested or sent before the first answer.
const underWay = 4 << 20

// A writeCloser joins a writer and the channel that it belongs to.
type writeCloser struct {
	io.Writer
	io.Closer
}

// A counter counts the bytes read, and reports when a limit is exceeded.
type counter struct {
	r    io.Reader
	left atomic.Int64
	over atomic.Pointer[func()] // called when left is used up; nil without a limit
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if over := c.over.Load(); over != nil && c.left.Add(-int64(n)) < 0 {
		(*over)()
	}
	return n, err
}

// Lost implements term.Files.
func (s *SFTP) Lost() <-chan struct{} { return s.lost }

// Close implements term.Files.
func (s *SFTP) Close() error {
	err := s.channel.Close() // first, because a blocked write would block the library's Close
	_ = s.c.Close()
	s.running.Wait()
	return err
}

// do runs one action. When ctx ends, f must notice it between two requests; if a
// request is blocked, the channel is closed after the grace.
func (s *SFTP) do(ctx context.Context, op, name string, f func() error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fault(op, name, ctx.Err())
	}
	// The library has no contexts for most requests; closing the channel wakes them
	// all.
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer watcher.Done()
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			_ = s.channel.Close()
		}
	})
	err := s.guarded(name, f)
	close(done)
	if stop() {
		watcher.Done()
	}
	watcher.Wait()
	if err == nil {
		return nil
	}
	return s.fault(ctx, op, name, err)
}

// guarded converts a panic to an error. The client library (v1.13.12) accepts a
// plain success in place of the handle or attributes that it has asked for, and
// then panics.
func (s *SFTP) guarded(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			_ = s.channel.Close()
			err = &term.Error{
				Kind: term.IOError, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
				Msg: "invalid answer of the server about " + quote(name) + "; the connection for files was closed",
			}
		}
	}()
	return f()
}

// fault converts an error of the server or of the connection to one for the caller.
func (s *SFTP) fault(ctx context.Context, op, name string, err error) error {
	var own *term.Error
	var status *sftp.StatusError
	switch {
	case errors.As(err, &own):
		return err
	case ctx.Err() != nil:
		return fault(op, name, ctx.Err())
	// The protocol has few codes, so most refusals have the same one and a text.
	case errors.As(err, &status):
		e := &term.Error{Op: op, Kind: term.IOError, Err: term.ForeignError(err)}
		if status.FxCode() == sftp.ErrSSHFxOpUnsupported {
			e.Kind = term.Unsupported
		}
		e.Msg = fmt.Sprintf(
			"%s: the server refused with only \"%s\"; its disk or quota may be full, or the file in use",
			quote(name),
			term.ForeignLine(err.Error(), 200),
		)
		return e
	case errors.Is(err, fs.ErrNotExist) && fromHome(name):
		return &term.Error{
			Op: op, Kind: term.NotFound, Err: err,
			Msg: quote(name) + ": no such file, as ~ is not expanded; give a path relative to the login directory: " +
				quote(path.Clean(strings.TrimPrefix(name[1:], "/"))),
		}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return fault(op, name, err)
	default:
		_ = s.channel.Close() // also after an invalid answer
		return &term.Error{
			Op:   op,
			Kind: term.RemoteClosed,
			Err:  err,
			Msg:  "the connection for files was lost during the transfer of " + quote(name) + "; try again",
		}
	}
}

// Read implements term.Files. It reads at most the limit, from r.Offset on.
func (s *SFTP) Read(ctx context.Context, r term.FileRead) (d term.FileData, err error) {
	most, err := s.limits.read(r)
	if err == nil {
		err = checkPath(opRead, r.Path)
	}
	if err != nil {
		return d, err
	}
	err = s.do(ctx, opRead, r.Path, func() error {
		f, info, err := s.open(opRead, r.Path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		d = term.FileData{Size: sizeOf(info), Mode: info.Mode(), Modified: info.ModTime()}
		source := blocks{s, remoteFile{f, s.reads.opened()}}
		if d.Data, err = readAt(ctx, &s.reading, source, r, most, d.Size); err != nil {
			return err
		}
		d.Next = r.Offset + int64(len(d.Data))
		// A server may send less than requested, which looks like the end of the
		// file.
		d.Truncated = len(d.Data) > 0 && (d.Next < d.Size || int64(len(d.Data)) == most && more(f, d.Next))
		return nil
	})
	if err != nil {
		return term.FileData{}, err
	}
	return d, nil
}

// open opens a regular file for reading. The server would block on a FIFO, and so
// would every other action on this channel; therefore the file's type is asked
// first. A file replaced in between blocks until the end of the call's time.
func (s *SFTP) open(op, name string) (*sftp.File, fs.FileInfo, error) {
	info, err := s.c.Stat(name)
	if err == nil {
		err = regular(op, name, info.Mode())
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := s.c.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return f, info, nil
}

// Stat implements term.Files. It does not follow a symbolic link in the last
// component.
func (s *SFTP) Stat(ctx context.Context, name string) (e term.FileEntry, err error) {
	if err := checkPath(opRead, name); err != nil {
		return e, err
	}
	err = s.do(ctx, opRead, name, func() error {
		info, err := s.c.Lstat(name)
		if err != nil {
			return err
		}
		e = remoteEntry(path.Base(name), info)
		if info.Mode().Type() == fs.ModeSymlink {
			e.Target, err = s.c.ReadLink(name)
		}
		return err
	})
	return e, err
}

// maxListing is the most bytes that a server may send about one folder, because the
// protocol has no pages. In memory they take about 14 times as much for entries
// with short names, which a hostile server would send. An OpenSSH entry with a name
// of 27 bytes takes 150 bytes, so some 55,000 of them fit.
const maxListing = 8 << 20

// List implements term.Files. Each page of a folder transfers the whole folder.
func (s *SFTP) List(ctx context.Context, r term.FileList) (out term.FileListing, err error) {
	if err := checkPath(opRead, r.Path); err != nil {
		return out, err
	}
	err = s.do(ctx, opRead, r.Path, func() error {
		infos, err := s.readDir(ctx, r.Path)
		if err != nil {
			return err
		}
		// A server may repeat names, or send names that are paths: neither is listed.
		page := newPage(r.After, s.limits.list(r.Limit))
		byName := make(map[string]fs.FileInfo, len(infos))
		for _, i := range infos {
			if _, again := byName[i.Name()]; !again && inFolder(i.Name()) {
				page.add(i.Name())
				byName[i.Name()] = i
			}
		}
		var names []string
		names, out.Last, out.More = page.names()
		for _, name := range names {
			out.Entries = append(out.Entries, remoteEntry(name, byName[name]))
		}
		return nil
	})
	return out, err
}

// readDir returns all entries of a folder, up to maxListing bytes.
func (s *SFTP) readDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	info, err := s.c.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, invalid(opRead, "%s is not a folder; use read or stat", quote(name))
	}
	// The library reads the whole folder into memory, so the input is limited
	// instead.
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	over := func() { cancel() }
	s.inbound.left.Store(maxListing)
	s.inbound.over.Store(&over)
	defer s.inbound.over.Store(nil)
	infos, err := s.c.ReadDirContext(bounded, name)
	// Also without an error: the library may have read the end before it saw that it was canceled.
	if ctx.Err() == nil && bounded.Err() != nil {
		return nil, &term.Error{
			Op:   opRead,
			Kind: term.LimitExceeded,
			Msg: fmt.Sprintf(
				"the list of %s is longer than %d MiB, the limit for one folder; list it with a command there",
				quote(name),
				maxListing>>20,
			),
		}
	}
	return infos, err
}
