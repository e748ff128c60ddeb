package app

import (
	"log/slog"
	"slices"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/devlock"
	"ptyctl/internal/cgroup"
	"ptyctl/metrics"
	"ptyctl/session"
	"ptyctl/term"
)

// newManager makes the sessions that the configuration describes, and the metrics that count their events.
func (a *App) newManager(gate term.Gate) (*session.Manager, *metrics.Metrics) {
	cfg := a.cfg
	var sessions *session.Manager
	counters := metrics.New(metrics.Options{
		Protocols: []string{"ssh", "telnet", "serial", "local"}, HandshakesWaiting: a.dialers.handshakesWaiting,
		Sessions: func() []metrics.Session { return liveSessions(sessions) }, AuditLost: linesLost(a.audit),
		RecordingsDropped: a.record.dropped(), RecordingsFailures: a.record.failures(),
		NoticesDropped: noticesDropped(a.notices), OAuthFailures: a.oauthFailures(),
		More: a.cluster.counted(),
	})
	var journal term.Journal
	observers := []term.Observer{counters}
	if a.watch != nil {
		observers = append(observers, a.watch)
	}
	if a.feed != nil {
		observers = append(observers, a.feed)
	}
	if a.questions != nil {
		observers = append(observers, a.questions)
	}
	if a.notices != nil {
		observers = append(observers, a.notices)
	}
	if a.stirred != nil {
		observers = append(observers, a.stirred)
	}
	if a.stirred != nil || slices.Contains(cfg.Server.Toolsets, a.sets.aiterm.Name()) {
		observers = append(observers, a.sets.aiterm)
	}
	if a.audit != nil {
		observers = append(observers, a.audit)
		if cfg.Audit.FailClosed {
			journal = a.audit.Journal
		}
	}
	if a.record != nil {
		observers = append(observers, a.record.dir)
		journal = a.record.journal(journal)
	}
	if a.cluster != nil {
		observers = append(observers, a.cluster)
	}
	_, limited := cgroup.Memory() // asked once: to find its files takes 0.3 ms
	memory := &group{left: cgroup.MemoryLeft}
	budget := newMemoryBudget(memory, limited)
	if budget != nil {
		observers = append(observers, budget)
	}
	byProtocol := a.dialers.byProtocol()
	a.fleets = a.newFleets(byProtocol["ssh"], gate, journal, observers, memory.room)
	consoles := deviceLocks(folderLocks{devlock.Folder(cfg.Locks.DeviceDir)}, cfg.Server.Control.ControlSocketPath)
	byProtocol["serial"] = a.dialers.openSerial(consoles)
	byProtocol["local"] = localHost(cfg.Local, limited).Open
	if a.cluster != nil {
		consoles = deviceLocks(a.cluster, cfg.Server.Control.ControlSocketPath)
		for protocol, dial := range byProtocol {
			byProtocol[protocol] = a.cluster.dialer(dial)
		}
	}
	sessions = session.NewManager(session.Config{
		Dialers:        byProtocol,
		MaxSessions:    cfg.Session.MaxSessions,
		MaxBufferBytes: cfg.Limits.MaxTotalBufferBytes,
		Room:           memory.room,
		MaxReads:       cfg.Limits.MaxWaitingReads,
		BufferBytes:    cfg.Session.OutputBufferMaxBytes,
		BufferLines:    cfg.Session.OutputBufferMaxLines,
		ExecBytes:      cfg.Limits.MaxExecOutputBytes,
		WriteTimeout:   cfg.Session.WriteTimeout,
		QuietLine:      cfg.Session.QuietLine,
		PromptTimeout:  cfg.Auth.PromptTimeout,
		ConnectTimeout: -1, // the dialers have session.connect_timeout_ms, and that of SSH lets ssh_config go before it
		IdleTimeout:    cfg.Session.IdleTimeout,
		MaxAge:         cfg.Session.MaxAge,
		Retention:      max(cfg.Session.ClosedRetention, 1), // 0 means a default there, and at once here
		Input: session.InputOptions{
			RecordTxEvents: cfg.Session.RecordTxEvents,
			AllowTakeOver:  cfg.Locks.AllowTakeOver,
			NoAnswers:      cfg.Session.Answer == config.AnswerNever,
			Secrets:        a.dialers,
			Known:          a.dialers.known,
		},
		Devices:   session.DeviceOptions{Node: a.cluster.name(), Reserve: consoles, Line: a.dialers.lineOf},
		Gate:      gate,
		Journal:   journal,
		Files:     a.files,
		FarFiles:  farFiles(cfg.FS),
		Forward:   forwardOptions(cfg.Forward),
		Copies:    session.CopyLimits{Bytes: int64(cfg.FS.MaxCopyBytes), Files: cfg.FS.MaxCopyFiles},
		Observers: observers,
		Logger:    a.log,
	})
	sessions.ServerView().Owners().SetTTL(cfg.Session.OrphanTTL)
	if budget != nil {
		budget.sessions = sessions
	}
	a.record.watch(sessions)
	if a.feed != nil {
		a.feed.Serve(sessions)
	}
	return sessions, counters
}

func liveSessions(m *session.Manager) []metrics.Session {
	var live []metrics.Session
	for _, i := range m.List() {
		if !i.State.Ended() {
			live = append(live, metrics.Session{Protocol: i.Protocol, State: string(i.State)})
		}
	}
	return live
}

// linesLost returns nil if there is no audit log.
func linesLost(log *audit.Log) func() int64 {
	if log == nil {
		return nil
	}
	return log.Lost
}

// openAudit opens the audit log; nil: the log is not configured.
func openAudit(cfg config.Audit, node, version string, log *slog.Logger) (*audit.Log, error) {
	if cfg.Path == "" {
		return nil, nil
	}
	return audit.Open(audit.Options{
		Path: cfg.Path, MaxBytes: int64(cfg.MaxBytes), Keep: cfg.Keep, Fsync: audit.Fsync(cfg.Fsync),
		Commands: audit.Commands(cfg.Commands), Version: version, Node: node, Logger: log,
	})
}
