package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"ptyctl/config"
	"ptyctl/internal/logging"
)

// A reloader reads the configuration again.
type reloader struct {
	cfg     config.Config // in force, as it was read
	source  config.Source
	log     *logging.Logger
	dialers *dialers
}

// ReloadOnHangup reads the configuration from source again each time that the process gets SIGHUP, until stop is
// called. stop waits for a reload that has begun.
func (a *App) ReloadOnHangup(ctx context.Context, source config.Source, log *logging.Logger) (stop func()) {
	r := &reloader{cfg: a.loaded, source: source, log: log, dialers: a.dialers}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-hangup:
				r.reload()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		cancel()
		<-done
	}
}

// reload applies what can change in a running server, and logs what cannot. A configuration that is wrong changes
// nothing.
func (r *reloader) reload() {
	next, warnings, err := config.Load(r.source)
	for _, w := range warnings {
		r.log.Warn("configuration", "where", w.Where, "warning", w.Message)
	}
	if all, ok := errors.AsType[*config.Errors](err); ok {
		for _, p := range all.Problems {
			r.log.Error("configuration", "where", p.Where, "problem", p.Message)
		}
		r.log.Error("the configuration was not reloaded: it is wrong, and the one before stays in force")
		return
	}
	changes := r.cfg.Changes(next)
	cfg := r.cfg
	cfg.SSH, cfg.Telnet, cfg.Logging = next.SSH, next.Telnet, next.Logging
	if err := r.dialers.replace(cfg, r.log.Logger); err != nil {
		r.log.Error("the configuration was not reloaded: the one before stays in force", "error", err)
		return
	}
	if err := r.log.Apply(cfg.Logging); err != nil {
		r.log.Error("the log goes on as before", "error", err)
		cfg.Logging = r.cfg.Logging
	}
	later := 0
	for _, c := range changes {
		if c.Live {
			r.log.Info("a key was changed", "key", c.Key, "from", c.Old, "to", c.New)
		} else {
			later++
			r.log.Warn("a key was changed that counts only after a "+
				"restart", "key", c.Key, "in_force", c.Old, "then", c.New)
		}
	}
	r.cfg = cfg
	r.log.Info("the configuration was reloaded", "changed", len(changes)-later, "after_restart", later)
}
