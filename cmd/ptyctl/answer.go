package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

func answerCommand() *cli.Command {
	return &cli.Command{
		Name: "answer", Usage: "answer what logins ask: passwords, codes, host keys; the input is hidden (control_mode readwrite)",
		ArgsUsage: "[ID]",
		Flags: append(reachFlags(),
			&cli.BoolFlag{Name: "list", Usage: "only list the questions"},
			&cli.BoolFlag{Name: "json", Usage: "with --list: print JSON"},
		),
		Action: runAnswer,
	}
}

// An openQuestion is a question that waits.
type openQuestion struct {
	PID       int     `json:"pid,omitempty"`
	SessionID string  `json:"session_id"`
	Prompt    *prompt `json:"prompt"`

	on *peer
}

func runAnswer(c *cli.Context) error {
	args, err := arguments(c, 0, 1)
	if err != nil {
		return err
	}
	if c.Bool("json") && !c.Bool("list") {
		return usageError{errors.New("--json goes with --list")}
	}
	all, err := reach(c)
	if err != nil {
		return err
	}
	defer all.close()
	var questions []openQuestion
	if len(args) == 1 {
		e, err := all.find(c.Context, args[0])
		if err != nil {
			return err
		}
		if questions, err = e.questions(c, questions); err != nil {
			return err
		}
		if len(questions) == 0 {
			return fmt.Errorf("session %s asks nothing", printable(e.SessionID))
		}
	} else if questions, err = all.questions(c); err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		return printJSON(c.App.Writer, questions)
	case len(questions) == 0:
		_, err := fmt.Fprintln(c.App.Writer, "nothing is asked")
		return err
	case c.Bool("list"):
		for _, q := range questions {
			who := q.Prompt.Host
			if q.Prompt.User != "" {
				who = q.Prompt.User + "@" + who
			}
			text := strings.TrimSpace(printable(q.Prompt.Text))
			if _, err := fmt.Fprintf(c.App.Writer, "%s: %s asks (%s): %s\n", printable(q.SessionID), printable(who), printable(q.Prompt.Kind), text); err != nil {
				return err
			}
		}
		return nil
	}
	person := personAt(c)
	for _, q := range questions {
		if err := login(c.Context, &seat{on: q.on.Client, id: q.SessionID}, person); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.App.Writer, "session %s is open\n", printable(q.SessionID)); err != nil {
			return err
		}
	}
	return nil
}

// questions returns all that wait for an answer.
func (all peers) questions(c *cli.Context) ([]openQuestion, error) {
	found := []openQuestion{}
	for _, p := range all {
		entries, _, err := p.list(c.Context)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Waiting {
				continue
			}
			if found, err = e.questions(c, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// questions appends the session's question, if it has one.
func (e *sessionEntry) questions(c *cli.Context, to []openQuestion) ([]openQuestion, error) {
	var now statusResult
	switch err := e.on.Call(c.Context, toolSession, sessionCall{Action: "status", SessionID: e.SessionID}, &now); {
	case isCode(err, "NOT_FOUND"):
		return to, nil
	case err != nil:
		return nil, err
	case now.Prompt != nil:
		to = append(to, openQuestion{PID: e.PID, SessionID: e.SessionID, Prompt: now.Prompt, on: e.on})
	}
	return to, nil
}
