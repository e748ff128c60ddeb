package commands

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"filippo.io/age"

	"ptyctl/internal/cli"

	"ptyctl/audit"
	"ptyctl/internal/recordings"
	"ptyctl/internal/tty"
	"ptyctl/record"
)

func auditCommand() *cli.Command {
	return group(&cli.Command{
		Name: "audit", Usage: "look at audit logs",
		Subcommands: []*cli.Command{{
			Name: "verify", Usage: "check that nothing in an audit log was changed or removed, nor in the recordings that it " +
				"knows; give the rotated files too",
			ArgsUsage: "FILE...",
			Flags: []cli.Flag{
				&cli.StringFlag{
					Name:  "head",
					Usage: "the `HASH` of a line that must be there: as an earlier verify or ptyctl's log has shown it",
				},
				&cli.BoolFlag{Name: "skip-recordings", Usage: "check the log alone"},
				identityFlag(),
			},
			Before: endAtOnce,
			Action: func(c *cli.Context) error {
				files, err := arguments(c, 1, -1)
				if err != nil {
					return err
				}
				ids, err := identities(c)
				if err != nil {
					return err
				}
				check := func(w io.Writer, r audit.Report) error { return verifyKnown(w, r, ids) }
				if c.Bool("skip-recordings") {
					check = func(io.Writer, audit.Report) error { return nil }
				}
				return verifyAudit(c.App.Writer, c.String("head"), files, check)
			},
		}},
	})
}

// verifyAudit checks the log, and then with recordings its notes of those.
func verifyAudit(w io.Writer, head string, files []string, recordings func(io.Writer, audit.Report) error) error {
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
	broken := recordings(&b, r)
	fmt.Fprintf(&b, "head: %s\n", r.Head)
	_, err = io.WriteString(w, b.String())
	return errors.Join(broken, err)
}

// verifyKnown compares the recordings that an audit log knows with its notes of them.
func verifyKnown(w io.Writer, r audit.Report, ids []age.Identity) error {
	var broken []error
	open := 0
	for _, path := range slices.Sorted(maps.Keys(r.Recordings)) {
		n := r.Recordings[path]
		rep, err := record.Check(record.Note{
			Path: n.Path, Seal: record.Seal{Number: n.Seal, Hash: n.SHA256, Bytes: n.Bytes, End: n.End},
			FileBytes: n.FileBytes, FileSHA256: n.FileSHA256,
		}, ids...)
		switch {
		case err != nil:
			broken = append(broken, err)
		case !rep.Ended:
			open++
			fmt.Fprintf(w, "note: %s: %s\n", tty.Printable(path), recordings.Verdict(rep))
		}
	}
	if len(broken) > 0 {
		return errors.Join(broken...)
	}
	if n := len(r.Recordings); n > 0 {
		_, err := fmt.Fprintf(w, "ok: %s as the log says, %d of them complete\n", tty.Count(n, "recording"), n-open)
		return err
	}
	return nil
}
