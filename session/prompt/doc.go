// Package prompt judges what a terminal waits for: the next command, an answer, or nothing that is known.
//
// [Waits] recognises questions by the last line alone. A [History] also knows what was typed and shown before, and says
// whether a command may be typed now:
//
//	if o := history.Judge(view); o != nil {
//		// the terminal is busy, or asks: o says why, and whether that may pass
//	}
//
// A last line is what a person sees of the output behind its last line end. The package does no I/O, waits for nothing,
// and answers no question.
package prompt
