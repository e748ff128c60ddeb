package app

import (
	"errors"

	"ptyctl/config"
)

// Check finds what would keep a server from starting although each value of cfg is well written.
func Check(cfg config.Config) error {
	_, caErr := authorities(cfg.Telnet.TLSCAFile)
	_, rulesErr := NewPolicy(cfg)
	_, secretsErr := Secrets(cfg.Secret)
	_, recipientsErr := recipients(cfg.Record)
	errs := []error{
		caErr,
		CheckToolsets(cfg),
		rulesErr,
		localHost(cfg.Local).Sandbox.Check(),
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
