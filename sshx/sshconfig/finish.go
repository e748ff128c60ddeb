package sshconfig

import (
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// finish converts the values read to a Config.
func (e *evaluator) finish(host string) *Config {
	c := &Config{Host: e.opt.Host, File: e.opt.first(), HostName: host, set: e.set, effects: make(map[string][]Value)}
	c.note("HostName", host)
	f := &finisher{evaluator: e, c: c}
	f.user(host)
	f.t = e.tokens(host)
	// The user may contain tokens itself, so %r and the hash over it are set after it.
	f.t['r'] = c.User
	f.t.hash()

	f.destination()
	f.proxy()
	f.crypto()
	f.trust()
	f.authentication()
	f.session()
	f.unsupported()
	c.Warnings, c.Unsupported = e.warnings, e.refusals
	return c
}

// finisher fills in one Config.
type finisher struct {
	*evaluator
	c *Config
	t tokens
}

// word returns and records the first argument of a keyword.
func (f *finisher) word(name string) string {
	v := f.text(name)
	f.c.note(name, v)
	return v
}

// flag returns and records a keyword with the values yes and no.
func (f *finisher) flag(name string) bool { return f.word(name) == "yes" }

// number returns an argument that its kind has checked to be a number.
func (e *evaluator) number(name string) int {
	n, _ := strconv.Atoi(e.text(name))
	return n
}

// number returns and records a numeric keyword.
func (f *finisher) number(name string) int {
	f.c.note(name, f.text(name))
	return f.evaluator.number(name)
}

// seconds returns and records a time.
func (f *finisher) seconds(name string) time.Duration {
	return time.Duration(f.number(name)) * time.Second
}

// expand expands one value of k, in the order of ssh(1): the tilde, then tokens and variables. A
// value that fails to expand is dropped with a warning, or refuses the host if k is strict.
func (f *finisher) expand(k *Keyword, value string, origin Origin) (string, bool) {
	s, err := value, error(nil)
	if k.Tilde {
		s, err = f.tilde(s)
	}
	if err == nil {
		env := f.env(origin)
		if !k.Env {
			env = nil
		}
		s, err = expand(s, f.t.only(k.Tokens), env)
	}
	if err == nil {
		if k.Tilde {
			s = f.whole(s)
		}
		return s, true
	}
	if k.Strict {
		f.refuse(k.Name, origin, err.Error())
	} else {
		f.warn(Warning{Origin: origin, Keyword: k.Name, Applies: true, Text: err.Error() + "; the value was dropped"})
	}
	return "", false
}

// whole returns the path of a file in Options.Dir.
func (f *finisher) whole(path string) string {
	if f.opt.Dir == "" || path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.opt.Dir, path)
}

// expanded returns and records the only value of a keyword, expanded.
func (f *finisher) expanded(name string) string {
	s, _ := f.expand(lookup(name), f.text(name), f.origin(name))
	f.c.note(name, s)
	return s
}

// paths returns and records the expanded values of a keyword, without "none".
func (f *finisher) paths(name string) []string {
	var paths []string
	for _, arg := range f.args(name) {
		if strings.EqualFold(arg, "none") {
			continue
		}
		if s, ok := f.expand(lookup(name), arg, f.origin(name)); ok {
			paths = append(paths, s)
		}
	}
	f.c.note(name, paths...)
	return paths
}

// values is paths for a keyword that accumulates.
func (f *finisher) values(name string) []Value {
	k := lookup(name)
	var items []Value
	if s := f.set[name]; s != nil {
		items = s.items
	} else {
		for _, arg := range k.Default {
			items = append(items, Value{Text: arg, Origin: Origin{Source: Default}})
		}
	}
	var values []Value
	for _, v := range items {
		if strings.EqualFold(v.Text, "none") {
			continue
		}
		if s, ok := f.expand(k, v.Text, v.Origin); ok {
			values = append(values, Value{Text: s, Origin: v.Origin})
		}
	}
	f.c.noteValues(name, slices.Clone(values))
	return values
}

// user decides the remote user, before the tokens that contain it.
func (f *finisher) user(host string) {
	user := f.evaluator.user()
	if s := f.set["User"]; s != nil && s.origin.Source != Argument {
		f.t = f.tokens(host)
		if expanded, ok := f.expand(lookup("User"), user, s.origin); ok && expanded != user {
			user = expanded
			if !validUser(user) {
				f.refuse("User", s.origin, "after expansion it contains characters that are not allowed in a user name")
			}
		}
	}
	f.c.User = user
	f.c.note("User", user)
}

