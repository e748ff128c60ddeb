// Package prompt judges the last line of a terminal: the terminal waits for the next command, for an answer, or is
// busy.
//
// [Waits] recognises questions by the last line alone, and [Asks] those that only have the form of one: they count
// when nothing follows for a moment. A [History] also knows the earlier input and prompts, and says
// whether a command may be typed now:
//
//	if o := history.Judge(view); o != nil {
//		// the terminal is busy, or asks: o says why, and whether that may pass
//	}
//
// A last line is the text that a person sees behind the output's last line end. The package does no I/O, does not
// wait, and answers no question.
package prompt
