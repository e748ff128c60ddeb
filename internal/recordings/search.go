package recordings

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"filippo.io/age"

	"ptyctl/internal/tty"
	"ptyctl/record"
)

// Search writes the lines of recordings that match to w, at most so many, and notes to stderr. It fails if no line
// matches.
func Search(ctx context.Context, w io.Writer, paths []string, re *regexp.Regexp, most int, ids ...age.Identity) error {
	s := search{re: re, left: most, out: bufio.NewWriter(w), progress: newProgress(len(paths))}
	for i, path := range paths {
		if err := s.file(ctx, i, path, ids); err != nil {
			s.progress.clear()
			return err
		}
		if s.left <= 0 {
			s.progress.clear()
			fmt.Fprintln(os.Stderr, "ptyctl: there may be more: -n is reached")
			break
		}
	}
	s.progress.clear()
	if s.found == 0 && s.left > 0 {
		return fmt.Errorf("search: no line of %s matches", tty.Count(len(paths), "recording"))
	}
	return nil
}

// A search goes through recordings.
type search struct {
	re       *regexp.Regexp
	found    int
	left     int
	out      *bufio.Writer
	progress *progress
}

// file searches one recording. One that cannot be read must not keep others from being searched.
func (s *search) file(ctx context.Context, i int, path string, ids []age.Identity) error {
	r, err := record.Open(path, ids...)
	if err != nil {
		s.progress.clear()
		fmt.Fprintln(os.Stderr, "ptyctl: skipped:", tty.Printable(err.Error()))
		return nil
	}
	defer r.Close()
	err = record.Search(ctx, r, s.re, func(read, of int64) { s.progress.show(i, read, of) }, func(m record.Match) bool {
		s.progress.clear()
		mark := " "
		if m.Line.Marker {
			mark = "-"
		}
		fmt.Fprintf(s.out, "%s:%s:%s %s\n", tty.Printable(path), record.Clock(m.Time), mark, tty.Printable(m.Text))
		s.found++
		s.left--
		return s.left > 0
	})
	if failed := s.out.Flush(); failed != nil || err == nil || ctx.Err() != nil {
		return errors.Join(err, failed)
	}
	s.progress.clear()
	fmt.Fprintln(os.Stderr, "ptyctl: the rest of it is skipped:", tty.Printable(err.Error()))
	return nil
}

// A progress shows on a terminal how far a search is.
type progress struct {
	files int
	on    bool
	last  time.Time
	shown bool
}

func newProgress(files int) *progress {
	return &progress{files: files, on: tty.IsTerminal(os.Stderr), last: time.Now()}
}

func (p *progress) show(file int, read, of int64) {
	if !p.on || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d recordings, %d of %d MiB of this one", file+1, p.files, read>>20, of>>20)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
		p.shown = false
	}
}