// destination sets the fields of the network connection.
func (f *finisher) destination() {
	c := f.c
	c.Port = f.number("Port")
	c.HostKeyAlias = strings.ToLower(f.text("HostKeyAlias"))
	c.note("HostKeyAlias", c.HostKeyAlias)
	c.AddressFamily = f.word("AddressFamily")
	c.BindAddress = f.word("BindAddress")
	c.BindInterface = f.word("BindInterface")
	if c.BindInterface != "" && runtime.GOOS != "linux" {
		f.refuse("BindInterface", f.origin("BindInterface"), "it needs Linux: use BindAddress")
	}
	c.ConnectTimeout = f.seconds("ConnectTimeout")
	c.ConnectionAttempts = f.number("ConnectionAttempts")
	c.TCPKeepAlive = f.flag("TCPKeepAlive")
	for _, name := range []string{
		"Tag", "IgnoreUnknown", "CanonicalizeHostname", "CanonicalizeMaxDots", "CanonicalizeFallbackLocal",
	} {
		f.word(name)
	}
	c.note("CanonicalDomains", f.args("CanonicalDomains")...)
	c.note("CanonicalizePermittedCNAMEs", f.args("CanonicalizePermittedCNAMEs")...)
}

// crypto sets the algorithm lists and the limits of the session keys.
func (f *finisher) crypto() {
	c, d := f.c, f.opt.Defaults
	for _, l := range []struct {
		name string
		set  AlgorithmSet
		to   *[]string
	}{
		{"KexAlgorithms", d.Kex, &c.KexAlgorithms},
		{"Ciphers", d.Ciphers, &c.Ciphers},
		{"MACs", d.MACs, &c.MACs},
		{"HostKeyAlgorithms", d.HostKey, &c.HostKeyAlgorithms},
		{"PubkeyAcceptedAlgorithms", d.Pubkey, &c.PubkeyAcceptedAlgorithms},
		{"CASignatureAlgorithms", d.CASignature, &c.CASignatureAlgorithms},
	} {
		*l.to = f.algorithms(l.name, l.set)
		if l.name == "HostKeyAlgorithms" {
			list := f.text(l.name)
			c.HostKeyAlgorithmsFixed = list != "" && list[0] != '+' && list[0] != '-'
		}
		c.note(l.name, strings.Join(*l.to, ","))
	}
	c.RequiredRSASize = f.number("RequiredRSASize")
	limit := f.args("RekeyLimit")
	c.RekeyLimit, _ = strconv.ParseInt(limit[0], 10, 64) // the kind has checked the number
	if len(limit) == 1 {
		limit = append(slices.Clone(limit), "0")
	}
	c.note("RekeyLimit", limit...)
	if limit[1] != "0" {
		f.warn(Warning{
			Origin: f.origin("RekeyLimit"), Keyword: "RekeyLimit", Applies: true,
			Text: "keys are renewed by size only, not by time",
		})
	}
}

// trust sets the fields about host keys.
func (f *finisher) trust() {
	c := f.c
	c.StrictHostKeyChecking = f.word("StrictHostKeyChecking")
	c.UserKnownHostsFiles = f.paths("UserKnownHostsFile")
	c.GlobalKnownHostsFiles = nil
	for _, path := range f.args("GlobalKnownHostsFile") {
		if path != "none" { // no tokens: ssh_config(5) has none for this keyword
			c.GlobalKnownHostsFiles = append(c.GlobalKnownHostsFiles, f.whole(path))
		}
	}
	c.note("GlobalKnownHostsFile", c.GlobalKnownHostsFiles...)
	c.RevokedHostKeys = f.paths("RevokedHostKeys")
	c.HashKnownHosts = f.flag("HashKnownHosts")
	c.CheckHostIP = f.flag("CheckHostIP")
	c.NoHostAuthenticationForLocalhost = f.flag("NoHostAuthenticationForLocalhost")
	c.UpdateHostKeys = f.updateHostKeys()
	c.note("UpdateHostKeys", c.UpdateHostKeys)
}

// updateHostKeys returns the setting or its default, which depends on other keywords: no if the
// user has set a known_hosts file of their own.
func (f *finisher) updateHostKeys() string {
	if v := f.text("UpdateHostKeys"); v != "" {
		return v
	}
	if f.origin("UserKnownHostsFile").Source != Default ||
		!slices.Contains([]string{"", "no"}, f.text("VerifyHostKeyDNS")) {
		return "no"
	}
	return "yes"
}

// authentication sets the fields about keys, agents and login methods.
func (f *finisher) authentication() {
	c := f.c
	c.IdentityFiles = f.values("IdentityFile")
	c.CertificateFiles = f.values("CertificateFile")
	c.IdentitiesOnly = f.flag("IdentitiesOnly")
	c.IdentityAgent = f.agent("IdentityAgent")
	c.AddKeysToAgent = f.word("AddKeysToAgent")
	if args := f.args("AddKeysToAgent"); len(args) == 2 {
		n, _ := strconv.Atoi(args[1])
		c.AddKeysLifetime = time.Duration(n) * time.Second
		c.note("AddKeysToAgent", args...)
	}
	if list := f.word("PreferredAuthentications"); list != "" {
		c.PreferredAuthentications = strings.Split(list, ",")
		possible := []string{"publickey", "keyboard-interactive", "password", "none"}
		if !slices.ContainsFunc(
			c.PreferredAuthentications,
			func(m string) bool { return slices.Contains(possible, m) },
		) {
			f.warn(Warning{
				Origin: f.origin("PreferredAuthentications"), Keyword: "PreferredAuthentications", Applies: true,
				Text: "none of these methods is available; add publickey, keyboard-interactive or password",
			})
		}
	}
	c.PubkeyAuthentication = f.word("PubkeyAuthentication") != "no"
	c.PasswordAuthentication = f.flag("PasswordAuthentication")
	c.KbdInteractiveAuthentication = f.flag("KbdInteractiveAuthentication")
	c.NumberOfPasswordPrompts = f.number("NumberOfPasswordPrompts")
	c.BatchMode = f.flag("BatchMode")
}

