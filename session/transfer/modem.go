package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"

	"ptyctl/session/filecopy"
	"ptyctl/session/xmodem"
	"ptyctl/term"
)

// A ModemRequest describes a file of this machine to move over a terminal.
type ModemRequest struct {
	Protocol xmodem.Protocol
	Send     bool    // to the terminal, else from it
	Here     CopyEnd // the file, of this machine
	Name     string  // of the file at the far side: sent with YMODEM, and otherwise only for the record

	MaxBytes int64 // of the file; 0: 1 GiB
	Progress func(moved, total int64)
	ID, Exec string // as in CopyRequest

	// Take asks for the terminal. detail is the purpose, for the record.
	Take func(ctx context.Context, detail string) (Terminal, error)
}

// A Terminal is one in the hands of a transfer.
type Terminal interface {
	xmodem.Link

	// Context ends when the terminal is no longer in these hands, with the reason as its cause.
	Context() context.Context
	// Doubt says why the terminal may change bytes; empty: it does not.
	Doubt() string
	// End gives the terminal back. err is how the transfer has ended; End returns it, with the terminal's own reasons.
	End(err error) error
}

// A ModemResult is the result of a transfer over a terminal in addition to that of a copy.
type ModemResult struct {
	xmodem.Result
	Received bool
	Doubt    string // see Terminal
}

const defaultModemBytes = 1 << 30

// Modem moves one file over a terminal. As in a copy, the file here is read under the rules for files and replaced as
// a whole. The bytes sent to the terminal are input. The rules for input must allow them without knowing them.
func Modem(ctx context.Context, r ModemRequest) (filecopy.Result, ModemResult, error) {
	m := &modem{ModemRequest: r, sum: sha256.New()}
	if m.MaxBytes == 0 {
		m.MaxBytes = defaultModemBytes
	}
	err := m.run(ctx)
	m.result.Bytes = m.moved.Bytes
	return m.result, m.moved, err
}

// A modem is a transfer that runs.
type modem struct {
	ModemRequest
	files  term.CopyFiles
	term   Terminal
	sum    hash.Hash
	result filecopy.Result
	moved  ModemResult
}

func (m *modem) run(ctx context.Context) (err error) {
	verb, what := term.VerbFileWrite, "from"
	if m.Send {
		verb, what = term.VerbFileRead, "to"
	}
	if m.result.To, err = m.path(); err != nil {
		return err
	}
	d := m.Here.Files.auth.Begin(ctx, verb, term.Event{
		Path: m.result.To, Detail: "copy " + what + " a terminal by " + string(m.Protocol), PartOf: term.PartOf{Copy: m.ID}, Exec: m.Exec,
	})
	if err = m.Here.Files.permit(ctx, d); err == nil {
		if err = m.move(ctx); m.result.SHA256 != "" {
			d.Event.Detail += " sha256 " + m.result.SHA256
		}
		d.Event.Size = int(m.moved.Bytes)
	}
	d.End(err)
	return err
}

// path returns the path of the file here. A file that is received into a folder has the name that the caller has
// given it at the far side: a name from the far side is never used.
func (m *modem) path() (string, error) {
	to := m.Here.Path
	if m.Send || !strings.HasSuffix(to, "/") {
		return to, nil
	}
	name := path.Base(path.Clean(m.Name))
	if name == "." || name == ".." || name == "/" {
		return "", &term.Error{
			Op: "copy", Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: term.FieldCopyTo}},
			Msg: "the path of the copy ends in /; give it with the name of the file: one that the far side tells is not used",
		}
	}
	return path.Join(to, name), nil
}

// move moves the file, which is permitted.
func (m *modem) move(ctx context.Context) (err error) {
	if m.files, err = copyFiles(m.Here.Files.here); err != nil {
		return err
	}
	if m.Send {
		return m.send(ctx)
	}
	return m.receive(ctx)
}

