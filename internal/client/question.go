package client

import "context"

// An OpenQuestion is a question of a login that waits for its answer.
type OpenQuestion struct {
	PID       int       `json:"pid,omitempty"`
	SessionID string    `json:"session_id"`
	Question  *Question `json:"prompt"`

	Process *Process `json:"-"` // that has the session
}

// Questions returns all questions that wait.
func (all Processes) Questions(ctx context.Context) ([]OpenQuestion, error) {
	found := []OpenQuestion{}
	for _, p := range all {
		sessions, _, err := p.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range sessions {
			if !s.Waiting {
				continue
			}
			q, err := s.Question(ctx)
			if err != nil {
				return nil, err
			}
			if q != nil {
				found = append(found, *q)
			}
		}
	}
	return found, nil
}

// Question returns the question that the session waits with; nil: it asks nothing, or has been forgotten.
func (s *Session) Question(ctx context.Context) (*OpenQuestion, error) {
	now, err := s.Status(ctx)
	switch {
	case IsCode(err, "NOT_FOUND"):
		return nil, nil
	case err != nil:
		return nil, err
	case now.Question == nil:
		return nil, nil
	}
	return &OpenQuestion{PID: s.PID, SessionID: s.SessionID, Question: now.Question, Process: s.Process}, nil
}

// Status returns the present status of the session.
func (s *Session) Status(ctx context.Context) (now StatusResult, err error) {
	err = s.Process.Call(ctx, ToolSession, SessionCall{Action: "status", SessionID: s.SessionID}, &now)
	return now, err
}