// agent returns the socket of an agent keyword: a path, none, SSH_AUTH_SOCK, or $NAME for the value
// of a variable.
func (f *finisher) agent(name string) string {
	value, origin := f.text(name), f.origin(name)
	variable, isVariable := strings.CutPrefix(value, "$")
	switch {
	case value == "none":
		f.c.note(name, value)
		return ""
	case value == "SSH_AUTH_SOCK":
		variable = value
	case !isVariable || strings.HasPrefix(value, "${"):
		return f.expanded(name)
	}
	socket, err := f.env(origin)(variable)
	if err != nil && value != "SSH_AUTH_SOCK" {
		f.warn(Warning{Origin: origin, Keyword: name, Applies: true, Text: err.Error() + "; no agent is used"})
	}
	if socket == "" && value == "SSH_AUTH_SOCK" {
		socket = defaultAgent(runtime.GOOS)
	}
	socket = f.whole(socket)
	f.c.note(name, socket)
	return socket
}

// session sets the fields about the session after login.
func (f *finisher) session() {
	c := f.c
	c.ServerAliveInterval = f.seconds("ServerAliveInterval")
	c.ServerAliveCountMax = f.number("ServerAliveCountMax")
	c.SendEnv = f.values("SendEnv")
	for _, pair := range f.args("SetEnv") {
		variable, value, _ := strings.Cut(pair, "=")
		c.SetEnvNames = append(c.SetEnvNames, variable)
		if s, ok := f.expand(lookup("SetEnv"), value, f.origin("SetEnv")); ok {
			c.SetEnv = append(c.SetEnv, variable+"="+s)
		}
	}
	c.note("SetEnv", c.SetEnv...)
	c.RequestTTY = f.word("RequestTTY")
	if !strings.EqualFold(f.text("RemoteCommand"), "none") {
		c.RemoteCommand = f.expanded("RemoteCommand")
	}
	switch v := f.text("ForwardAgent"); v {
	case "yes", "no":
		c.ForwardAgent = f.flag("ForwardAgent")
	default:
		c.ForwardAgentSocket = f.agent("ForwardAgent")
		c.ForwardAgent = c.ForwardAgentSocket != ""
	}
	c.VersionAddendum = f.expanded("VersionAddendum")
	if strings.ContainsFunc(c.VersionAddendum, isControl) {
		f.refuse("VersionAddendum", f.origin("VersionAddendum"), "after expansion it contains a control character")
		c.VersionAddendum = ""
	}
	f.word("SessionType")
}

// unsupported reports the keywords of class Warn and Refuse with a value that has an effect in
// ssh(1), and the special cases among the others.
func (f *finisher) unsupported() {
	for _, name := range []string{"ProxyUseFdpass", "PermitLocalCommand", "ExitOnForwardFailure", "ClearAllForwardings"} {
		f.word(name)
	}
	// The order of the map is random; messages must come in the same order each time.
	forwards := false
	for _, name := range slices.Sorted(maps.Keys(f.set)) {
		k, s := lookup(name), f.set[name]
		values := s.args
		if k.Accumulates {
			values = nil
		}
		if k.why == "" || len(values) > 0 && slices.Contains(k.safe, strings.ToLower(values[0])) {
			continue
		}
		if strings.HasSuffix(name, "Forward") {
			if f.text("ClearAllForwardings") == "yes" || len(s.items) == 0 {
				continue
			}
			forwards = true
		}
		if k.Class == Refuse {
			f.refuse(name, s.origin, k.why)
			continue
		}
		f.warn(Warning{Origin: s.origin, Keyword: name, Text: k.why, Applies: true})
	}
	if forwards && f.text("ExitOnForwardFailure") == "yes" {
		f.refuse("ExitOnForwardFailure", f.origin("ExitOnForwardFailure"),
			"a forwarding is configured and "+whyForward+", or set ClearAllForwardings yes")
	}
	f.localPrograms()
}

// localPrograms reports the commands that this client never runs. A caller's are refused, so that
// the caller does not assume that they ran.
func (f *finisher) localPrograms() {
	report := func(name, why string) {
		cmd, origin := f.text(name), f.origin(name)
		switch {
		case cmd == "" || strings.EqualFold(cmd, "none"):
		case origin.Caller():
			f.refuse(name, origin, f.execRefused(origin)+": remove it")
		default:
			f.warn(Warning{Origin: origin, Keyword: name, Text: why, Applies: true})
		}
	}
	report("KnownHostsCommand", "the command is not run; host keys come from the known_hosts files only")
	if f.text("PermitLocalCommand") == "yes" {
		report("LocalCommand", "the command is not run: this client runs none on this machine")
	}
}
