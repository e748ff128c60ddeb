// Package hosts runs commands on hosts by name, without a session of the caller's choice.
//
// It uses a session that the caller has open there, or opens one without a terminal, which closes after a while
// without use:
//
//	h := hosts.New(hosts.Options{Manager: m, Plan: network.Plan})
//	res, err := h.Use(ctx, hosts.Request{Target: term.Target{Protocol: "ssh", Host: "web1"}},
//		func(s *session.Session) error {
//			result, err = s.Exec(ctx, session.ExecRequest{Command: "uptime", Lane: session.LaneChannel})
//			return err
//		})
//
// Promises:
//   - Names that lead to one host, port and user over the same hosts share a session, whichever way they are written.
//   - Only its opener uses a session, and only if nothing was typed into it and no other task has locked it.
//   - Simultaneous calls open one session together. A call that gives up does not end it for the others.
//   - A command runs once: another session is tried only after an error which says that nothing was started.
package hosts
