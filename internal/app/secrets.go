package app

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/mcpapi/elicit"
	"ptyctl/policy"
	"ptyctl/secret"
	"ptyctl/secret/source"
	"ptyctl/term"
)

// Secrets returns the operator's secrets. The error names each entry that is wrong, with its line. codes are those that
// were given out before; nil: none.
func Secrets(entries []config.NamedSecret, codes *source.Codes) ([]secret.Definition, error) {
	home, _ := os.UserHomeDir() // without one, a path that begins with ~ is refused
	var list []secret.Definition
	var errs []error
	for _, e := range entries {
		wrong := func(key string, err error) {
			errs = append(errs, fmt.Errorf("%s: secret.%s.%s: %w", e.Where, e.Name, key, err))
		}
		d := secret.Definition{
			Name: e.Name, OneTime: strings.HasPrefix(e.Source, "totp:"), Hosts: e.Hosts, Users: e.Users,
			AllowEcho: e.AllowEcho, PerHour: e.PerHour, ShortOK: e.ShortOK, Hint: e.Hint, Devices: e.Devices, Local: e.Local,
			Callers: e.Callers, Listed: e.Commands, Auto: e.Auto, Cleartext: e.Cleartext, Confirm: secret.Confirm(e.Confirm),
		}
		if len(e.Hosts)+len(e.Devices) == 0 && !e.Local {
			wrong("hosts", errors.New("it names no place; write hosts, devices or local = true"))
		}
		for _, text := range e.Uses {
			u := term.SecretUse(text)
			if u != term.SecretLogin && u != term.SecretTerminal && u != term.SecretStdin {
				wrong("uses", fmt.Errorf("%q is none of login, terminal and stdin", text))
			}
			d.Uses = append(d.Uses, u)
		}
		switch d.Confirm {
		case secret.ConfirmNever, secret.ConfirmFirst, secret.ConfirmAlways:
		default:
			wrong("confirm", fmt.Errorf("%q is none of never, first and always", e.Confirm))
		}
		var err error
		if d.Source, err = source.Parse(e.Source, source.Options{
			Env: e.Env, Identity: e.Identity, Home: home, Take: config.TakeVariable, Codes: codes,
		}); err != nil {
			wrong("source", err)
		}
		for _, text := range e.Prompts {
			r, err := regexp.Compile(text)
			if err != nil {
				wrong("prompts", err)
				continue
			}
			d.Prompts = append(d.Prompts, r)
		}
		if d.Commands, err = permitted(e); err != nil {
			wrong("commands", err)
		}
		list = append(list, d)
	}
	return list, errors.Join(errs...)
}

// TakeVariables removes the variables that have values of secrets from the environment of this process, also for a command
// that needs no secret: the programs that it starts, for example a browser, would inherit them.
func TakeVariables(entries []config.NamedSecret) {
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Source, "env:"); ok {
			_, _ = config.TakeVariable(name)
		}
	}
}

// permitted returns the gate of the commands that may read a secret; nil: none may. They are judged as policy.allow judges
// commands, whatever else the operator's rules permit.
func permitted(e config.NamedSecret) (term.Gate, error) {
	if len(e.Commands) == 0 {
		return nil, nil
	}
	var rules []policy.Rule
	for _, text := range e.Commands {
		rules = append(rules, policy.Rule{Text: text, Name: "secret." + e.Name + ".commands", Where: e.Where})
	}
	p, err := policy.New(policy.Rules{Allow: rules})
	if err != nil {
		return nil, err
	}
	return p.Rule, nil
}

// secretStore returns the operator's secrets, or nil without any. codes are those that were given out before.
func secretStore(cfg config.Config, codes *source.Codes, o secret.Options) (*secret.Store, error) {
	list, err := Secrets(cfg.Secret, codes)
	if err != nil || list == nil {
		return nil, err
	}
	return secret.NewStore(list, o), nil
}

// secretOptions are the surroundings of the operator's secrets.
func (a *App) secretOptions() secret.Options {
	o := secret.Options{
		Journal: journalUses(a.audit, a.cfg.Audit), Redactor: a.dialers.known, Uses: new(secret.Uses),
	}
	if a.consents != nil {
		o.Person = &elicit.Secrets{Book: a.consents, Pages: a.pages, Log: a.log}
	}
	return o
}

// journalUses returns the record of the uses of secrets. With fail_closed, a use that cannot be recorded is refused.
func journalUses(log *audit.Log, cfg config.Audit) term.Journal {
	if log == nil {
		return nil
	}
	return func(e term.Event) error {
		if e.Refused == nil && cfg.FailClosed {
			return log.Journal(e)
		}
		log.Observe(e)
		return nil
	}
}
