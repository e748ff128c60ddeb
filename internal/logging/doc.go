// Package logging makes the log of the program: structured lines to stderr or to a file that rotates, which a running
// process may change.
//
//	log, err := logging.New(cfg.Logging)
//	if err != nil {
//		return err
//	}
//	defer log.Close()
//	log.Info("serving", "transport", "stdio")
//
// Promises:
//   - Nothing is written to stdout, which carries the MCP messages. A log file that is stdout by another name is
//     refused.
//   - No line is cut, lost or doubled while the file rotates or the configuration is read again.
//   - Processes that share a log file may rotate it at the same time.
//   - Secrets are printed as [redacted].
package logging
