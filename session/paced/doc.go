// Package paced types many lines into a terminal with a far side that reads slowly, for example a configuration into
// a device's console.
//
//	units, err := paced.Units(text)
//	res := paced.Run(ctx, terminal, units, paced.Options{Mode: paced.Prompt, Ready: isPrompt, Errors: profile.Errors})
//
// A console with a FIFO of 16 bytes loses input that comes while the device works at the line before. So a line goes
// out only when the far side has answered the one before: at most one line is unanswered at any time. A text that the
// far side reads as one, for example a banner up to its closing mark, is one Unit: there its lines are answered by
// their echo.
//
// The parts, in reading order:
//
//   - units.go: cuts a text into units.
//   - echo.go: finds the echo of a line, as terminals show it: wrapped, scrolled, with abbreviations expanded.
//   - run.go: types the units.
package paced
