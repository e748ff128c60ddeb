package app

import (
	"context"
	"errors"

	"ptyctl/config"
	"ptyctl/fleet/nodes"
)

// Check finds what would keep a server from starting although each value of cfg is well written.
func Check(cfg config.Config) error {
	_, caErr := authorities(cfg.Telnet.TLSCAFile)
	_, rulesErr := NewPolicy(cfg)
	_, secretsErr := Secrets(cfg.Secret, nil)
	_, recipientsErr := recipients(cfg.Record)
	_, forwardErr := forwardPatterns(cfg)
	errs := []error{
		caErr,
		CheckToolsets(cfg),
		rulesErr,
		forwardErr,
		checkSerial(cfg),
		localSandbox(cfg.Local).Check(),
		recipientsErr,
		secretsErr,
	}
	if cfg.Server.Transport != config.TransportStdio {
		tokens, tokenErr := httpTokens(cfg.Server.HTTP)
		if tokenErr == nil {
			tokenErr = somebodyAnswers(cfg, tokens)
		}
		cert, certErr := certificate(cfg.Server.HTTP)
		if certErr == nil {
			certErr = inClearText(cfg.Server.HTTP, cert != nil)
		}
		errs = append(errs, tokenErr, certErr)
	}
	return errors.Join(errs...)
}

// HostWarnings says which groups and files of hosts cannot be used. They do not keep a server from starting: an
// expression that needs one of them is refused when it is used.
func HostWarnings(ctx context.Context, cfg config.Config) []string {
	book := HostSources(cfg).Read(ctx)
	var list []string
	for _, s := range book.Sources() {
		if s.Error != "" {
			list = append(list, "hosts: "+s.Error)
		}
	}
	return append(list, wrongGroups(cfg, book)...)
}

// wrongGroups says which entries of [groups] cannot be used, and why.
func wrongGroups(cfg config.Config, book *nodes.Book) (list []string) {
	for _, g := range cfg.Groups {
		if _, err := book.Select([]string{"@groups:" + g.Name}, nodes.DefaultMost); err != nil {
			list = append(list, g.Where+": "+err.Error())
		}
	}
	return list
}
