// Package policycheck asks the operator's rules for their verdict on an action, without performing it: one query at a
// time, or a file of queries with the verdicts that the operator expects.
//
//	p, err := app.NewPolicy(cfg)
//	if err != nil {
//		return err
//	}
//	q := policycheck.Query{Protocol: "ssh", Host: "db1", Class: "posix", Command: "rm -rf /"}
//	if got := q.Judge(ctx, cfg, p); got.Verdict != policycheck.Allow {
//		fmt.Println(got.Rule, got.Reason)
//	}
//
// Promises:
//   - Nothing is sent to a host. Names are resolved as for a session.
//   - The verdict is that of the gate which a server asks, in mode enforce.
package policycheck
