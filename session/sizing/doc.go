// Package sizing gives a terminal that people take over the size of theirs, for as long as they have it.
//
//	z := sizing.New(terminal)
//	end := z.Begin(ctx)
//	err := z.Set(actor, sizing.Size{Cols: 80, Rows: 24}) // of an attached person: until they leave
//	end()
//	z.Leave(ctx, holder) // the person is about to give the lock back
//
// Once no person has the session's lock any more, however that came about, the terminal gets back the size that it had
// before the first of them. A size that another caller sets meanwhile stays.
package sizing
