// Package scene reads a screen as a person does who has to answer it: the line at the cursor, and the question
// of a full-screen program.
//
//	left, right, ok := scene.Line(now)
//	w := scene.Asks(now) // for example "Confirm | Really delete? | highlighted: <No>"
//
// Both are guesses from the picture. The package looks at a snapshot and at nothing else.
package scene
