package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/exhausted"
	"ptyctl/internal/lazyregexp"
	"ptyctl/sshx/auth"
	"ptyctl/sshx/reach"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// A Route is the plan of a connection: its hops, and the settings of the
// connection as a whole.
type Route struct {
	Hops     []*Hop        // the target last
	Limit    time.Duration // of the whole connection
	Warnings []string

	// For the session on the target.
	Env           []term.EnvVar
	OwnEnv        []term.EnvVar // the part of Env that the operator's ssh_config sets: for commands, too
	callerEnv     []term.EnvVar // the part of Env that the caller has set
	RemoteCommand string
	NoTTY         bool // RequestTTY no
}

// warn adds a warning, once: the same line of a file is read for each hop.
func (r *Route) warn(text string) {
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

// fingerprintForm is the output of ssh-keygen -l, with or without padding.
var fingerprintForm = lazyregexp.New(`^SHA256:[A-Za-z0-9+/]{43}=?$`)

// maxJumps is the most hops of a route; a longer chain is taken for a loop.
const maxJumps = 16

// Login plans a login at the target: it evaluates ssh_config for the target and for each of its jump hosts.
func Login(ctx context.Context, t term.Target, o Settings) (*Route, error) {
	_, r, err := Explain(ctx, t, o)
	return r, err
}

// Explain is Login with the state that led to the route or to the error. The
// state may be nil with an error.
func Explain(ctx context.Context, t term.Target, o Settings) (*Planning, *Route, error) {
	p, overrides, err := newPlanning(ctx, t, o)
	if err != nil {
		return nil, nil, err
	}
	r, err := p.route(ctx, overrides)
	return p, r, err
}

// route plans the hops: the jump hosts first, then the target.
func (p *Planning) route(ctx context.Context, overrides []sshconfig.Override) (*Route, error) {
	t := p.t
	if fp := t.SSH.HostKeyFingerprint; fp != "" && !fingerprintForm.MatchString(fp) {
		return nil, &term.Error{
			Kind: term.InvalidArgument,
			Msg: "the fingerprint to pin is invalid: give SHA256: " +
				"and 43 characters, as ssh-keygen -l -f KEY.pub prints it",
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldFingerprint}},
		}
	}
	// A bad key is reported before a person is asked.
	s, err := auth.CallerKey(auth.Credentials{
		Method: t.Auth.Method, PrivateKey: t.Auth.PrivateKeyPEM, Passphrase: t.Auth.Passphrase,
	})
	if err != nil && !errors.As(err, new(*ssh.PassphraseMissingError)) {
		return nil, err
	}
	p.signer = s
	// The target's configuration names the jump hosts, so it is evaluated first
	// and added last.
	cfg, err := p.evaluate(ctx, sshconfig.Options{Host: t.Host, User: t.User, Port: t.Port, Overrides: overrides})
	if err != nil {
		return nil, err
	}
	if err := p.jumps(ctx, cfg, 1); err != nil {
		return nil, err
	}
	h, err := p.hop(ctx, cfg, sshconfig.Options{Host: t.Host}, true)
	if err != nil {
		return nil, err
	}
	p.add(h)
	if err := p.session(ctx, cfg, h); err != nil {
		return nil, err
	}
	return p.complete()
}

// newPlanning checks the fields of the call that need no configuration. It
// returns the options of the call.
func newPlanning(ctx context.Context, t term.Target, o Settings) (*Planning, []sshconfig.Override, error) {
	extra := t.SSH.ExtraArgs
	if t.SSH.ProxyJump != "" {
		extra = append(slices.Clip(extra), "-J", t.SSH.ProxyJump)
	}
	args, err := sshconfig.ParseExtraArgs(extra)
	if err != nil {
		return nil, nil, extraArgsError(err)
	}
	if _, ok := policies[o.HostKeyFloor]; !ok { // an unknown word must not count as the weakest
		return nil, nil, term.Errorf(
			term.InvalidArgument,
			"the weakest host key policy %q does not exist; the operator must set strict, ask, accept_new or disabled",
			o.HostKeyFloor,
		)
	}
	p := &Planning{t: t, o: o, Route: &Route{Limit: t.ConnectTimeout}}
	p.configPath = t.SSH.ConfigPath
	if p.configPath == "" {
		p.configPath = args.ConfigFile
	}
	for _, path := range []*string{&p.configPath, &p.t.SSH.KnownHostsPath} {
		if whole, ok := callersPath(ctx, *path); ok {
			*path = whole
		}
	}
	return p, args.Overrides, p.checkPaths()
}

// callersPath returns a path of the caller that is relative to a folder other than this process's; ok is false if the
// path means the same here, or is not a path.
func callersPath(ctx context.Context, path string) (whole string, ok bool) {
	env := term.EnvironmentFrom(ctx)
	if env == nil || path == "" || strings.EqualFold(path, "none") || filepath.IsAbs(path) {
		return "", false
	}
	whole, err := env.Abs(path)
	return whole, err == nil
}

