package tmux

import (
	"context"
	"os"
	"strconv"
	"strings"
)

// A Pane is the window that this process runs in.
type Pane struct {
	server *Server
	id     string
}

// Here returns the pane of this process; nil: it runs in none.
func Here() *Pane {
	socket, _, _ := strings.Cut(os.Getenv("TMUX"), ",") // SOCKET,PID,SESSION
	id := os.Getenv("TMUX_PANE")
	if socket == "" || id == "" {
		return nil
	}
	return &Pane{server: &Server{program: "tmux", socket: socket}, id: id}
}

// Resize gives the window a size.
func (p *Pane) Resize(ctx context.Context, cols, rows int) error {
	_, err := p.server.run(
		ctx,
		[]string{"resize-window", "-t", p.id, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows)},
	)
	return err
}

// Leave closes the window, unless a viewer should see its last content, which after a failure is the reason. tmux
// closes it too, but 3.3a does not always notice at once that a program has ended.
func (p *Pane) Leave(ctx context.Context, failed bool) {
	useless := noViewer
	if !failed {
		useless = "#{||:#{@take}," + noViewer + "}"
	}
	_, _ = p.server.run(ctx, []string{"if-shell", "-F", "-t", p.id, useless, "kill-session -t " + p.id})
}
