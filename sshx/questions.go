package sshx

import (
	"errors"
	"fmt"

	"ptyctl/term"
)

// questions puts the questions of one hop to a person, while the watchdog is paused.
type questions struct {
	w *watchdog
	h *hop
	p term.Prompter // nil: no question can be asked
}

// canAsk implements asker.
func (a *questions) canAsk() bool { return a.p != nil && !a.h.cred.batch }

// ask implements asker.
func (a *questions) ask(q term.Prompt) (string, error) {
	if !a.canAsk() {
		return "", errCannotAsk
	}
	defer a.w.pause()()
	answer, err := a.p.Prompt(a.w.ctx, a.h.prompt(q))
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
