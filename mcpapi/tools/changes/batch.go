package changes

import (
	"fmt"
	"strings"

	"ptyctl/profile"
	"ptyctl/session"
)

// A Batch is a profile's Batch: the two lines between which the others are one transaction. Only the caller types them.
type Batch struct {
	Begin string `json:"begin"`
	End   string `json:"end"`
	Note  string `json:"note"`
}

// BatchOf returns the two lines for the session's device, or nil if it needs none.
func BatchOf(s *session.Session) *Batch {
	p, ok := profile.Get(s.Expect().Profile)
	if !ok || p.Batch == nil {
		return nil
	}
	return &Batch{p.Batch.Begin, p.Batch.End, p.Batch.Note}
}

// manyLines is from how many lines on a transaction for each takes long.
const manyLines = 100

// BatchHint says how lines that take long would be typed faster; empty: they are few, or one transaction already.
func BatchHint(s *session.Session, lines string) string {
	b := BatchOf(s)
	if b == nil || strings.Count(lines, "\n") < manyLines || strings.Contains(lines, b.Begin) {
		return ""
	}
	return fmt.Sprintf("this device makes a transaction of each line, the slower the longer its configuration is; it makes "+
		"one of the lines between %s, typed in the configuration mode, and %s. %s", b.Begin, b.End, b.Note)
}
