package doctor

import (
	"fmt"
	"slices"
	"strings"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/term"
)

// secrets reports the limits of secrets that may be typed into terminals.
func (r *Report) secrets(cfg config.Config) {
	const check = "secrets"
	if len(cfg.Secret) == 0 {
		return
	}
	if _, err := app.Secrets(cfg.Secret, nil); err != nil {
		r.add(Finding{Status: failing, Check: check, Text: err.Error(), Do: "correct the configuration"})
		return
	}
	r.people(cfg)
	var open []string
	for _, s := range cfg.Secret {
		typed := len(s.Uses) == 0 || slices.Contains(s.Uses, string(term.SecretTerminal))
		if typed && s.Confirm != "always" {
			open = append(open, s.Name)
		}
	}
	if len(open) == 0 || limitsCommands(cfg.Policy) {
		r.ok(check, "%d; in terminals, rules that limit commands, or a person, stand before each use", len(cfg.Secret))
		return
	}
	r.add(Finding{
		Status: noted, Check: check,
		Text: fmt.Sprintf("%s: who may run any command on a host as that user can make a prompt of its own and read the "+
			"secret there; a nested ssh shows another host's prompt inside a trusted session", strings.Join(open, ", ")),
		Do: `limit commands with policy.allow, set confirm = "always", or leave terminal out of uses; see docs/secrets.md`,
	})
}

// people reports secrets that need an answer from people who may not answer.
func (r *Report) people(cfg config.Config) {
	var asked []string
	for _, s := range cfg.Secret {
		if s.Source == "person" || s.Confirm != "never" {
			asked = append(asked, s.Name)
		}
	}
	if len(asked) == 0 || cfg.Server.Control.ControlMode == config.ControlReadWrite || cfg.Server.HTTP.Watch {
		return
	}
	r.add(Finding{
		Status: noted, Check: "secrets",
		Text: strings.Join(asked, ", ") + ": a person is asked, and server.control.control_mode lets nobody answer with ptyctl " +
			"answer or ptyctl watch",
		Do: `set control_mode = "readwrite"`,
	})
}

// limitsCommands reports whether the rules let callers run chosen commands alone.
func limitsCommands(p config.Policy) bool {
	enforced := p.Mode != config.PolicyModeReport && p.Typing != config.PolicyTypingAllow
	return enforced && (len(p.Allow) > 0 || p.Preset != "")
}
