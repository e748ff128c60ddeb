package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

// sessionsDrop are the columns that a narrow terminal does without, the first one first.
var sessionsDrop = []string{"PROCESS", "LOCKED BY", "ACTIVE", "HOST"}

// refresh is how often sessions --watch asks again: it shows ages in seconds.
const refresh = time.Second

func sessionsCommand() *cli.Command {
	return &cli.Command{
		Name: "sessions", Usage: "list the sessions of a running ptyctl",
		Flags: append(reachFlags(),
			&cli.BoolFlag{Name: "all", Usage: "of every ptyctl of yours that runs"},
			&cli.BoolFlag{Name: "watch", Usage: "show them again each second, until ctrl-c"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON: one array; with --watch one a line"},
		),
		Action: func(c *cli.Context) error {
			if _, err := arguments(c, 0, 0); err != nil {
				return err
			}
			return runSessions(c)
		},
	}
}

func runSessions(c *cli.Context) error {
	for first := true; ; first = false {
		text, err := sessionsOnce(c)
		switch {
		case err != nil:
			return err
		case !c.Bool("watch"):
			_, err = io.WriteString(c.App.Writer, text)
			return err
		}
		if !c.Bool("json") && tty.IsTerminal(os.Stdout) {
			clearing := "\x1b[H\x1b[J"
			if first {
				clearing = "\x1b[2J" + clearing
			}
			text = clearing + text
		}
		if _, err := io.WriteString(c.App.Writer, text); err != nil {
			return err
		}
		if !client.Pause(c.Context, refresh) {
			return nil
		}
	}
}

// sessionsOnce is the list as it is now. Processes come and go, so they are looked for each time.
func sessionsOnce(c *cli.Context) (string, error) {
	all, err := reach(c)
	if err != nil {
		return "", err
	}
	defer all.Close()
	if !c.Bool("all") {
		p, err := all.One(", or take --all")
		if err != nil {
			return "", err
		}
		all = client.Processes{p}
	}
	entries, more := []client.Session{}, false
	for _, p := range all {
		some, rest, err := p.List(c.Context)
		if err != nil {
			return "", err
		}
		entries, more = append(entries, some...), more || rest
	}
	var b strings.Builder
	if c.Bool("json") {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if !c.Bool("watch") {
			enc.SetIndent("", "  ")
		}
		err := enc.Encode(entries)
		return b.String(), err
	}
	if len(entries) == 0 {
		return "no sessions\n", nil
	}
	rows := [][]string{{"SESSION", "STATE", "HOST", "ACTIVE", "LOCKED BY", "PROCESS"}}
	for _, e := range entries {
		rows = append(rows, row(e, time.Now()))
	}
	width := tableWidth
	if tty.IsTerminal(os.Stdout) {
		width, _ = tty.Size(os.Stdout)
	}
	writeTable(&b, rows, width, sessionsDrop...)
	if more {
		b.WriteString("and others that have ended\n")
	}
	return b.String(), nil
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
