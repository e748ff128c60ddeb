package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

func answerCommand() *cli.Command {
	return &cli.Command{
		Name: "answer",
		Usage: "answer what logins ask: passwords, codes, host keys; " +
			"the input is hidden (control_mode readwrite)",
		ArgsUsage: "[ID]",
		Flags: append(reachFlags(),
			&cli.BoolFlag{Name: "list", Usage: "only list the questions"},
			&cli.BoolFlag{Name: "json", Usage: "with --list: print JSON"},
		),
		Action: runAnswer,
	}
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
	defer all.Close()
	var questions []client.OpenQuestion
	if len(args) == 1 {
		s, err := all.Find(c.Context, args[0])
		if err != nil {
			return err
		}
		q, err := s.Question(c.Context)
		if err != nil {
			return err
		}
		if q == nil {
			return term.Errorf(term.NotFound, "session %s asks nothing", tty.Printable(s.SessionID))
		}
		questions = append(questions, *q)
	} else if questions, err = all.Questions(c.Context); err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		return printJSON(c.App.Writer, questions)
	case len(questions) == 0:
		_, err := fmt.Fprintln(c.App.Writer, "nothing is asked")
		return err
	case c.Bool("list"):
		return listQuestions(c.App.Writer, questions)
	}
	person := attach.NewPerson(os.Stdin, c.App.ErrWriter)
	for _, q := range questions {
		at := &attach.Attachment{Client: q.Process.Client, ID: q.SessionID}
		if err := at.Login(c.Context, person); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.App.Writer, "session %s is open\n", tty.Printable(q.SessionID)); err != nil {
			return err
		}
	}
	return nil
}

func listQuestions(w io.Writer, questions []client.OpenQuestion) error {
	for _, q := range questions {
		who := q.Question.Host
		if q.Question.User != "" {
			who = q.Question.User + "@" + who
		}
		text := strings.TrimSpace(tty.Printable(q.Question.Text))
		id, who, kind := tty.Printable(q.SessionID), tty.Printable(who), tty.Printable(q.Question.Kind)
		if _, err := fmt.Fprintf(w, "%s: %s asks (%s): %s\n", id, who, kind, text); err != nil {
			return err
		}
	}
	return nil
}
