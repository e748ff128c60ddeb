package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
	"ptyctl/mcpapi/questions"
	"ptyctl/term"
)

func answerCommand() *cli.Command {
	return &cli.Command{
		Name: "answer",
		Usage: "answer what waits for a person: calls that need consent, and passwords, codes and host keys of logins; " +
			"secrets are hidden (control_mode readwrite)",
		ArgsUsage: "[ID]",
		Flags: append(reachFlags(),
			&cli.BoolFlag{Name: "list", Usage: "only list the questions"},
			&cli.BoolFlag{Name: "json", Usage: "with --list: print JSON"},
			&cli.BoolFlag{Name: "yes", Usage: "answer yes to the question ID"},
			&cli.BoolFlag{Name: "no", Usage: "answer no to the question ID"},
		),
		Action: runAnswer,
	}
}

func runAnswer(c *cli.Context) error {
	args, err := arguments(c, 0, 1)
	if err != nil {
		return err
	}
	decided := c.Bool("yes") || c.Bool("no")
	switch {
	case c.Bool("json") && !c.Bool("list"):
		return usageError{errors.New("--json goes with --list")}
	case c.Bool("yes") && c.Bool("no"), decided && c.Bool("list"):
		return usageError{errors.New("--yes, --no and --list exclude each other; give one of them")}
	case decided && len(args) == 0:
		return usageError{errors.New("--yes and --no go with the ID of a question, as --list shows it")}
	}
	all, err := reach(c)
	if err != nil {
		return err
	}
	defer all.Close()
	open, err := all.Questions(c.Context)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if open, err = about(c, all, open, args[0]); err != nil {
			return err
		}
	}
	switch {
	case c.Bool("json"):
		return printJSON(c.App.Writer, open)
	case len(open) == 0:
		_, err := fmt.Fprintln(c.App.Writer, "nothing is asked")
		return err
	case c.Bool("list"):
		return listQuestions(c.App.Writer, open)
	case decided:
		return decide(c, open, args[0])
	}
	return askPerson(c, open)
}

// about returns the questions with the id, or about the session with the id or one that begins so.
func about(c *cli.Context, all client.Processes, open []client.OpenQuestion, id string) ([]client.OpenQuestion, error) {
	of := func(is func(client.OpenQuestion) bool) []client.OpenQuestion {
		return slices.DeleteFunc(slices.Clone(open), func(q client.OpenQuestion) bool { return !is(q) })
	}
	if found := of(func(q client.OpenQuestion) bool { return q.ID == id }); len(found) > 0 {
		return found, nil
	}
	if strings.HasPrefix(id, "q-") {
		return nil, term.Errorf(term.NotFound, "question %s waits for no answer: it was answered, or has expired; "+
			"ptyctl answer --list lists those that do", tty.Printable(id))
	}
	s, err := all.Find(c.Context, id)
	if err != nil {
		return nil, err
	}
	found := of(func(q client.OpenQuestion) bool { return q.SessionID == s.SessionID && q.Process == s.Process })
	if len(found) == 0 {
		return nil, term.Errorf(term.NotFound, "session %s asks nothing", tty.Printable(s.SessionID))
	}
	return found, nil
}

// decide answers the one question that is meant with yes or no.
func decide(c *cli.Context, open []client.OpenQuestion, id string) error {
	q := open[0]
	switch {
	case len(open) > 1:
		return term.Errorf(term.InvalidArgument, "%s asks %d questions; name one of them, as --list shows it",
			tty.Printable(id), len(open))
	case q.Form != questions.AnswerYesNo:
		return term.Errorf(term.InvalidArgument, "question %s asks for more than yes or no; leave --yes and --no out",
			tty.Printable(q.ID))
	}
	yes := c.Bool("yes")
	if err := q.Process.Answer(c.Context, questions.Answer{ID: q.ID, Yes: &yes}); err != nil {
		return err
	}
	return answered(c, q, yes)
}

// answered prints the outcome of a consent.
func answered(c *cli.Context, q client.OpenQuestion, yes bool) error {
	said := "is denied"
	switch {
	case yes && !q.Consent():
		said = "is answered with yes"
	case yes && q.Waits:
		said = "is agreed to, and the call that waits is made"
	case yes:
		said = "is agreed to, for the next call that is the same"
	}
	_, err := fmt.Fprintf(c.App.Writer, "question %s %s\n", tty.Printable(q.ID), said)
	return err
}

// askPerson has the person at the terminal answer the questions one by one.
func askPerson(c *cli.Context, open []client.OpenQuestion) error {
	person := attach.NewPerson(os.Stdin, c.App.ErrWriter)
	for _, q := range open {
		if q.ReadOnly {
			return term.Errorf(term.PolicyDenied, "%s: people may only watch %v: set server.control.control_mode to "+
				"\"readwrite\" in its configuration and start it again", tty.Printable(q.About()), q.Process)
		}
		if q.Value() {
			decided, err := person.Value(c.Context, &q)
			if err != nil {
				return err
			}
			said := "is answered"
			if !decided {
				said = "was answered by another person, or has expired"
			}
			fmt.Fprintf(c.App.Writer, "question %s %s\n", tty.Printable(q.ID), said)
			continue
		}
		if q.Consent() {
			yes, decided, err := person.Consent(c.Context, &q)
			if err != nil {
				return err
			}
			if !decided {
				fmt.Fprintln(c.App.ErrWriter, "[ptyctl: another person has answered that, or it has expired]")
				continue
			}
			if err := answered(c, q, yes); err != nil {
				return err
			}
			continue
		}
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

// listQuestions prints a line for each question.
func listQuestions(w io.Writer, open []client.OpenQuestion) error {
	for _, q := range open {
		if _, err := fmt.Fprintln(w, q.Line(time.Now())); err != nil {
			return err
		}
	}
	return nil
}
