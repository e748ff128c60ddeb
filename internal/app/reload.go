package app

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"ptyctl/config"
	"ptyctl/consent"
	"ptyctl/daemon"
	"ptyctl/internal/logging"
)

// A Reloader reads the configuration again.
type Reloader struct {
	LogFile string // where the log goes if the configuration names no file; empty: stderr

	source  config.Source
	log     *logging.Logger
	rules   *rules
	dialers *dialers

	consents *consent.Book // nil: none
	http     *httpPort     // nil: none

	mu   sync.Mutex    // held during a reload; guards the following
	cfg  config.Config // in force, as it was read
	then func(now config.Config)
}

// Reloader returns the Reloader of a, for the configuration from source.
func (a *App) Reloader(source config.Source, log *logging.Logger) *Reloader {
	return &Reloader{
		cfg: a.loaded, source: source, log: log, rules: &a.rules, dialers: a.dialers,
		consents: a.consents, http: a.http,
	}
}

// ReloadOnHangup reads the configuration from source again each time that the process gets SIGHUP, until stop is
// called. stop waits for a reload that has begun.
func (a *App) ReloadOnHangup(ctx context.Context, source config.Source, log *logging.Logger) (stop func()) {
	return a.Reloader(source, log).OnHangup(ctx)
}

// Then has f called after each reload that has changed something, with the configuration in force.
func (r *Reloader) Then(f func(now config.Config)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.then = f
}

// OnHangup reloads each time that the process gets SIGHUP, until stop is called. stop waits for a reload that has begun.
func (r *Reloader) OnHangup(ctx context.Context) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-hangup:
				r.Reload() // the log has the outcome
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

// Reload applies the keys that can change in a running server, and names the others. A configuration that is wrong changes
// nothing.
func (r *Reloader) Reload() (done daemon.Reloaded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, warnings, err := config.Load(r.source)
	for _, w := range warnings {
		r.log.Warn("configuration", "where", w.Where, "warning", w.Message)
	}
	if all, ok := errors.AsType[*config.Errors](err); ok {
		for _, p := range all.Problems {
			r.log.Error("configuration", "where", p.Where, "problem", p.Message)
		}
		r.log.Error("the configuration was not reloaded: it is wrong, and the one before stays in force")
		return daemon.Reloaded{Failed: "the configuration is wrong: " + all.Error()}
	}
	// Invalid groups do not keep a new rule out: the groups stay as they were, and the rest applies.
	if !slices.Equal(r.cfg.Groups, next.Groups) {
		if done.Wrong = wrongGroups(next, HostSources(next).Read(context.Background())); len(done.Wrong) > 0 {
			for _, why := range done.Wrong {
				r.log.Error("configuration", "problem", why)
			}
			r.log.Error("[groups] was not reloaded: it is wrong, and the one before stays in force")
			next.Groups = r.cfg.Groups
		}
	}
	changes := r.cfg.Changes(next)
	cfg := r.cfg
	cfg.SSH, cfg.Telnet, cfg.Policy, cfg.Logging, cfg.Secret = next.SSH, next.Telnet, next.Policy, next.Logging, next.Secret
	cfg.Groups, cfg.Fleet.Inventories, cfg.Fleet.Genders = next.Groups, next.Fleet.Inventories, next.Fleet.Genders
	judged := next // with the places of its rules
	judged.Local, judged.Audit, judged.Server, judged.Forward = cfg.Local, cfg.Audit, cfg.Server, cfg.Forward
	web := &cfg.Server.HTTP
	web.AuthToken, web.Tokens, web.TokensFile = next.Server.HTTP.AuthToken, next.Server.HTTP.Tokens, next.Server.HTTP.TokensFile
	set, err := newRules(judged, r.log.Logger)
	setTokens, bad := r.http.again(*web)
	if err = errors.Join(err, bad); err == nil {
		err = r.dialers.replace(cfg, r.log.Logger)
	}
	if err != nil {
		r.log.Error("the configuration was not reloaded: the one before stays in force", "error", err)
		return daemon.Reloaded{Failed: err.Error()}
	}
	r.rules.current.Store(set)
	setTokens(r.log.Logger)
	if r.consents != nil {
		r.consents.SetTTL(cfg.Policy.ConsentTTL)
	}
	where := cfg.Logging
	where.File = cmp.Or(where.File, r.LogFile)
	logs := r.log.Apply(where)
	if logs != nil {
		r.log.Error("the log goes on as before", "error", logs)
		cfg.Logging = r.cfg.Logging
	}
	for _, c := range changes {
		if c.Live && (logs == nil || !strings.HasPrefix(c.Key, "logging.")) {
			done.Applied = append(done.Applied, c.Key)
			r.log.Info("a key was changed", "key", c.Key, "from", c.Old, "to", c.New)
		} else {
			done.Later = append(done.Later, c.Key)
			r.log.Warn("a key was changed that counts only after a "+
				"restart", "key", c.Key, "in_force", c.Old, "then", c.New)
		}
	}
	r.cfg = cfg
	r.log.Info("the configuration was reloaded", "changed", len(done.Applied), "after_restart", len(done.Later))
	if r.then != nil && len(changes) > 0 {
		r.then(cfg)
	}
	return done
}
