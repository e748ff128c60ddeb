package changes

import (
	"time"

	"ptyctl/profile"
	"ptyctl/session"
)

// DefaultMinutes is the time in which a change must be confirmed, if a call gives none.
const DefaultMinutes = 5

// A Trial is a profile's Trial, with its blanks filled in. Only the caller types it.
type Trial struct {
	Name    string   `json:"name"`
	Needs   string   `json:"needs,omitempty"`
	Begin   []string `json:"begin"`           // typed before the lines of the change
	Apply   []string `json:"apply,omitempty"` // typed after them
	Confirm []string `json:"confirm"`
	Cancel  []string `json:"cancel,omitempty"`
	Pending string   `json:"pending,omitempty"` // says whether the device waits for Confirm
	Note    string   `json:"note,omitempty"`
}

// Trials returns the methods by which the session's device undoes a change that is not confirmed in time.
func Trials(s *session.Session, minutes int) []Trial {
	p, ok := profile.Get(s.Expect().Profile)
	if !ok || len(p.Trials) == 0 {
		return nil
	}
	id := s.ID()
	name := "ptyctl-" + id[max(len(id)-8, 0):] // of this session alone, and short
	list := make([]Trial, len(p.Trials))
	for i, t := range p.Trials {
		f := t.Fill(time.Duration(minutes)*time.Minute, name)
		list[i] = Trial{f.Name, f.Needs, f.Begin, f.Apply, f.Confirm, f.Cancel, f.Pending, f.Note}
	}
	return list
}
