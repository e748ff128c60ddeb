package daemon

import (
	"errors"
	"net"
	"time"
)

// A Shim is a client that is connected, in the answer to AskStatus.
type Shim struct {
	Name     string    `json:"shim"`    // under which its actions are recorded
	Program  string    `json:"program"` // as it names itself; empty: its conversation has not begun
	Folder   string    `json:"folder"`
	PID      int       `json:"pid"` // as the shim says
	Since    time.Time `json:"since"`
	Sessions int       `json:"sessions"` // that are its own
}

// status answers AskStatus, with the clients if the one who asks may know of them.
func (s *Server) status(c net.Conn, h Hello, w Welcome) {
	if s.o.Shims != nil && s.shown(h) == nil {
		w.Shims = s.o.Shims()
		for i := range w.Shims {
			e := &w.Shims[i]
			e.Program, e.Folder = plainText(e.Program), plainText(e.Folder)
		}
	}
	if errors.Is(writeLine(c, w), errLong) { // nothing was written
		w.Shims = nil
		_ = writeLine(c, w)
	}
}
