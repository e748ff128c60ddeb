package session

import (
	"fmt"

	"ptyctl/term"
)

// beside returns an advice that is about the channel lane; empty if the session has none.
func (e *execs) beside(advice string) string {
	s := e.s
	if !s.execs.hasChannel() {
		return ""
	}
	return advice
}

// hasChannel reports whether the session has a channel lane.
func (e *execs) hasChannel() bool {
	s := e.s
	l := s.link.Load()
	return l != nil && l.execer != nil
}

// chooseLane says how a command is run: in the terminal once something was typed there, because the caller then
// means there, with its directory and environment; until then beside it. A device that is expected to have prompts and
// pagers is typed to: many have one channel alone, and end the connection with the first command on another.
func (e *execs) chooseLane(r ExecRequest) (Lane, error) {
	s := e.s
	typed := s.prompts.Typed()
	can, class := e.hasChannel(), s.Expect().with(r.Expect).Class
	switch r.Lane {
	case LaneTerminal:
		return LaneTerminal, nil
	case LaneChannel:
		if !can {
			return "", &term.Error{
				Op:      "exec",
				Session: s.id,
				Kind:    term.Unsupported,
				Reason:  term.ReasonNoChannelLane,
				Msg:     "this session cannot run commands beside its terminal",
				Advice:  "use LaneTerminal",
			}
		}
		return LaneChannel, nil
	case "", LaneAuto:
		// A prefix and a suffix are for the marker of a typed line, so they ask for the terminal.
		if s.life.typeless() {
			return LaneChannel, nil
		}
		if typed || !can || r.MarkerPrefix != "" || r.MarkerSuffix != "" || class == ClassDevice {
			return LaneTerminal, nil
		}
		return LaneChannel, nil
	}
	return "", &term.Error{
		Op:      "exec",
		Session: s.id,
		Kind:    term.InvalidArgument,
		Msg:     fmt.Sprintf("lane %q does not exist; use auto, channel or terminal", r.Lane),
		Facts: term.Facts{term.ArgumentFault{
			Field: term.FieldLane, Allowed: []string{string(LaneAuto), string(LaneChannel), string(LaneTerminal)},
		}},
	}
}
