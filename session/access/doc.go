// Package access decides who may act on a session, and has each action put on record.
//
// An action is asked for in this order, and refused by the first that objects: the session's [Lock], which one task
// can hold against all others; the operator's Gate, which may change the action; the Journal, which must record the
// action before it happens. Observers get the outcome afterwards.
//
//	c := authorizer.Begin(ctx, term.VerbWrite, event)
//	epoch, err := c.Permit(ctx, action)
//	if err == nil {
//		// act, as long as Lock.StillHeld(op, holder, epoch)
//	}
//	c.End(err)
//
// A lock belongs to a [Holder], which is an identity: a caller never chooses its principal. A task that lost its lock
// by a takeover gets an error that says so before it can act again.
package access
