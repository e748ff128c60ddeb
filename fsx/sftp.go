package fsx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/sftp"

	"ptyctl/term"
)

// SFTP is the files that an SFTP server shows (draft-ietf-secsh-filexfer-02, with OpenSSH's extensions where the server has
// them). A relative path begins where the server starts, which is mostly the account's home. Make it with NewSFTP.
//
// One action is under way at a time, because servers work that way, too. One that does not end soon after its context is
// ended by closing the channel: then SFTP is of no further use, and Lost says so.
type SFTP struct {
	limits  Limits
	channel io.Closer
	c       *sftp.Client
	payload int           // of one read or write
	turn    chan struct{} // holds one token: whoever has it may send requests
	inbound *counter
	lost    chan struct{}
	running sync.WaitGroup
}

var _ term.Files = (*SFTP)(nil)

// grace is what an action has to end, and to tidy up, once its context has ended.
const grace = 2 * time.Second

// NewSFTP greets the server at the other end of the channel, as long as ctx allows. It owns the channel, also when it fails.
// Closing the channel must wake its Read and its Write.
func NewSFTP(ctx context.Context, channel io.ReadWriteCloser, limits Limits) (*SFTP, error) {
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })()
	in := new(counter)
	var c *sftp.Client
	g, err := greet(channel)
	if err == nil {
		in.r = g.in
		// Writes that overtake each other leave holes where one fails, so they only go into files that nobody knows yet.
		c, err = sftp.NewClientPipe(in, writeCloser{g.out, channel}, sftp.UseConcurrentWrites(true),
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
				"what answers on the far side is no SFTP server (%.200q); if its shell prints text at every login, that text is in the way",
				err.Error(),
			),
		}
	}
	s := &SFTP{
		limits:  limits.withDefaults(),
		channel: channel,
		c:       c,
		payload: g.payload,
		turn:    make(chan struct{}, 1),
		inbound: in,
		lost:    make(chan struct{}),
	}
	s.running.Go(func() { // ends with the channel
		_ = c.Wait()
		close(s.lost)
	})
	return s, nil
}

// underWay is how many bytes are asked for, or sent, before the first of them is answered.
const underWay = 4 << 20

type writeCloser struct {
	io.Writer
	io.Closer
}

// A counter counts what is read, and tells when it is more than it should be.
type counter struct {
	r    io.Reader
	left atomic.Int64
	over atomic.Pointer[func()] // called once left is used up; nil: nobody counts
}

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
	err := s.channel.Close() // first: a write that is stuck holds the client's own Close up
	_ = s.c.Close()
	s.running.Wait()
	return err
}

// do carries out one action. When ctx ends, f finds out between two requests; if it is stuck in one, the channel is closed.
func (s *SFTP) do(ctx context.Context, op, name string, f func() error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fault(op, name, ctx.Err())
	}
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

// guarded makes an error of a panic. The client library takes an answer that says that all is well for the handle, or the
// attributes, that it has asked for (v1.13.12), and then stumbles over what it has not got.
func (s *SFTP) guarded(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			_ = s.channel.Close()
			err = &term.Error{
				Kind: term.IOError, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
				Msg: "what the server answers about " + quote(name) + " makes no sense; the connection for files was closed",
			}
		}
	}()
	return f()
}

// fault is the error for the caller of what the server, or the way to it, says.
func (s *SFTP) fault(ctx context.Context, op, name string, err error) error {
	var own *term.Error
	var status *sftp.StatusError
	switch {
	case errors.As(err, &own):
		return err
	case ctx.Err() != nil:
		return fault(op, name, ctx.Err())
	case errors.As(err, &status):
		e := &term.Error{Op: op, Kind: term.IOError, Err: err}
		if status.FxCode() == sftp.ErrSSHFxOpUnsupported {
			e.Kind = term.Unsupported
		}
		e.Msg = fmt.Sprintf(
			"%s: the server refuses, and says no more than %.200q; its disk may be full, its quota met, or the file in use",
			quote(name),
			err.Error(),
		)
		return e
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return fault(op, name, err)
	default:
		_ = s.channel.Close() // after an answer that nobody understands, too
		return &term.Error{
			Op:   op,
			Kind: term.RemoteClosed,
			Err:  err,
			Msg:  "the connection for files was lost while " + quote(name) + " was under way; try again",
		}
	}
}

// Read implements term.Files.
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
		if d.Data, err = readAt(ctx, f, r, most, d.Size); err != nil {
			return err
		}
		d.Next = r.Offset + int64(len(d.Data))
		// A server may send less at a time than it is asked for, which looks like the end.
		d.Truncated = len(d.Data) > 0 && (d.Next < d.Size || int64(len(d.Data)) == most && more(f, d.Next))
		return nil
	})
	if err != nil {
		return term.FileData{}, err
	}
	return d, nil
}

// open opens a regular file to read it. The server would wait at a FIFO, and with it everything else on this channel, so it
// is asked first. What somebody there puts in its place in between, it waits at, until the call's time is over.
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

// Stat implements term.Files.
func (s *SFTP) Stat(ctx context.Context, name string) (e term.FileEntry, err error) {
	if err := checkPath(opRead, name); err != nil {
		return e, err
	}
	err = s.do(ctx, opRead, name, func() error {
		info, err := s.c.Lstat(name)
		if err != nil {
			return err
		}
		e = told(path.Base(name), info)
		if info.Mode().Type() == fs.ModeSymlink {
			e.Target, err = s.c.ReadLink(name)
		}
		return err
	})
	return e, err
}

// maxListing is how much a server may send of one folder: the protocol has no pages. About 14 times as much is held of
// entries with short names, which a hostile server would send. One of OpenSSH's with a name of 27 bytes takes 150, so that some
// 55,000 such fit.
const maxListing = 8 << 20

// List implements term.Files. Each part of a folder takes all of it over the wire.
func (s *SFTP) List(ctx context.Context, r term.FileList) (out term.FileListing, err error) {
	if err := checkPath(opRead, r.Path); err != nil {
		return out, err
	}
	err = s.do(ctx, opRead, r.Path, func() error {
		infos, err := s.readDir(ctx, r.Path)
		if err != nil {
			return err
		}
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
			out.Entries = append(out.Entries, told(name, byName[name]))
		}
		return nil
	})
	return out, err
}

func (s *SFTP) readDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	info, err := s.c.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, invalid(opRead, "%s is no folder; use read or stat", quote(name))
	}
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	over := func() { cancel() }
	s.inbound.left.Store(maxListing)
	s.inbound.over.Store(&over)
	defer s.inbound.over.Store(nil)
	infos, err := s.c.ReadDirContext(bounded, name)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return nil, &term.Error{
			Op:   opRead,
			Kind: term.LimitExceeded,
			Msg: fmt.Sprintf(
				"%s has more entries than %d MiB hold, which is the most that is taken of one folder; list it with a command there",
				quote(name),
				maxListing>>20,
			),
		}
	}
	return infos, err
}
