package doctor

import (
	"context"
	"fmt"
	"log/slog"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
)

// issuer checks that the authorization server of the configuration can be reached, and has keys.
func (r *Report) issuer(ctx context.Context, cfg config.Config) {
	const check = "OAuth issuer"
	o := cfg.Server.HTTP.OAuth
	v, err := app.Verifier(o, slog.New(slog.DiscardHandler))
	if err != nil {
		r.add(Finding{Status: failing, Check: check, Text: err.Error(), Do: "correct the configuration"})
		return
	}
	if v == nil {
		return
	}
	defer v.Close()
	if cfg.Server.Transport == config.TransportStdio {
		r.add(Finding{
			Status: noted, Check: check, Text: `server.transport is "stdio": access tokens count where HTTP is served`,
			Do: `set server.transport = "http" or "both", or start ptyctl mcp with --transport http`,
		})
	}
	found, err := v.Check(ctx)
	if err != nil {
		r.add(Finding{
			Status: failing, Check: check, Text: fmt.Sprintf("%s: its keys cannot be fetched: %v", o.Issuer, err),
			Do: "let this machine reach the issuer, and set server.http.oauth.issuer to exactly the issuer that its metadata names",
		})
		return
	}
	r.ok(check, "%s has %s at %s", o.Issuer, tty.Count(found.Keys, "usable key"), found.KeySet)
}
