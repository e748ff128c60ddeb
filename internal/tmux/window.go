package tmux

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"ptyctl/internal/tty"
	"ptyctl/quote"
	"ptyctl/term"
)

// A Window shows one session.
type Window struct {
	SessionID string `json:"session_id"`
	Mode      string `json:"mode"`
	Alive     bool   `json:"alive"` // false: the session has ended, and the window stays as long as it has a viewer
	Cols      int    `json:"cols"`
	Rows      int    `json:"rows"`
	Viewers   int    `json:"viewers"`
	Socket    string `json:"socket"`
	Attach    string `json:"attach"` // the command with which a person looks

	name string // of the tmux session
}

// The modes of a window.
const (
	Watch = "watch"
	Take  = "take"
)

// Show makes the window of a session in a mode, unless it exists and is alive. command runs in the window.
func (t *Server) Show(ctx context.Context, session, mode string, cols, rows int, command []string) (Window, error) {
	w := Window{SessionID: session, Mode: mode, Socket: t.socket, name: windowName(session, mode)}
	if cols < 1 || rows < 1 { // the session has no terminal; its lines are shown in one of the usual size
		cols, rows = 80, 24
	}
	var failed error
	for range 3 { // another process may make it too, and a server that is ending takes no command: both are over soon
		all, err := t.Windows(ctx)
		if err != nil {
			return w, err
		}
		i := slices.IndexFunc(all, func(there Window) bool { return there.name == w.name })
		switch {
		case i < 0:
			failed = t.make(ctx, &w, cols, rows, command)
		case all[i].Alive:
			return all[i], nil
		default: // it has ended, and has a viewer
			_, failed = t.run(ctx, slices.Concat([]string{"respawn-pane", "-t", "=" + w.name + ":", "--"}, command))
		}
	}
	if failed == nil {
		failed = term.Errorf(
			term.IOError,
			"ptyctl attach ends at once in the window; call ptyctl attach %s to see why",
			tty.Printable(session),
		)
	}
	return w, failed
}

func windowName(session, mode string) string {
	name := strings.ReplaceAll(session, ".", "_") // tmux allows no dot
	if mode == Take {
		name = "take-" + name
	}
	return name
}

// make makes a window that runs command.
func (t *Server) make(ctx context.Context, w *Window, cols, rows int, command []string) error {
	commands := append([][]string{{"start-server"}}, hardening...)
	commands = append(
		commands,
		slices.Concat(
			[]string{"new-session", "-d", "-s", w.name, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "--"},
			command,
		),
		[]string{"set-option", "-w", "window-size", "manual"}, // set for all windows at once it crashes tmux 3.3a
		[]string{"set-option", "@session", w.SessionID},
	)
	if w.Mode == Take {
		commands = append(commands, []string{"set-option", "@take", "1"}, []string{"set-option", "key-table", takeKeys})
	}
	_, err := t.run(ctx, commands...)
	return errors.Join(err, t.guard())
}

// windowFormat is a line for each window, without empty fields.
const windowFormat = "#{session_name} #{@session} #{?@take,take,watch} #{?pane_dead,ended,shown} " +
	"#{session_attached} #{window_width} #{window_height}"

// listAttempts is how often Windows asks. A server that has just closed its last window still answers, with an error.
const listAttempts = 5

// Windows returns all windows of the server.
func (t *Server) Windows(ctx context.Context) ([]Window, error) {
	if _, err := os.Lstat(t.socket); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out string
	var err error
	for range listAttempts {
		if out, err = t.run(ctx, []string{"list-panes", "-a", "-F", windowFormat}); err == nil {
			break
		}
		if ctx.Err() == nil && !t.serving(ctx) {
			return nil, nil // the socket outlives the server
		}
	}
	if err != nil {
		return nil, err
	}
	var all []Window
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 7 {
			continue // of another program
		}
		w := Window{name: f[0], SessionID: f[1], Mode: f[2], Alive: f[3] == "shown", Socket: t.socket}
		w.Viewers, _ = strconv.Atoi(f[4])
		w.Cols, _ = strconv.Atoi(f[5])
		w.Rows, _ = strconv.Atoi(f[6])
		w.Attach = t.attachLine(w)
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Window) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// attachLine is the command that a person types to look.
func (t *Server) attachLine(w Window) string {
	words := []string{"tmux", "-S", t.socket, "attach", "-t", w.name}
	if w.Mode == Watch {
		words = append(words, "-r")
	}
	return quote.Show(words)
}

// serving reports whether a server answers at the socket.
func (t *Server) serving(ctx context.Context) bool {
	c, err := new(net.Dialer).DialContext(ctx, "unix", t.socket)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
