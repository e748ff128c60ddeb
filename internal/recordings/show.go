package recordings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"

	"ptyctl/internal/tty"
	"ptyctl/record"
)

// Show writes the facts about a recording to w, and its markers.
func Show(w io.Writer, path string, ids ...age.Identity) error {
	r, err := record.Open(path, ids...)
	if err != nil {
		return err
	}
	defer r.Close()
	h := r.Header
	out := bufio.NewWriter(w)
	started := "not known"
	if !h.About.Started.IsZero() {
		started = h.About.Started.Local().Format(time.RFC3339)
	}
	fmt.Fprintf(out, "file      %s\nsession   %s\nhost      %s\nprotocol  %s\nstarted   %s\nterminal  %dx%d\n\n",
		tty.Printable(path), tty.Printable(h.About.Session), tty.Printable(h.About.Host), tty.Printable(h.About.Protocol),
		started, h.Term.Cols, h.Term.Rows)
	n := 0
	var last time.Duration
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		last = e.Time
		if e.Code == 'm' {
			n++
			fmt.Fprintf(out, "%4d %9s  %s\n", n, record.Clock(e.Time), tty.Printable(e.Text))
		}
	}
	fmt.Fprintf(out, "\n%s, %s\n", record.Clock(last), tty.Count(n, "marker"))
	if r.Torn() {
		fmt.Fprintln(out, "note: the file ends in the middle of a line: it is being written, or was cut off")
	}
	return out.Flush()
}

// Verdict says how much of a recording its seals prove.
func Verdict(rep record.Report) string {
	switch {
	case rep.Ended:
		return tty.Count(rep.Seals, "seal") + ", complete"
	case rep.Open > 0:
		return fmt.Sprintf("%s, and %d bytes after the last, which prove nothing: it is being written, or was cut off",
			tty.Count(rep.Seals, "seal"), rep.Open)
	}
	return tty.Count(rep.Seals, "seal") + ", not complete: it is being written, or was cut off"
}
