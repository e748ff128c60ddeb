package app

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/secret"
	"ptyctl/secret/source"
	"ptyctl/term"
)

// Secrets returns the operator's secrets. The error names each entry that is wrong, with its line.
func Secrets(entries []config.NamedSecret) ([]secret.Definition, error) {
	home, _ := os.UserHomeDir() // without one, a path that begins with ~ is refused
	var list []secret.Definition
	var errs []error
	for _, e := range entries {
		wrong := func(key string, err error) {
			errs = append(errs, fmt.Errorf("%s: secret.%s.%s: %w", e.Where, e.Name, key, err))
		}
		d := secret.Definition{
			Name: e.Name, OneTime: strings.HasPrefix(e.Source, "totp:"), Hosts: e.Hosts, Users: e.Users,
			AllowEcho: e.AllowEcho, PerHour: e.PerHour,
		}
		var err error
		if d.Source, err = source.Parse(e.Source, source.Options{Env: e.Env, Identity: e.Identity, Home: home}); err != nil {
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
		list = append(list, d)
	}
	return list, errors.Join(errs...)
}

// secretStore returns the secrets that answer logins by themselves; nil if there are none.
func secretStore(cfg config.Config, journal term.Journal) (*secret.Store, error) {
	list, err := Secrets(cfg.Secret)
	if err != nil {
		return nil, err
	}
	var auto []secret.Definition
	for i, d := range list {
		if cfg.Secret[i].Auto {
			auto = append(auto, d)
		}
	}
	if auto == nil {
		return nil, nil
	}
	return secret.NewStore(auto, secret.Options{Journal: journal}), nil
}

// journalUses returns the record of the uses of secrets. With fail_closed, a use that cannot be recorded is refused.
func journalUses(log *audit.Log, cfg config.Audit) term.Journal {
	switch {
	case log == nil:
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
