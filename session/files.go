package session

import (
	"context"
	"io"

	"ptyctl/session/access"
	"ptyctl/session/transfer"
)

// Files are the files of one machine as a caller may use them. Each call is one action, and authorized as such.
type Files = transfer.Files

// FarFiles makes files of a channel to the far side's SFTP server. It owns the channel, also when it fails.
type FarFiles = transfer.Connect

// Files are the files of this machine that the Config offers.
func (m *Manager) Files() *Files {
	return transfer.Local(access.New(access.Options{
		Protocol: "local", Host: "localhost",
		Gate: m.c.Gate, Journal: m.c.Journal, Observers: m.c.Observers, Log: m.c.Logger,
	}), m.c.Files)
}

// OffersFiles says whether files of this machine, and those of far sides, are offered.
func (m *Manager) OffersFiles() (here, far bool) { return m.c.Files != nil, m.c.FarFiles != nil }

// Files are the files of the session's far side.
func (s *Session) Files() *Files { return s.far.Files(s.auth) }

// A carrier is the session as package transfer sees it.
type carrier struct{ s *Session }

func (c carrier) Context() context.Context          { return c.s.life.ctx }
func (c carrier) Alive(op string) error             { return c.s.life.alive(op) }
func (c carrier) Ended(op string) error             { return c.s.life.endedError(op) }
func (c carrier) Failed(op string, err error) error { return c.s.life.transportError(op, err) }
func (c carrier) Spawn(where string, f func()) bool { return c.s.group.spawn(where, f) }
func (c carrier) Carries() bool                     { return c.s.link.Load().subsystems != nil }

// Channel opens the SFTP subsystem of an SSH connection (RFC 4254 section 6.5).
func (c carrier) Channel(ctx context.Context) (io.ReadWriteCloser, error) {
	return c.s.link.Load().subsystems.Subsystem(ctx, "sftp")
}

// Busy counts the action as running, so that the idle timeout does not close the session meanwhile.
func (c carrier) Busy() (done func()) {
	s := c.s
	s.count.running.Add(1)
	s.timeouts.touch()
	return func() {
		s.timeouts.touch()
		s.count.running.Add(-1)
	}
}
