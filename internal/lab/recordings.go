package lab

import (
	"errors"
	"io/fs"
	"strings"

	"ptyctl/record"
)

// checkRecordings checks that the recordings of the program, which has ended, are complete, however their sessions
// ended. It returns all of their text.
func (p *Program) checkRecordings() string {
	p.TB.Helper()
	if p.recordings == "" {
		return ""
	}
	var text strings.Builder
	err := record.List(p.recordings, func(s record.Stored) bool {
		if s.Header.About.PID != p.PID { // of another program of the same home
			return true
		}
		if !p.Killed {
			if rep, err := record.Verify(s.Path, nil); err != nil || !rep.Ended {
				p.TB.Errorf("the recording %s is not complete: %+v, %v", s.Path, rep, err)
			}
		}
		if err := record.Plain(&text, s.Path); err != nil {
			p.TB.Error(err)
		}
		return true
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.TB.Error(err)
	}
	return text.String()
}
