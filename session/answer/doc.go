// Package answer sends a terminal's answers to the queries of its output: full-screen programs ask where the cursor is
// or what the terminal can do, and wait for the answer.
//
// A Sender takes the answers that the screen has made, and hands them to the terminal when its turn comes. It never
// blocks the giver. The far side chooses how much it asks, so the answers are limited: in rate, in number while
// nothing else is typed, and in age. Sent answers are on record, in one event per second at most.
//
// Whether a query may be answered is the Terminal's decision. The forms of the answers are those of package screen.
package answer
