package transfer

import (
	"context"

	"ptyctl/term"
)

// A Source is the end of a copy that is read, as another process than that of the copy may have it. Its methods may be
// called at the same time.
type Source interface {
	// Machine names the machine: see filecopy.End.
	Machine() string

	// Permit asks whether a file or a folder may be read, and has that recorded. If it may, done must be called with
	// the outcome: see filecopy.Permit.
	Permit(ctx context.Context, path, what string, of Part) (done func(bytes int64, note string, err error), err error)

	// Open makes the connection of the copy to the files. It is called once, and Close ends the connection. Of the files
	// only those methods are called that read.
	Open(ctx context.Context) (term.CopyFiles, error)

	// Close is called once, when the copy is over. It also ends the connection of Open.
	Close()
}

// A Part names the copy that an action belongs to.
type Part struct {
	Copy string // the ID of its CopyRequest
	Exec string
}

// A Lending is the files of a session for one copy that another process runs.
type Lending struct{ c copying }

var _ Source = (*Lending)(nil)

// Lend returns the files of a session for one copy. The copy should end with the session: see Context.
func (f *Files) Lend() *Lending {
	return &Lending{copying{CopyRequest: CopyRequest{From: CopyEnd{Files: f}}, lent: make(map[*Far]term.CopyFiles)}}
}

// Context ends with the session.
func (l *Lending) Context() context.Context { return l.c.From.Files.far.carrier.Context() }

// Machine implements Source.
func (l *Lending) Machine() string { return l.c.From.Files.auth.Machine() }

// Permit implements Source.
func (l *Lending) Permit(
	ctx context.Context, path, what string, of Part,
) (done func(bytes int64, note string, err error), err error) {
	return permit(ctx, l.c.From.Files, term.VerbFileRead, path, what, of)
}

// Open implements Source.
func (l *Lending) Open(ctx context.Context) (term.CopyFiles, error) {
	return l.c.open(ctx, l.c.From.Files, term.VerbFileRead)
}

// Close implements Source.
func (l *Lending) Close() { l.c.release() }

// Named says in an error which session it is about.
func (l *Lending) Named(err error) error { return l.c.named(err) }
