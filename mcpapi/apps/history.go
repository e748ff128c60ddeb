package apps

import (
	"sync"

	"ptyctl/session"
	"ptyctl/watch/frame"
)

// Bounds of the frames that are kept, so that a page that has one of them gets the rows that differ.
const (
	mostSessions = 32
	mostFrames   = 2         // of one session; several pages may be at different ones
	mostFrame    = 128 << 10 // bytes of the largest frame that is kept
)

// A past has the last frames that were sent of each session. A page that names a frame not among them gets a whole one.
type past struct {
	mu       sync.Mutex // guards the following
	sessions []*drawn   // the one that was used last is at the end
}

// drawn are the last frames of a session, oldest first.
type drawn struct {
	of     *session.Session
	frames []numbered
}

type numbered struct {
	version uint64
	frame   *frame.Frame // nil: some page has only a part of it, so the next frame is sent whole
}

// frame returns the frame of a session with that number; nil: it is not kept.
func (p *past) frame(of *session.Session, version uint64) *frame.Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.sessions {
		if d.of != of {
			continue
		}
		for _, n := range d.frames {
			if n.version == version {
				return n.frame
			}
		}
	}
	return nil
}

// keep remembers a frame that was sent, whole or cut. It ignores number 0, which no page can name.
func (p *past) keep(of *session.Session, version uint64, f *frame.Frame, cut bool) {
	if cut {
		f = nil
	}
	if version == 0 || f != nil && f.Size() > mostFrame {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &drawn{of: of}
	for i, known := range p.sessions {
		if known.of == of {
			d = known
			p.sessions = append(p.sessions[:i], p.sessions[i+1:]...)
			break
		}
	}
	p.sessions = append(p.sessions, d)
	if len(p.sessions) > mostSessions {
		p.sessions = append(p.sessions[:0], p.sessions[1:]...)
	}
	for i := range d.frames {
		if n := &d.frames[i]; n.version == version {
			if cut {
				n.frame = nil
			}
			return
		}
	}
	if d.frames = append(d.frames, numbered{version, f}); len(d.frames) > mostFrames {
		d.frames = append(d.frames[:0], d.frames[1:]...)
	}
}

// forget drops the frames of a session that has no more to come.
func (p *past) forget(of *session.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, d := range p.sessions {
		if d.of == of {
			p.sessions = append(p.sessions[:i], p.sessions[i+1:]...)
			return
		}
	}
}
