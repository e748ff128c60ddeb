package daemon

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"ptyctl/control"
)

// connection answers one connection.
func (s *Server) connection(ctx context.Context, c net.Conn) {
	keep := false
	defer func() {
		if !keep {
			_ = c.Close()
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
	w := s.welcome()
	r := bufio.NewReaderSize(c, 64<<10)
	_ = c.SetDeadline(time.Now().Add(greetWait))
	var h Hello
	greeted := sync.OnceFunc(func() { <-s.greetings })
	defer greeted()
	if err := readLine(r, &h); err != nil {
		return // for example another process that has looked whether this one is alive
	}
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Now().Add(greetWait)) // one that does not read keeps an answer no longer
	if ctx.Err() != nil {
		return
	}
	// Only now: a refusal of one that still writes could be lost.
	if err := s.known(c); err != nil {
		s.o.Logger.Warn("a connection was refused", "reason", err.Error())
		w.Refused = err.Error()
		_ = writeLine(c, w)
		return
	}
	if h.Ask == AskList {
		s.list(c, h)
		return
	}
	if h.Protocol != Protocol {
		w.Refused = fmt.Sprintf("it speaks protocol %d, and this program %d; use the same version of ptyctl",
			Protocol, h.Protocol)
		_ = writeLine(c, w)
		return
	}
	switch h.Ask {
	case AskServe:
		s.serve(ctx, Visit{Hello: h, Conn: buffered{c, r}}, w, greeted)
	case AskStatus:
		s.mu.Lock()
		w.Clients, w.Engine = s.clients, s.engine
		s.mu.Unlock()
		w.Sessions = s.o.Sessions()
		s.status(c, h, w)
	case AskNote:
		s.o.Logger.Info("a client says", "pid", h.PID, "note", plainText(h.Note))
		_ = writeLine(c, w)
	case AskStop, AskReload:
		keep = s.manage(c, h, w)
	default:
		w.Refused = fmt.Sprintf("it does not know the request %q", plainText(string(h.Ask)))
		_ = writeLine(c, w)
	}
}

func (s *Server) welcome() Welcome {
	return Welcome{Protocol: Protocol, Build: s.o.Build, PID: os.Getpid(), Started: s.started}
}

// known refuses a process that the daemon has started itself.
func (s *Server) known(c net.Conn) error {
	if s.o.Refuse == nil {
		return nil
	}
	return control.CheckPeer(c, s.o.Refuse)
}

// manage answers a request about the daemon itself. It reports whether the connection is left open: to stop, until the
// process has ended, which is how the one who asked sees it.
func (s *Server) manage(c net.Conn, h Hello, w Welcome) (keep bool) {
	err := errUnmanaged
	if s.o.Permit != nil && s.o.Reload != nil {
		pid, _ := control.PeerPID(c) // 0 if the system does not say
		err = s.o.Permit(h.Ask, h.Token, pid)
	}
	switch {
	case err != nil:
		w.Refused = err.Error()
	case h.Ask == AskStop:
		s.o.Logger.Info("a person stops the daemon", "pid", h.PID)
	default:
		s.o.Logger.Info("a person has the configuration read again", "pid", h.PID)
		w.Reloaded = s.o.Reload()
	}
	_ = writeLine(c, w)
	if err == nil && h.Ask == AskStop {
		s.stop(errStopped)
		return true
	}
	return false
}

// serve carries the conversation of one client. It calls greeted when that begins.
func (s *Server) serve(ctx context.Context, v Visit, w Welcome, greeted func()) {
	if !s.serves(v.Engine) {
		w.Refused = "its configuration is another, perhaps because the file has just changed: start again; if a service manager " +
			"has made the socket, make that again at the path that ptyctl daemon socket prints"
		_ = writeLine(v.Conn, w)
		return
	}
	if s.o.Presents != nil {
		if err := s.o.Presents(v.Presents); err != nil {
			w.Refused = err.Error()
			_ = writeLine(v.Conn, w)
			return
		}
	}
	switch err := s.enter(); {
	case errors.Is(err, errFull):
		w.Refused = err.Error()
		_ = writeLine(v.Conn, w)
		return
	case err != nil:
		return
	}
	defer s.leave()
	v.Client = newClient()
	w.Client = v.Client
	log := s.o.Logger.With("client", v.Client, "pid", v.PID)
	if err := writeLine(v.Conn, w); err != nil {
		log.Warn("a client has gone before it was served", "error", err)
		return
	}
	_ = v.Conn.SetWriteDeadline(time.Time{})
	greeted()
	log.Info("a client has come", "build", plainText(v.Build), "folder", plainText(string(v.Dir)))
	if err := s.o.Serve(ctx, v); err != nil {
		log.Warn("the conversation of a client has failed", "error", err)
	}
	log.Info("a client has gone")
}

// serves reports whether a client's configuration is the one in force.
func (s *Server) serves(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.Name() == name
}

// newClient returns a name for a client: short, and not to be guessed.
func newClient() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return "shim-" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// buffered is a connection with its first bytes read into r.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// CloseWrite ends the output, so that the other side reads to its end and may still answer.
func (b buffered) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return b.Conn.Close()
}
