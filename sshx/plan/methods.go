package plan

import (
	"fmt"
	"os"
	"slices"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/sshconfig"
)

// preferred returns the authentication methods that a configuration allows, the
// preferred one first.
func preferred(cfg *sshconfig.Config) []string {
	order := cfg.PreferredAuthentications
	if len(order) == 0 {
		order = []string{auth.MethodPublicKey, auth.MethodKeyboard, auth.MethodPassword}
	}
	return slices.DeleteFunc(slices.Clone(order), func(m string) bool {
		switch m {
		case auth.MethodPublicKey:
			return !cfg.PubkeyAuthentication
		case auth.MethodKeyboard:
			return !cfg.KbdInteractiveAuthentication
		case auth.MethodPassword:
			return !cfg.PasswordAuthentication
		}
		return true
	})
}

// credentials returns the methods of a login and the keys for them. Only the target gets the
// credentials of the call, because a jump host must not receive the target's password.
func (p *Planning) credentials(cfg *sshconfig.Config, target bool) auth.Credentials {
	c := auth.Credentials{
		Preferred: preferred(cfg), IdentityFiles: texts(cfg.IdentityFiles), Certificates: texts(cfg.CertificateFiles),
		IdentitiesOnly: cfg.IdentitiesOnly, Agent: auth.AgentAt{Socket: cfg.IdentityAgent}, Prompts: cfg.NumberOfPasswordPrompts,
		Batch: cfg.BatchMode || p.t.Auth.NoInteractive,
	}
	c.Signers = p.o.Signers
	// The agent belongs to the operator; a caller must not add keys to it.
	if at := cfg.Origin("AddKeysToAgent"); !at.Caller() {
		c.AddKeys, c.AddLifetime = cfg.AddKeysToAgent, cfg.AddKeysLifetime
	} else if cfg.AddKeysToAgent != "no" {
		p.Route.warn(fmt.Sprintf("AddKeysToAgent (from %s) has no effect: "+
			"only the operator's own ssh_config may change the agent", at))
	}
	for _, v := range cfg.IdentityFiles {
		if v.Origin.Caller() && missing(v.Text) {
			c.Notes = append(c.Notes, fmt.Sprintf("%s (from %s) does not exist", v.Text, v.Origin))
		}
	}
	if p.o.IdentityAgent != "" && cfg.Origin("IdentityAgent").Source == sshconfig.Default {
		c.Agent.Socket = p.o.IdentityAgent
		if p.o.IdentityAgent == "none" {
			c.Agent.Socket = ""
		}
	}
	if p.o.Agent != nil {
		c.Agent = auth.AgentAt{Agent: p.o.Agent}
	}
	if target {
		a := p.t.Auth
		c.Method, c.Password = a.Method, a.Password
		c.PrivateKey, c.Passphrase = a.PrivateKeyPEM, a.Passphrase
		c.Signer = p.signer
	}
	return c
}

// texts returns the texts of values.
func texts(values []sshconfig.Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Text
	}
	return out
}

// missing reports whether an identity file does not exist. The caller's files
// must exist; the default ones need not.
func missing(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}
