package watch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/mcpapi/questions"
)

// questionTime is how long a process is asked for another list of questions at a time.
const questionTime = 25 * time.Second

// MayWatch asks a process whether this program may watch it for a person. One of an earlier version has no objection.
func MayWatch(ctx context.Context, p *client.Process) error {
	if _, err := p.Watch(ctx); err != nil && !errors.Is(err, control.ErrNoQuestions) {
		return err
	}
	return nil
}

// questions passes on the list of questions of a process, and each change of it, until ctx or the process ends. One
// of an earlier version has no list.
func (m *merger) questions(ctx context.Context, p *client.Process) {
	version := ""
	for {
		list, err := p.Questions(ctx, version, questionTime)
		if err != nil {
			return
		}
		if list.Version == version {
			continue
		}
		version = list.Version
		text, err := json.Marshal(list)
		if err != nil || m.line(keyOf(p.Socket), "questions", text) != nil {
			return
		}
	}
}

// answerQuestion answers a question of a process's list.
func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[struct {
		P      string
		Answer questions.Answer
	}](w, r)
	if !ok {
		return
	}
	s.with(w, r, sent.P, func(p *client.Process) (any, error) {
		return struct{}{}, p.Answer(r.Context(), sent.Answer)
	})
}
