// Package reopen holds the rules by which a session connects again: which ends allow it, which failures are worth
// another attempt, and when the attempts are made.
//
//	err := reopen.Run(ctx, 10*time.Minute, func(ctx context.Context) error {
//		return dial(ctx)
//	}, func(p reopen.Progress) { show(p) })
//
// Only a far side that cannot be reached is tried again. A refused login, another host key or a rule that forbids the
// connection ends the attempts: they would fail the same way, and a server counts wrong passwords.
package reopen
