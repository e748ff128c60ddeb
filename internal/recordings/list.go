package recordings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"filippo.io/age"

	"ptyctl/internal/tty"
	"ptyctl/record"
)

// A stored is a recording in the JSON of a list.
type stored struct {
	Path      string    `json:"path"`
	Name      string    `json:"name"`
	Session   string    `json:"session_id,omitempty"`
	Host      string    `json:"host,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Written   time.Time `json:"written"`
	Bytes     int64     `json:"bytes"`
	Complete  bool      `json:"complete"`
	Encrypted bool      `json:"encrypted,omitempty"`
	Problem   string    `json:"problem,omitempty"`
}

// List writes the recordings in a folder to w, oldest first: as a table, or as JSON with one a line.
func List(w io.Writer, dir string, asJSON bool, ids ...age.Identity) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "STARTED\tSESSION\tHOST\tSIZE\tSTATE\tFILE")
	}
	var failed error
	rows := 0
	err := record.List(dir, func(s record.Stored) bool {
		about := s.Header.About
		state := "open or cut off"
		switch {
		case errors.Is(s.Err, record.ErrEncrypted):
			state = "encrypted"
		case s.Err != nil:
			state = tty.Printable(s.Err.Error())
		case s.Ended:
			state = "complete"
		}
		if asJSON {
			row := stored{
				Path: s.Path, Name: s.Name, Session: tty.Printable(about.Session), Host: tty.Printable(about.Host),
				Started: about.Started, Written: s.Written, Bytes: s.Size, Complete: s.Ended, Encrypted: s.Encrypted,
			}
			if s.Err != nil && !errors.Is(s.Err, record.ErrEncrypted) {
				row.Problem = tty.Printable(s.Err.Error())
			}
			failed = json.NewEncoder(w).Encode(row)
			return failed == nil
		}
		started := about.Started
		if started.IsZero() {
			started = s.Written
		}
		_, failed = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", started.Local().Format(time.DateTime),
			tty.Printable(cmp.Or(about.Session, s.Name)), tty.Printable(about.Host), sizeText(s.Size), state,
			tty.Printable(s.Path))
		if rows++; rows%256 == 0 { // the widths of columns are those of a part, so that memory is bounded
			failed = errors.Join(failed, table.Flush())
		}
		return failed == nil
	}, ids...)
	return errors.Join(err, failed, table.Flush())
}

// sizeText is a size for people.
func sizeText(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
