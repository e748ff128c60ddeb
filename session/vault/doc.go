// Package vault fetches a secret of the operator for a question of a terminal, and checks that the question is still
// the same when the value is there.
//
//	value, still, err := vault.Fetch(ctx, terminal, secrets, "web-sudo")
//	defer clear(value)
//	err = still() // directly before the value is typed
//
// Promises:
//   - Each request for a value describes the screen of the terminal and its far side.
//   - After anything that the terminal has shown, or that was typed, still refuses: the question may be another one.
//   - No error has a value or a name that is not known.
package vault
