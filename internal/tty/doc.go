// Package tty is the terminal that this process was started at: raw mode, size and keys, questions to the person who
// sits there, and text that is safe to show there.
//
//	if p := tty.NewPrompter(); p != nil {
//		defer p.Close()
//		answer, err := p.Prompt(ctx, term.Prompt{Text: "password:"})
//	}
//
// Promises:
//   - Text that passed Plain or Printable does nothing to the terminal that shows it.
//   - A Prompter shows no key of a hidden answer, and leaves the terminal as it found it.
//   - Only Keys keeps a goroutine after its return: a read of a terminal cannot be interrupted.
package tty
