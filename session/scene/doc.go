// Package scene reads a screen like a person who must answer it: the line at the cursor, and the question of a
// full-screen program.
//
//	left, right, ok := scene.Line(now)
//	w := scene.Asks(now) // for example "Confirm | Really delete? | highlighted: <No>"
//
// Both are guesses from the picture. The package only looks at a snapshot.
package scene
