package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"ptyctl/config"
	"ptyctl/fleet/nodes"
	"ptyctl/mcpapi/wire"
	"ptyctl/secret"
	"ptyctl/secret/source"
	"ptyctl/serial"
	"ptyctl/session/known"
	"ptyctl/sshx"
	"ptyctl/term"
)

// dialers open the connections of new sessions. They are replaced as a whole when the configuration is read again; a
// session keeps those with which it was opened.
type dialers struct {
	current atomic.Pointer[dialerSet]
	secrets secret.Options
	codes   source.Codes    // that were given out
	known   *known.Registry // the secrets that were given to hosts, which nothing shows
}

// A dialerSet holds the dialers, secrets and sources of host names that follow from one reading of the configuration.
type dialerSet struct {
	network *sshx.Network
	telnet  term.Dialer
	serial  serial.Allow
	secrets *secret.Store // nil: no secrets
	hosts   nodes.Sources
}

// replace makes the dialers of cfg open the sessions from now on. After an error nothing has changed.
func (d *dialers) replace(cfg config.Config, log *slog.Logger) error {
	store, err := secretStore(cfg, &d.codes, d.secrets)
	if err != nil {
		return err
	}
	o := SSHOptions(cfg, log)
	if store != nil {
		o.Answerer = store
	}
	network := sshx.NewNetwork(o)
	telnet, err := telnetDialer(cfg, network)
	if err != nil {
		return err
	}
	d.current.Store(&dialerSet{network, telnet, cfg.Serial.Allow, store, HostSources(cfg)})
	return nil
}

// Check implements term.Secrets.
func (d *dialers) Check(ctx context.Context, r term.SecretRequest) (term.Ruling, error) {
	return d.store().Check(ctx, r)
}

// Release implements term.Secrets.
func (d *dialers) Release(ctx context.Context, r term.SecretRequest) ([]byte, error) {
	return d.store().Release(ctx, r)
}

// List implements term.Secrets.
func (d *dialers) List(ctx context.Context) []term.SecretInfo { return d.store().List(ctx) }

// offered returns d if there are secrets, and nil otherwise.
func (d *dialers) offered() term.Secrets {
	if d.current.Load().secrets == nil {
		return nil
	}
	return d
}

// store returns the operator's secrets; without any, an empty store.
func (d *dialers) store() *secret.Store {
	if store := d.current.Load().secrets; store != nil {
		return store
	}
	return new(secret.Store)
}

// byProtocol returns the dialers of the manager.
func (d *dialers) byProtocol() map[string]term.Dialer {
	return map[string]term.Dialer{
		"ssh": func(ctx context.Context, t term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
			return d.current.Load().network.OpenShell(ctx, t, p, approve)
		},
		"telnet": func(ctx context.Context, t term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
			return d.current.Load().telnet(ctx, t, p, approve)
		},
	}
}

// plan is the term.Planner of SSH.
func (d *dialers) plan(ctx context.Context, t term.Target) (term.Plan, error) {
	return d.current.Load().network.Plan(ctx, t)
}

// judge submits the plan of a target as its opening would, and sends nothing to any host.
func (d *dialers) judge(ctx context.Context, t term.Target, approve term.Approve) (term.Plan, error) {
	return d.current.Load().network.Judge(ctx, t, approve)
}

// handshakesWaiting counts the handshakes of the newest dialers.
func (d *dialers) handshakesWaiting() int { return d.current.Load().network.HandshakesWaiting() }

// SSHOptions are the options of an SSH connection that cfg describes.
func SSHOptions(cfg config.Config, log *slog.Logger) sshx.Options {
	keepalive := cfg.SSH.KeepaliveInterval
	if keepalive == 0 {
		keepalive = -1 * time.Second // for none the file has 0, the library a negative interval
	}
	return sshx.Options{
		HostKeyPolicy: string(cfg.SSH.HostKeyPolicy), HostKeyFloor: string(cfg.SSH.HostKeyFloor),
		KnownHostsPath: cfg.SSH.KnownHostsPath, ConfigPath: cfg.SSH.ConfigPath, NoConfig: !cfg.SSH.UseOpenSSHConfig,
		AllowExecDirectives: cfg.SSH.AllowExecDirectives, AllowAgentForwarding: cfg.SSH.AllowAgentForwarding,
		CallerPaths: cfg.SSH.CallerPaths, IdentityAgent: cfg.SSH.IdentityAgent,
		ConnectTimeout:    cfg.Session.ConnectTimeout,
		KeepaliveInterval: keepalive, KeepaliveCountMax: cfg.SSH.KeepaliveCountMax,
		MaxConnectionsPerHost: cfg.SSH.MaxConnectionsPerHost,
		SettingName:           wire.SettingName,
		Logger:                log,
	}
}

// QuietSSHOptions are the same for a command that looks at a connection, without a log.
func QuietSSHOptions(cfg config.Config) sshx.Options {
	return SSHOptions(cfg, slog.New(slog.DiscardHandler))
}
