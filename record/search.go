package record

import (
	"context"
	"regexp"
	"time"
)

// A Match is a line that a search has found.
type Match struct {
	Line
	Marker  int       // the last marker before it, from 1; 0: none
	Started time.Time // of the recording
}

// Search calls yield for each line of a recording that matches, markers included, until yield returns false. It needs
// no more memory than a line. progress, which may be nil, gets how much of the file is read, and its size.
func Search(ctx context.Context, r *Reader, re *regexp.Regexp, progress func(read, of int64), yield func(Match) bool) error {
	markers, n := 0, 0
	err := Lines(r, func(l Line) bool {
		if l.Marker {
			markers++
		}
		if ctx.Err() != nil { // a costly pattern takes a second for a long line
			return false
		}
		if n++; n%1024 == 0 && progress != nil {
			progress(r.Progress())
		}
		if !re.MatchString(l.Text) {
			return true
		}
		return yield(Match{Line: l, Marker: markers, Started: r.Header.About.Started})
	})
	if err == nil {
		err = ctx.Err()
	}
	return err
}
