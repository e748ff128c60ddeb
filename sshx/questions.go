package sshx

import (
	"errors"
	"fmt"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// questions puts the questions of one hop to a person, while the watchdog is paused.
type questions struct {
	w *watchdog
	h *plan.Hop
	p term.Prompter // nil: no question can be asked
}

// CanAsk implements auth.Asker.
func (a *questions) CanAsk() bool { return a.p != nil && !a.h.Cred.Batch }

// Ask implements auth.Asker.
func (a *questions) Ask(q term.Prompt) (string, error) {
	if !a.CanAsk() {
		return "", auth.ErrCannotAsk
	}
	defer a.w.pause()()
	answer, err := a.p.Prompt(a.w.ctx, a.h.Prompt(q))
	var own *term.Error
	if err != nil && !errors.As(err, &own) {
		err = &term.Error{
			Kind: term.Canceled,
			Err:  err,
			Msg: fmt.Sprintf(
				"the question of %s was not answered: %v; open the session again to be asked again", a.h, err,
			),
		}
	}
	return answer, err
}