// with takes the terminal for f.
func (m *modem) with(ctx context.Context, f func(ctx context.Context) error) error {
	detail := string(m.Protocol) + " receive"
	if m.Send {
		detail = string(m.Protocol) + " send"
	}
	if m.Name != "" {
		detail += fmt.Sprintf(" %.300q", m.Name)
	}
	var err error
	m.moved.Received = !m.Send
	if m.term, err = m.Take(ctx, detail); err != nil {
		return err
	}
	m.moved.Doubt = m.term.Doubt()
	err = f(m.term.Context())
	if e, ok := errors.AsType[*term.Error](err); ok && m.moved.Doubt != "" && e.Kind == term.IOError && e.Op == "copy" {
		said := *e
		said.Msg += "; " + m.moved.Doubt
		err = &said
	}
	return m.term.End(err)
}

func (m *modem) send(ctx context.Context) error {
	src, err := m.files.Source(ctx, m.Here.Path, true)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	e := src.Entry()
	if e.Size > m.MaxBytes {
		return m.tooLarge(e.Size)
	}
	name := m.Name
	if name == "" {
		name = path.Base(m.Here.Path)
	}
	if len(name) > xmodem.MaxName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return &term.Error{
			Op: "copy", Kind: term.InvalidArgument, Facts: term.Facts{term.ArgumentFault{Field: term.FieldCopyTo}},
			Msg: fmt.Sprintf("a name of at most %d bytes without control characters can be told to the far side", xmodem.MaxName),
		}
	}
	m.progress(0, e.Size)
	err = m.with(ctx, func(ctx context.Context) (err error) {
		m.moved.Result, err = xmodem.Send(
			ctx, m.term, m.Protocol, xmodem.File{Name: name, Size: e.Size, Modified: e.Modified},
			io.TeeReader(io.NewSectionReader(src, 0, e.Size), m.sum), func(n int64) { m.progress(n, e.Size) },
		)
		return err
	})
	if err != nil {
		return err
	}
	now, err := m.files.Look(ctx, m.Here.Path)
	m.result.Changed = err == nil && (now.Size != e.Size || !now.Modified.Equal(e.Modified))
	m.result.To = m.Name
	m.arrived(e.Size)
	return nil
}

func (m *modem) receive(ctx context.Context) (err error) {
	target := term.FileTarget{Path: m.result.To, Follow: true, Mode: 0o666}
	// Before anything is asked for, so that a file that cannot be written is found out first.
	sink, err := m.files.Target(ctx, target)
	if err != nil {
		return err
	}
	defer func() {
		if sink != nil {
			sink.Abort(false)
		}
	}()
	out := writer(func(p []byte) (int, error) {
		n, err := sink.WriteAt(p, m.result.Size)
		_, _ = m.sum.Write(p[:n])
		m.result.Size += int64(n)
		return n, err
	})
	err = m.with(ctx, func(ctx context.Context) (err error) {
		m.moved.Result, err = xmodem.Receive(ctx, m.term, xmodem.Options{
			Protocol: m.Protocol, Max: m.MaxBytes, TooLarge: m.tooLarge,
			Progress: func(n int64) { m.progress(n, max(m.moved.Size, n)) },
			Open: func(f xmodem.File) (io.Writer, error) {
				m.moved.Size = max(f.Size, 0)
				if f.Modified.IsZero() {
					return out, nil
				}
				sink.Abort(false)
				sink = nil
				target.Modified = f.Modified
				other, err := m.files.Target(ctx, target)
				if err == nil {
					sink = other
				}
				return out, err
			},
		})
		return err
	})
	if err != nil {
		return err
	}
	written, err := sink.Commit(ctx, m.result.Size)
	if err != nil {
		m.result.Unsure = ctx.Err() != nil
		return err
	}
	sink = nil
	m.result.Created = written.Created
	m.arrived(m.result.Size)
	return nil
}

// arrived completes the result.
func (m *modem) arrived(size int64) {
	m.result.Files, m.result.Size, m.result.SHA256 = 1, size, hex.EncodeToString(m.sum.Sum(nil))
}

func (m *modem) progress(moved, total int64) {
	if m.Progress != nil {
		m.Progress(moved, total)
	}
}

func (m *modem) tooLarge(size int64) error {
	return &term.Error{
		Op: "copy", Kind: term.LimitExceeded,
		Msg:   fmt.Sprintf("a copy may move %d bytes, and this one has %d or more", m.MaxBytes, size),
		Facts: term.Facts{term.LimitReached{Limit: term.LimitCopyBytes, Value: m.MaxBytes}},
	}
}

// A writer is a function as an io.Writer.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
