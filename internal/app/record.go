package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"filippo.io/age"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/record"
	"ptyctl/session"
	"ptyctl/term"
)

// A recorder records all sessions. All methods of a nil *recorder do nothing.
type recorder struct {
	dir    *record.Dir
	closed bool // fail_closed

	mu       sync.Mutex // guards the following
	sessions *session.Manager
	ending   sync.WaitGroup // sessions that are ended because they cannot be recorded
}

// openRecordings makes the recorder; nil: recordings are not configured.
func (a *App) openRecordings(cfg config.Config) (*recorder, error) {
	if cfg.Record.Dir == "" {
		return nil, nil
	}
	to, err := recipients(cfg.Record)
	if err != nil {
		return nil, err
	}
	r := &recorder{closed: cfg.Record.FailClosed}
	o := record.DirOptions{
		Path: cfg.Record.Dir, MaxBytes: int64(cfg.Record.MaxBytes), MaxTotal: int64(cfg.Record.MaxTotalMiB) << 20,
		MaxFiles: cfg.Record.MaxFiles, MaxAge: time.Duration(cfg.Record.MaxDays) * 24 * time.Hour,
		Version: a.version, Command: commandForm(cfg.Audit.Commands), Recipients: to,
		FailClosed: cfg.Record.FailClosed, Failed: r.end, Logger: a.log,
	}
	if log := a.audit; log != nil {
		o.Noted = func(n record.Note) { log.Recording(auditEntry(n)) }
	}
	if r.dir, err = record.NewDir(o); err != nil {
		return nil, fmt.Errorf("record.dir: %w", err)
	}
	return r, nil
}

// recipients reads the recipients of recordings.
func recipients(cfg config.Record) ([]age.Recipient, error) {
	if len(cfg.Recipients) == 0 {
		return nil, nil
	}
	to, err := age.ParseRecipients(strings.NewReader(strings.Join(cfg.Recipients, "\n")))
	if err != nil {
		return nil, fmt.Errorf("record.recipients: %w; give recipients of age, which begin with age1", err)
	}
	return to, nil
}

// commandForm returns the form in which the audit log keeps the line of a command; nil: without secrets.
func commandForm(how config.AuditCommands) func(string) string {
	switch how {
	case config.AuditCommandsHash:
		return func(line string) string {
			sum := sha256.Sum256([]byte(line))
			return "sha256:" + hex.EncodeToString(sum[:])
		}
	case config.AuditCommandsNone:
		return func(line string) string { return fmt.Sprintf("(%d bytes)", len(line)) }
	}
	return nil
}

// auditEntry is a note of a recording for the audit log.
func auditEntry(n record.Note) audit.Recording {
	return audit.Recording{
		Path: n.Path, Seal: n.Seal.Number, SHA256: n.Seal.Hash, Bytes: n.Seal.Bytes, End: n.Seal.End,
		FileBytes: n.FileBytes, FileSHA256: n.FileSHA256, Removed: n.Why,
	}
}

// journal asks the recorder, too, whether an action may be done.
func (r *recorder) journal(other term.Journal) term.Journal {
	if r == nil || !r.closed {
		return other
	}
	return func(e term.Event) error {
		if other != nil {
			if err := other(e); err != nil {
				return err
			}
		}
		return r.dir.Journal(e)
	}
}

// watch tells the recorder of the sessions that it records.
func (r *recorder) watch(m *session.Manager) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = m
}

// end ends a session that cannot be recorded. It does not wait for that.
func (r *recorder) end(id string, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions == nil {
		return
	}
	s, err := r.sessions.Get(id)
	if err != nil {
		return
	}
	r.ending.Go(func() {
		ctx := term.WithActor(context.Background(), term.Actor{Transport: "recorder", Task: "recorder"})
		s.Close(ctx, session.CloseOptions{Force: true})
	})
}

// close completes the recordings. The sessions have ended. Each failure was logged when it happened.
func (r *recorder) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.sessions = nil
	r.mu.Unlock()
	r.ending.Wait()
	_ = r.dir.Close()
}

func (r *recorder) dropped() func() int64 {
	if r == nil {
		return nil
	}
	return r.dir.Dropped
}

func (r *recorder) failures() func() int64 {
	if r == nil {
		return nil
	}
	return r.dir.Failures
}
