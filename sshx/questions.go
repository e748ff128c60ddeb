package sshx

import (
	"errors"
	"fmt"
	"strings"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/plan"
	"ptyctl/term"
)

// questions puts the questions of one hop to the Answerer and to a person, while the watchdog is paused.
type questions struct {
	w     *watchdog
	h     *plan.Hop
	p     term.Prompter // nil: no question can be asked
	auto  term.Answerer // may be nil
	login term.Login    // for auto

	unread func() []string // why files of keys were not used so far
	asked  bool            // a question was put to the person
	told   int             // of them, those that the person has seen
}

// Pause stops the time of the login until resume is called.
func (a *questions) Pause() (resume func()) { return a.w.pause() }

// CanAsk implements auth.Asker.
func (a *questions) CanAsk() bool { return a.hasPerson() || a.auto != nil && a.auto.Expects(a.login) }

// hasPerson reports whether a person can be asked.
func (a *questions) hasPerson() bool { return a.p != nil && !a.h.Cred.Batch }

// Ask implements auth.Asker.
func (a *questions) Ask(q term.Prompt) (string, error) {
	if a.auto != nil && a.auto.Expects(a.login) {
		answer, name, err := a.answer(q)
		if leave, ok := errors.AsType[*term.PersonAnswers](err); ok {
			a.login.Given = append(a.login.Given, leave.Secret)
			q.Secret = leave.Secret
			answer, err := a.askPerson(q)
			if err == nil && leave.Gave != nil {
				value := []byte(answer)
				err = leave.Gave(value)
				clear(value)
			}
			if err != nil {
				return "", err
			}
			return answer, nil
		}
		if err != nil || name != "" {
			a.login.Given = append(a.login.Given, name)
			return answer, err
		}
	}
	return a.askPerson(q)
}

// answer asks the Answerer, which may wait for a vault.
func (a *questions) answer(q term.Prompt) (answer, name string, err error) {
	defer a.w.pause()()
	return a.auto.Answer(a.w.ctx, a.login, a.h.Prompt(q))
}

// askPerson asks the person alone.
func (a *questions) askPerson(q term.Prompt) (string, error) {
	if !a.hasPerson() {
		return "", auth.ErrCannotAsk
	}
	a.asked, q.Text = true, a.explained(q)
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

// explained returns the text of a question. Before the first one for a password it says why files of keys were not used,
// as ssh(1) does: a person who is asked for a password in place of a key must learn that the key would do after a chmod.
// The text of other questions is the server's, and is not changed.
func (a *questions) explained(q term.Prompt) string {
	if q.Kind != term.PromptPassword {
		return q.Text
	}
	all := a.unread()
	var b strings.Builder
	for _, why := range all[a.told:] {
		b.WriteString(why + ".\r\n")
	}
	a.told = len(all)
	return b.String() + q.Text
}
