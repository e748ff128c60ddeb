package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

// sessionsDrop are the columns that a narrow terminal does without, the first one first.
var sessionsDrop = []string{"PROCESS", "LOCKED BY", "OWNER", "ACTIVE", "HOST"}

// refresh is how often sessions --watch asks again: it shows ages in seconds.
const refresh = time.Second

func sessionsCommand() *cli.Command {
	return &cli.Command{
		Name: "sessions", Usage: "list the sessions of a running ptyctl",
		Subcommands: []*cli.Command{giveCommand()},
		Flags: append(reachFlags(),
			&cli.BoolFlag{Name: "all", Usage: "of every ptyctl of yours that runs"},
			&cli.BoolFlag{Name: "cluster", Usage: "of all nodes of the cluster; status 1 if one has not answered"},
			&cli.BoolFlag{Name: "watch", Usage: "show them again each second, until ctrl-c"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON: one array; with --watch one a line"},
		),
		Action: func(c *cli.Context) error {
			if _, err := arguments(c, 0, 0); err != nil {
				return err
			}
			if c.Bool("all") && c.Bool("cluster") {
				return usageError{errors.New("--all and --cluster exclude each other; give one of them")}
			}
			return runSessions(c)
		},
	}
}

func runSessions(c *cli.Context) error {
	var heard map[string]bool // the questions for which the bell has rung
	for first := true; ; first = false {
		text, open, missing, err := sessionsOnce(c)
		switch {
		case err != nil:
			return err
		case !c.Bool("watch"):
			_, err = io.WriteString(c.App.Writer, text)
			return errors.Join(unanswered(missing), err)
		case missing != nil && c.Bool("json"):
			fmt.Fprintf(os.Stderr, "ptyctl: %v\n", unanswered(missing))
		case missing != nil:
			text += unanswered(missing).Error() + "\n"
		}
		if !c.Bool("json") && tty.IsTerminal(os.Stdout) {
			clearing := "\x1b[H\x1b[J"
			if first {
				clearing = "\x1b[2J" + clearing
			}
			text = clearing + text
			known := make(map[string]bool)
			for _, q := range open {
				if known[q.ID] = true; !first && !heard[q.ID] {
					text += "\a"
				}
			}
			heard = known
		}
		if _, err := io.WriteString(c.App.Writer, text); err != nil {
			return err
		}
		if !client.Pause(c.Context, refresh) {
			return nil
		}
	}
}

// sessionsOnce is the list as it is now, with the questions that wait for a person, and the nodes of the cluster that
// have not answered. Processes come and go, so each call looks for them.
func sessionsOnce(c *cli.Context) (text string, open []client.OpenQuestion, missing []string, err error) {
	all, err := reach(c)
	if err != nil {
		return "", nil, nil, err
	}
	defer all.Close()
	if !c.Bool("all") {
		p, err := all.One(", or take --all")
		if err != nil {
			return "", nil, nil, err
		}
		all = client.Processes{p}
	}
	entries, more := []client.Session{}, false
	for _, p := range all {
		list := p.List
		if c.Bool("cluster") {
			list = func(ctx context.Context) (some []client.Session, rest bool, err error) {
				some, rest, missing, err = p.ListAll(ctx)
				return some, rest, err
			}
		}
		some, rest, err := list(c.Context)
		if err != nil {
			return "", nil, nil, err
		}
		entries, more = append(entries, some...), more || rest
	}
	open, err = all.Questions(c.Context)
	if err != nil && !errors.Is(err, control.ErrNoQuestions) {
		return "", nil, nil, err
	}
	var b strings.Builder
	if c.Bool("json") {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if !c.Bool("watch") {
			enc.SetIndent("", "  ")
		}
		err := enc.Encode(withQuestions(entries, open))
		return b.String(), open, missing, err
	}
	asked := func() {
		for _, q := range open {
			if q.Call() { // a login's is in the table
				b.WriteString(q.Line(time.Now()) + "\n")
			}
		}
	}
	if len(entries) == 0 {
		b.WriteString("no sessions\n")
		asked()
		return b.String(), open, missing, nil
	}
	rows := [][]string{{"SESSION", "STATE", "HOST", "ACTIVE", "LOCKED BY", "PROCESS"}}
	owned := slices.ContainsFunc(entries, func(e client.Session) bool { return e.Owner != "" || e.Orphaned != 0 })
	if owned {
		rows[0] = append(rows[0], "OWNER")
	}
	for _, e := range entries {
		columns := row(e, time.Now())
		if owned {
			columns = append(columns, owner(e, time.Now()))
		}
		rows = append(rows, columns)
	}
	width := tty.TableWidth
	if tty.IsTerminal(os.Stdout) {
		width, _ = tty.Size(os.Stdout)
	}
	tty.Table(&b, rows, width, sessionsDrop...)
	if more {
		b.WriteString("and others that have ended\n")
	}
	asked()
	return b.String(), open, missing, nil
}

// unanswered says which nodes have not answered; nil: all have.
func unanswered(nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	return fmt.Errorf("%s gave no answer, and the sessions there are not in the list: %s",
		tty.Count(len(nodes), "node"), tty.Printable(strings.Join(nodes, ", ")))
}

// A sessionEntry is a session in the JSON, with the questions about it.
type sessionEntry struct {
	client.Session
	Questions []client.OpenQuestion `json:"questions,omitempty"`
}

// withQuestions are the sessions with their questions. Questions about no session, for example about a call that names
// a host and needs consent, come last, in an entry without a session.
func withQuestions(entries []client.Session, open []client.OpenQuestion) []any {
	all := make([]any, len(entries), len(entries)+1)
	for i, e := range entries {
		one := sessionEntry{Session: e}
		open = slices.DeleteFunc(slices.Clone(open), func(q client.OpenQuestion) bool {
			of := q.SessionID == e.SessionID && q.PID == e.PID
			if of {
				one.Questions = append(one.Questions, q)
			}
			return of
		})
		all[i] = one
	}
	if len(open) > 0 {
		all = append(all, struct {
			Questions []client.OpenQuestion `json:"questions"`
		}{open})
	}
	return all
}

// row is the line of a session in the table.
func row(e client.Session, now time.Time) []string {
	state, process := e.State, "-"
	if e.Waiting {
		state += " (asks: ptyctl answer)"
	}
	if e.EndReason != "" {
		state += ": " + e.EndReason
	}
	if e.PID != 0 {
		process = fmt.Sprint(e.PID)
	}
	columns := []string{e.SessionID, state, e.Protocol + " " + e.Host, ago(now, e.LastActivity), e.LockHolder, process}
	for i := range columns {
		if columns[i] = tty.Printable(columns[i]); columns[i] == "" {
			columns[i] = "-"
		}
	}
	return columns
}

// owner says which client of a daemon has a session.
func owner(e client.Session, now time.Time) string {
	switch {
	case e.Orphaned != 0:
		return "none since " + ago(now, e.Orphaned)
	case e.Owner != "":
		return tty.Printable(e.Owner)
	}
	return "-"
}

// giveCommand hands a session over.
func giveCommand() *cli.Command {
	return &cli.Command{
		Name: "give",
		Usage: "hand a session of the daemon over to another of its clients, or leave it to the next client in a folder " +
			"(control_mode readwrite)",
		ArgsUsage: "ID SHIM|FOLDER",
		Flags:     reachFlags(),
		Action: func(c *cli.Context) error {
			args, err := arguments(c, 2, 2)
			if err != nil {
				return err
			}
			return atSession(c, args[0], func(c *cli.Context, s client.Session) error { return give(c, s, args[1]) })
		},
	}
}

// give hands a session over to a client, or to the next one in a folder, and says so.
func give(c *cli.Context, s client.Session, to string) error {
	if strings.ContainsRune(to, filepath.Separator) || to == "." { // the name of a client has none
		folder, err := filepath.Abs(to)
		if err != nil {
			return err
		}
		to = folder
	}
	now, err := s.Give(c.Context, to)
	if err != nil {
		return err
	}
	id, has := tty.Printable(s.SessionID), "is now with "+tty.Printable(now)
	if filepath.IsAbs(to) {
		has = "is left to the next client in " + tty.Printable(to) + ", which ptyctl_session list shows it to as resumable"
	}
	_, err = fmt.Fprintf(c.App.Writer, "session %s %s\n", id, has)
	return err
}

// ago says how long ago something was, given in Unix milliseconds.
func ago(now time.Time, ms int64) string {
	if ms == 0 {
		return ""
	}
	d := max(now.Sub(time.UnixMilli(ms)), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