// complete adds the proxy and the time limit.
func (p *Planning) complete() (*Route, error) {
	if first := p.Route.Hops[0]; p.t.SSH.ProxyURL != "" && first.Command.Line != "" {
		return nil, &term.Error{
			Kind: term.InvalidArgument,
			Msg: fmt.Sprintf(
				"%s is reached through the ProxyCommand of the operator's ssh_config (%s), which takes no proxy; leave it out",
				first, first.Command.Where,
			),
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldProxyURL}},
		}
	}
	if p.t.SSH.ProxyURL != "" {
		u, err := reach.ParseProxy(p.t.SSH.ProxyURL)
		if err != nil {
			return nil, err
		}
		p.Route.Hops[0].Proxy = u // only the first hop is reached directly
	}
	// The call's limit wins over ssh_config. Otherwise the login has the operator's, or all that ssh_config gives the way
	// to a hop.
	if p.Route.Limit == 0 {
		p.Route.Limit = p.o.ConnectTimeout
		for _, h := range p.Route.Hops {
			p.Route.Limit = max(p.Route.Limit, h.Within.Limit)
		}
	}
	return p.Route, nil
}

// within returns the limit that a configuration sets for the way to its host.
func (p *Planning) within(cfg *sshconfig.Config) Within {
	from := cfg.Origin("ConnectTimeout")
	limit := cfg.ConnectTimeout
	switch {
	case p.t.ConnectTimeout != 0:
		return Within{}
	case from.Caller(): // a call asks for more in Target.ConnectTimeout, which the operator bounds
		limit = min(limit, p.o.ConnectTimeout)
	}
	return Within{limit, from.String()}
}

// configError converts an error of an evaluation. A file that could not be read is no fault of
// its words.
func configError(what string, err error) *term.Error {
	what += ": " + err.Error()
	file, unusable := errors.AsType[*sshconfig.FileError](err)
	switch {
	case exhausted.Descriptors(err):
		return exhausted.NoDescriptors("ssh_config cannot be read", err)
	case unusable && errors.As(file.Err, new(*fs.PathError)) && !errors.Is(err, fs.ErrNotExist) &&
		!errors.Is(err, fs.ErrPermission):
		return &term.Error{Kind: term.IOError, Reason: term.ReasonUnreadable, Err: err, Msg: what}
	}
	return &term.Error{Kind: term.InvalidArgument, Err: err, Msg: what}
}

// extraArgsError returns the error for an option of the call that is not
// supported or malformed.
func extraArgsError(err error) error {
	kind := term.InvalidArgument
	if errors.As(err, new(*sshconfig.UnsupportedArgError)) {
		kind = term.Unsupported
	}
	return &term.Error{
		Kind:  kind,
		Err:   err,
		Msg:   "extra arguments: " + err.Error(),
		Facts: term.Facts{term.ArgumentFault{Field: term.FieldExtraArgs}},
	}
}

// A Planning is the state while a route is planned.
type Planning struct {
	t          term.Target
	o          Settings
	Route      *Route
	configPath string     // the caller's file
	signer     ssh.Signer // the caller's key, if it could be read without a question
	Evaluated  []Evaluated
}

// An Evaluated is a host with its evaluated ssh_config.
type Evaluated struct {
	Name      string
	Config    *sshconfig.Config
	overrides []sshconfig.Override // the options of that evaluation
	Hop       *Hop                 // nil before it is planned
}

// planned records the hop made from cfg.
func (p *Planning) planned(cfg *sshconfig.Config, h *Hop) {
	for i := range p.Evaluated {
		if p.Evaluated[i].Config == cfg {
			p.Evaluated[i].Hop = h
		}
	}
}

// add appends a hop to the route.
func (p *Planning) add(h *Hop) {
	h.Index = len(p.Route.Hops)
	p.Route.Hops = append(p.Route.Hops, h)
}

// evaluate evaluates the configuration of one host. A refusal is an error;
// warnings are kept.
func (p *Planning) evaluate(ctx context.Context, eo sshconfig.Options) (*sshconfig.Config, error) {
	eo = p.own(ctx, eo)
	eo.NoFiles = eo.NoFiles || p.t.SSH.NoConfig
	eo.CallerFile = p.configPath
	// AllowPath is also called for the files that the caller's file includes.
	eo.AllowPath = func(path string) error { return p.checkPath(term.FieldConfigPath, path, path) }
	cfg, err := sshconfig.Evaluate(ctx, eo)
	if own, ok := errors.AsType[*term.Error](err); ok {
		return nil, own
	}
	if err != nil {
		return nil, configError("ssh_config", err)
	}
	p.Evaluated = append(p.Evaluated, Evaluated{Name: eo.Host, Config: cfg, overrides: eo.Overrides})
	for _, w := range cfg.Warnings {
		if w.Applies {
			p.Route.warn(w.String())
		}
	}
	if len(cfg.Unsupported) > 0 {
		return nil, p.unsupported(eo.Host, cfg.Unsupported)
	}
	return cfg, nil
}

