// Package app makes a working ptyctl out of a configuration: the policy, the audit log, the metrics, the dialers, the
// sessions, the MCP server with its tool sets, the HTTP port and the control socket. Every command gets them here.
//
//	a, err := app.New(cfg, app.Options{Version: "v1.2.3", Logger: log})
//	if err != nil {
//		return err
//	}
//	err = a.Serve(ctx) // until ctx ends or the client is gone
//	return errors.Join(err, a.Close(ctx))
//
// open and exec use ForCommand: an app without ports, which calls its tools through Client.
//
// Promises:
//   - New does everything that can fail, so a configuration that cannot work fails before the first request.
//   - After an error of New nothing stays open. Close ends the sessions first, then everything they depend on.
//   - A configuration that is wrong is a *ConfigError.
//   - Check finds the errors in a configuration without opening a port, a log or a socket.
package app
