package lane

import (
	"context"
	"sync"
	"time"

	"ptyctl/buffer"
	"ptyctl/screen"
	"ptyctl/session/prompt"
	"ptyctl/session/shell"
	"ptyctl/term"
	"ptyctl/vt"
)

// A Terminal is a session as the lane sees it.
type Terminal interface {
	Context() context.Context        // ends with the session
	End() (term.Exit, error)         // waits for the session's end; how its program ended, and the error
	Closed(op string) error          // says that the session ended while op was under way
	HasChannel() bool                // the session can also run commands beside its terminal
	Modes() vt.Modes                 // the modes that the output has switched on
	Marks() vt.Marks                 // the shell's own marks of its prompts
	Front() term.Front               // the programs in front of a terminal of this machine
	Cols() int                       // the window's width; 0: not known
	Screen() *screen.Snapshot        // the visible screen; nil: not known
	Mask(text string) string         // text without the secrets that were typed
	Quiet() time.Duration            // how long nothing has come
	Hold() (release func(), ok bool) // keeps everyone else from typing, unless someone types

	// ShellAt returns the shell that reads a line typed now: asked, else expected, else the one found by asking.
	ShellAt(ctx context.Context, asked, expected shell.Class) shell.Shell

	// Behind waits until the inputs that callers wait to type have begun to go out, or ctx ends.
	Behind(ctx context.Context)

	// Type types a line, if the lock still has that epoch.
	Type(ctx context.Context, line string, epoch uint64) (Typed, error)

	// Press presses a key for a caller past everything that waits to be typed, and calls done when it is out. It
	// reports false, and does nothing, if the lock's epoch is another or the key cannot be put on record with the
	// reason.
	Press(k Key, done func()) bool
}

// Typed describes a typed line.
type Typed struct {
	Cursor int64 // the end of the output when the line went out
	Bytes  int   // typed
}

// A Key is one key that the lane presses on its own.
type Key struct {
	Text  string
	Why   string // for the record
	Actor term.Actor
	Epoch uint64 // of the lock when the command was permitted
}

// A Lane runs the commands of one terminal. Make it with New. Its methods may be called by any number of goroutines.
type Lane struct {
	t       Terminal
	out     *buffer.Buffer
	history *prompt.History
	session string // its id, for errors

	mu       sync.Mutex    // guards the following
	current  *Command      // the command that has the terminal, or nil
	reserved bool          // no command may begin; see Reserve
	queue    []*turn       // the calls that wait for it, first come first
	outer    []*Command    // those that have left the terminal to a shell they started, the outermost first
	changed  chan struct{} // closed and replaced when current, its sent, reserved or queue changes
}

// New makes the lane of a terminal that writes its output to out.
func New(session string, t Terminal, out *buffer.Buffer, h *prompt.History) *Lane {
	return &Lane{session: session, t: t, out: out, history: h, changed: make(chan struct{})}
}

// Input notes that p, which a caller types, is about to go out: the question that the command waits for may be answered.
func (l *Lane) Input(p []byte) {
	l.mu.Lock()
	c := l.current
	if c != nil && !c.sent { // p is its own line, or came before it
		c = nil
	}
	l.mu.Unlock()
	if c != nil && len(p) > 0 {
		c.input(p)
	}
}

// beside returns an advice about the channel lane; empty if the session has none.
func (l *Lane) beside(advice string) string {
	if !l.t.HasChannel() {
		return ""
	}
	return advice
}
