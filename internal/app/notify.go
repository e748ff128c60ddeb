package app

import (
	"fmt"

	"ptyctl/config"
	"ptyctl/notify"
)

// openNotices makes the Notifier of the configuration; nil: notifications are not configured.
func (a *App) openNotices(cfg config.Notify) (*notify.Notifier, error) {
	if len(cfg.Command) == 0 && cfg.Webhook.Reveal() == "" {
		return nil, nil
	}
	n, err := notify.New(notify.Options{
		Events: cfg.Events, Command: cfg.Command, CommandTimeout: cfg.CommandTimeout, AtOnce: cfg.CommandAtOnce,
		Webhook: cfg.Webhook.Reveal(), WebhookTimeout: cfg.WebhookTimeout, Tries: cfg.WebhookTries, TokenFile: cfg.WebhookTokenFile,
		AllowHTTP: cfg.WebhookAllowHTTP, Version: a.version, Logger: a.log,
	})
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("the keys of [notify] are wrong: %w", err)}
	}
	a.closers = append(a.closers, n.Close)
	return n, nil
}

// noticesDropped returns nil if no person is notified.
func noticesDropped(n *notify.Notifier) func() int64 {
	if n == nil {
		return nil
	}
	return n.Dropped
}