// unsupported is the refusal of a host if its configuration needs an unsupported feature, or a program that the
// operator does not allow.
func (p *Planning) unsupported(host string, refusals []sshconfig.Refusal) error {
	why, allowable := make([]string, len(refusals)), true
	for i, r := range refusals {
		why[i] = r.Error()
		allowable = allowable && r.Program
	}
	e := &term.Error{
		Kind: term.Unsupported,
		Msg:  fmt.Sprintf("the configuration for %s needs unsupported features: %s", host, strings.Join(why, "; ")),
	}
	if allowable {
		e.Kind, e.Facts = term.PolicyDenied, term.Facts{term.Denial{Setting: term.SettingExecDirectives}}
		e.Msg = fmt.Sprintf(
			"the configuration for %s needs a program that the operator does not allow%s: %s",
			host, p.o.named(term.SettingExecDirectives), strings.Join(why, "; "),
		)
	}
	return e
}

// jumps plans the jump hosts of a configuration. As with ssh -J, only the first
// of them is reached by its own configuration; the others are reached through the
// one before.
func (p *Planning) jumps(ctx context.Context, over *sshconfig.Config, depth int) error {
	list, callers := over.ProxyJump, jumpsOrigin(over).Caller()
	if depth > maxJumps || len(p.Route.Hops)+len(list) > maxJumps {
		return term.Errorf(
			term.InvalidArgument,
			"ProxyJump for %s leads through more than %d hosts; "+
				"look for a jump host whose own configuration jumps back",
			p.t.Host,
			maxJumps,
		)
	}
	for i, j := range list {
		asked := sshconfig.Options{
			Host: j.Host, User: j.User, Port: j.Port, Overrides: j.Overrides, Behind: i > 0,
		}
		cfg, err := p.evaluate(ctx, asked)
		if err != nil {
			return err
		}
		if i == 0 && len(cfg.ProxyJump) > 0 {
			if err := p.jumps(ctx, cfg, depth+1); err != nil {
				return err
			}
		}
		own := sshconfig.Options{Host: j.Host}
		if !callers {
			own = asked
		}
		h, err := p.hop(ctx, cfg, own, false)
		if err != nil {
			return err
		}
		p.add(h)
	}
	return nil
}

// endpoint returns a hop with the settings of its network connection.
func (p *Planning) endpoint(cfg *sshconfig.Config, name string) (*Hop, error) {
	if err := checkSteering(cfg); err != nil {
		return nil, err
	}
	if err := p.checkCaller(cfg); err != nil {
		return nil, err
	}
	if cfg.BindInterface != "" && !reach.CanBindInterface {
		return nil, term.Errorf(
			term.Unsupported,
			"%s: BindInterface is supported on Linux only",
			cfg.Origin("BindInterface"),
		)
	}
	return &Hop{Within: p.within(cfg), Endpoint: reach.Endpoint{
		Name: name, Host: cfg.HostName, Port: cfg.Port, Family: families[cfg.AddressFamily], Dial: p.o.Dial,
		BindAddress: cfg.BindAddress, BindInterface: cfg.BindInterface,
		Attempts: cfg.ConnectionAttempts, TCPKeepAlive: cfg.TCPKeepAlive,
		Config:  cfg.File,
		Command: reach.Command{Line: cfg.ProxyCommand, Where: cfg.Origin("ProxyCommand").String()},
	}}, nil
}

// hop returns a hop to log in to. own is the question to the operator's
// configuration about the same host.
func (p *Planning) hop(ctx context.Context, cfg *sshconfig.Config, own sshconfig.Options, target bool) (*Hop, error) {
	h, err := p.endpoint(cfg, own.Host)
	if err != nil {
		return nil, err
	}
	h.User, h.Rekey = cfg.User, uint64(cfg.RekeyLimit)
	h.Kex, h.Ciphers, h.MACs = cfg.KexAlgorithms, cfg.Ciphers, cfg.MACs
	h.hostKeyAlgos, h.pubkeyAlgos = cfg.HostKeyAlgorithms, cfg.PubkeyAcceptedAlgorithms
	h.Keepalive, h.KeepaliveCount = p.o.KeepaliveInterval, p.o.KeepaliveCountMax
	h.hostKeyFixed, h.UpdateHostKeys = cfg.HostKeyAlgorithmsFixed, cfg.UpdateHostKeys == "yes"
	h.Cred, h.Answerer = p.credentials(cfg, target), p.o.Answerer
	if target {
		h.Secret = p.t.Auth.Secret
	}
	if cfg.VersionAddendum != "" {
		h.Version = " " + cfg.VersionAddendum
	}
	// ssh_config has keepalives off by default; then the operator's setting
	// stays.
	if cfg.ServerAliveInterval > 0 {
		h.Keepalive, h.KeepaliveCount = cfg.ServerAliveInterval, cfg.ServerAliveCountMax
	}
	err = p.trust(ctx, cfg, h, target)
	p.planned(cfg, h)
	if err != nil {
		return h, err
	}
	return h, p.meaning(ctx, cfg, own, h)
}

// families maps the values of AddressFamily to networks of package net.
var families = map[string]string{"": "tcp", "any": "tcp", "inet": "tcp4", "inet6": "tcp6"}
