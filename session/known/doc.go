// Package known keeps the values of secrets out of the output of sessions, for as long as the sessions are kept.
//
//	values := known.NewRegistry()
//	defer values.Close()
//	view := values.View(id)      // of one session
//	view.Keep()                  // once the session exists
//	view.At(term.Place("web1.example.net", 22))
//	values.Redact(term.RedactedValue{Value: password, Host: term.Place("web1.example.net", 22)})
//	out := known.NewStream(view, accept, spawn)
//	out.Write(received)          // accept gets the output, with a mask in place of each form of the password
//
// A value is hidden in the session that got it and in all sessions that lead to its host, over it or to it, those that
// open later too; package secret/forms has its forms. It is forgotten, and its memory wiped, with the last of those
// sessions. A one-time code is forgotten after 120 s.
//
// Any number of goroutines may use a Registry and a View. A nil *View hides nothing. While no value is known, a Stream
// costs one atomic load for each write.
package known
