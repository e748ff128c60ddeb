package plan

import (
	"context"
	"fmt"
	"path"
	"strings"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// session plans the session on the target: environment, command and agent.
func (p *Planning) session(ctx context.Context, cfg *sshconfig.Config, h *Hop) error {
	r := p.Route
	r.Env, r.OwnEnv, r.callerEnv = environment(cfg, term.EnvironmentFrom(ctx).List())
	r.RemoteCommand = cfg.RemoteCommand
	r.NoTTY = cfg.RequestTTY == "no"
	if p.t.SSH.Legacy {
		allowWeak(h)
	}
	if !cfg.ForwardAgent {
		return nil
	}
	at := cfg.Origin("ForwardAgent")
	switch {
	case p.o.AllowAgentForwarding:
		h.ForwardAgent = auth.AgentAt{Socket: cfg.ForwardAgentSocket}
		if !h.ForwardAgent.Any() {
			h.ForwardAgent = h.Cred.Agent
		}
	case at.Caller():
		return &term.Error{
			Kind: term.PolicyDenied,
			Msg: fmt.Sprintf(
				"agent forwarding (from %s) is not allowed by the operator; leave it out",
				at,
			),
			Facts: term.Facts{
				term.ArgumentFault{Field: term.FieldExtraArgs},
				term.Denial{Setting: term.SettingAgentForwarding},
			},
		}
	default:
		r.warn(
			fmt.Sprintf(
				"%s: the agent is not forwarded; the operator would have to allow it%s",
				at, p.o.named(term.SettingAgentForwarding),
			),
		)
	}
	return nil
}

// environment returns the variables of SetEnv and SendEnv, and those of them that
// the operator and the caller have set. have are the variables of the program that opens the session.
func environment(cfg *sshconfig.Config, have []string) (env, own, callers []term.EnvVar) {
	add := func(name, value string, from sshconfig.Origin) {
		v := term.EnvVar{Name: name, Value: value}
		env = append(env, v)
		if from.Caller() {
			callers = append(callers, v)
		} else {
			own = append(own, v)
		}
	}
	for _, kv := range cfg.SetEnv {
		if name, value, ok := strings.Cut(kv, "="); ok {
			add(name, value, cfg.Origin("SetEnv"))
		}
	}
	for _, v := range cfg.SendEnv {
		for _, kv := range have {
			name, value, _ := strings.Cut(kv, "=")
			if ok, err := path.Match(v.Text, name); err != nil || !ok {
				continue
			}
			add(name, value, v.Origin)
		}
	}
	return env, own, callers
}

// allowWeak appends the algorithms of old devices to the offers for one host.
func allowWeak(h *Hop) {
	weak := ssh.InsecureAlgorithms()
	h.Kex = appendMissing(h.Kex, weak.KeyExchanges)
	h.Ciphers = appendMissing(h.Ciphers, weak.Ciphers)
	h.MACs = appendMissing(h.MACs, weak.MACs)
	h.hostKeyAlgos = appendMissing(h.hostKeyAlgos, weak.HostKeys)
	h.pubkeyAlgos = appendMissing(h.pubkeyAlgos, weak.PublicKeyAuths)
}

// appendMissing returns list with the elements of more that it lacks.
func appendMissing(list, more []string) []string {
	have := make(map[string]bool)
	for _, a := range list {
		have[a] = true
	}
	out := append([]string(nil), list...)
	for _, a := range more {
		if !have[a] {
			out = append(out, a)
		}
	}
	return out
}
