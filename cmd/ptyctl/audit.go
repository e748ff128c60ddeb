package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/audit"
)

func auditCommand() *cli.Command {
	return group(&cli.Command{
		Name: "audit", Usage: "look at audit logs",
		Subcommands: []*cli.Command{{
			Name: "verify", Usage: "check that nothing in an audit log was changed or removed; " +
				"give the rotated files too",
			ArgsUsage: "FILE...",
			Flags: []cli.Flag{
				&cli.StringFlag{
					Name:  "head",
					Usage: "the `HASH` of a line that must be there: as an earlier verify or ptyctl's log has shown it",
				},
			},
			Action: func(c *cli.Context) error {
				files, err := arguments(c, 1, -1)
				if err != nil {
					return err
				}
				return verifyAudit(c.App.Writer, c.String("head"), files)
			},
		}},
	})
}

func verifyAudit(w io.Writer, head string, files []string) error {
	if head != "" && !audit.IsHash(head) {
		return usageError{errors.New("--head takes the 64 hexadecimal digits that an earlier verify has shown as head")}
	}
	r, err := audit.Verify(head, files...)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ok: %d lines, %d of %d files\n", r.Lines, r.Files, r.First+int64(r.Files)-1)
	if r.First > 1 {
		fmt.Fprintf(&b, "note: these begin with file %d; what was in those before it was not checked\n", r.First)
	}
	for _, at := range r.Torn {
		fmt.Fprintf(&b, "note: %s was never finished, because ptyctl was stopped at it; it is accounted for\n", at)
	}
	if r.Lost > 0 {
		fmt.Fprintf(
			&b,
			"note: %d lines could not be kept when they were due, because the disk was full or too slow\n",
			r.Lost,
		)
	}
	if head != "" {
		fmt.Fprintf(&b, "lines since the hash given: %d\n", r.Since)
	}
	fmt.Fprintf(&b, "head: %s\n", r.Head)
	_, err = io.WriteString(w, b.String())
	return err
}
