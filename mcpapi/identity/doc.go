// Package identity says who sends a request.
//
//	ctx = identity.WithCaller(ctx, identity.Caller{Transport: "http", Token: "ci", ReadOnly: true})
//	sees := identity.FromContext(ctx).Sees(session.Info())
//
// Guarantees:
//
//   - The transport alone says who a caller is; nothing in a message can.
//   - No caller can claim the identity of a person at a terminal without the proof that this person's client was given.
package identity
