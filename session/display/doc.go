// Package display has the screen of a session, as a person at its terminal would see it.
//
//	d := display.New(80, 24)
//	d.Show(output, echoes)          // by the pump
//	now := d.View(0)                // rows, cells, cursor, title
//	w := d.Watch(display.Wait{Shows: regexp.MustCompile(`^ready`)})
//	met, rest, changed := w.Look()  // again when changed is closed, or rest is over
//
// The output is drawn when a reader asks for the screen, or when much of it has come: a terminal that no one looks at
// costs a copy of its output.
//
// # Secrets
//
// The screen gets the bytes that the far side has sent, because a mask of another length than the secret would move
// the text after it. The echoes that package redact takes out of the output are drawn as secrets: every snapshot has
// asterisks there, wherever the cells went. Secrets that are no common words are looked for again in each row that a
// caller gets, because a full-screen program may draw one in pieces, or later. Titles, folders and links are
// searched, too. The length of a secret is visible.
//
// Any number of goroutines may call the methods.
package display
