package watch

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"sync"
	"time"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/term"
)

// leaseTime is how long a terminal stays taken if the page is gone. The page renews it every 5 seconds.
const leaseTime = 30 * time.Second

// quietTime is how long a person may type nothing before they lose the terminal: an agent must not wait for a window
// that was forgotten.
const quietTime = 10 * time.Minute

// A hold is a terminal that a person has taken. It has its own connection, because that carries the proof of the
// person: no other user of this server can type under it.
type hold struct {
	session string
	task    string // the holder's name for others; the proof is in the connection
	process *client.Process

	mu   sync.Mutex // guards the following; held during a write, so that input arrives in order
	used time.Time  // of the last input
	over bool
}

// personName names the person here for the others at the session.
func personName() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("%s (ptyctl watch, process %d)", name, os.Getpid())
}

// A taking says which terminal is to be taken.
type taking struct{ P, Session string }

// take takes a terminal from the agent.
func (s *Server) take(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[taking](w, r)
	if !ok {
		return
	}
	h, previous, err := s.takeOver(r.Context(), sent)
	if err != nil {
		failWith(w, err)
		return
	}
	id, _ := newSecret()
	s.mu.Lock()
	full := s.over || len(s.holds) >= mostHolds
	if !full {
		s.holds[id] = h
	}
	s.mu.Unlock()
	if full {
		h.end(context.WithoutCancel(r.Context()))
		fail(w, http.StatusConflict, "LIMIT_EXCEEDED", "too many terminals are taken; give one back")
		return
	}
	answer(w, map[string]string{"hold": id, "previous": previous})
}

// takeOver makes a hold. previous names the holder that has lost the terminal.
func (s *Server) takeOver(ctx context.Context, t taking) (h *hold, previous string, err error) {
	p, err := s.dial(ctx, t.P)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	h = &hold{session: t.Session, task: cmp.Or(s.o.Person, personName()), process: p, used: time.Now()}
	err = client.MayType(ctx, p.Client, t.Session, h.task) // before the holder loses it for nothing
	if _, refused := errors.AsType[*control.ToolError](err); refused && s.o.Person == "" {
		err = client.ReadOnlyHint(err)
	}
	if err != nil {
		return nil, "", err
	}
	var out struct {
		Previous string `json:"previous_holder"`
	}
	err = p.Call(ctx, client.ToolSession, client.SessionCall{
		Action: "lock", SessionID: t.Session, TaskID: h.task, LockTTL: leaseTime.Milliseconds(), TakeOver: true,
	}, &out)
	return h, out.Previous, err
}

// find returns a hold; nil: it is over, and the answer says so.
func (s *Server) find(w http.ResponseWriter, id string) *hold {
	s.mu.Lock()
	h := s.holds[id]
	s.mu.Unlock()
	if h == nil {
		fail(w, http.StatusConflict, "LOCK_REQUIRED", "you have not taken this terminal, or no longer have it")
	}
	return h
}

// drop forgets a hold.
func (s *Server) drop(id string) {
	s.mu.Lock()
	delete(s.holds, id)
	s.mu.Unlock()
}

// A typing is input of a person. One of Data and Key is set.
type typing struct {
	Hold   string
	Data   string
	Key    string
	Paste  bool
	Secret bool
}

// input types into a terminal that was taken. It proves before each input that the terminal is still taken.
func (s *Server) input(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[typing](w, r)
	if !ok {
		return
	}
	h := s.find(w, sent.Hold)
	if h == nil {
		return
	}
	if err := h.write(r.Context(), sent); err != nil {
		s.lose(sent.Hold, h, err)
		failWith(w, err)
		return
	}
	answer(w, struct{}{})
}

// beat keeps a terminal taken while the page is open.
func (s *Server) beat(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[struct{ Hold string }](w, r)
	if !ok {
		return
	}
	h := s.find(w, sent.Hold)
	if h == nil {
		return
	}
	h.mu.Lock()
	quiet := time.Since(h.used) > quietTime
	err := h.renew(r.Context())
	h.mu.Unlock()
	switch {
	case err != nil:
		s.lose(sent.Hold, h, err)
		failWith(w, err)
	case quiet:
		s.drop(sent.Hold)
		h.end(r.Context())
		fail(w, http.StatusConflict, "LOCK_REQUIRED", "you have typed nothing for ten minutes, so the terminal is free again")
	default:
		answer(w, struct{}{})
	}
}

// lose ends a hold if err says that another has the terminal, or that the session or the hold has ended.
func (s *Server) lose(id string, h *hold, err error) {
	if errors.Is(err, term.LockRequired) { // a beat and an input at one time
		s.drop(id)
		return
	}
	for _, gone := range []string{"LOCKED", "LOCK_REQUIRED", "NOT_FOUND", "ALREADY_CLOSED"} {
		if client.IsCode(err, gone) {
			s.drop(id)
			h.close()
			return
		}
	}
}

// give gives a terminal back.
func (s *Server) give(w http.ResponseWriter, r *http.Request) {
	sent, ok := read[struct{ Hold string }](w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	h := s.holds[sent.Hold]
	delete(s.holds, sent.Hold)
	s.mu.Unlock()
	if h != nil {
		h.end(context.WithoutCancel(r.Context())) // a page that is closed does not wait for the answer
	}
	answer(w, struct{}{})
}

// giveAllBack gives back all that was taken. Nothing can be taken afterwards.
func (s *Server) giveAllBack(ctx context.Context) {
	s.mu.Lock()
	holds := s.holds
	s.holds, s.over = make(map[string]*hold), true
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, h := range holds {
		all.Go(func() { h.end(ctx) })
	}
	all.Wait()
}

// renew proves that the terminal is taken by this person, and extends that. Requires h.mu.
func (h *hold) renew(ctx context.Context) error {
	if h.over {
		return &term.Error{Kind: term.LockRequired, Msg: "this terminal is no longer taken"}
	}
	return h.process.Call(ctx, client.ToolSession, client.SessionCall{
		Action: "heartbeat", SessionID: h.session, TaskID: h.task, LockTTL: leaseTime.Milliseconds(),
	}, nil)
}

// write types.
func (h *hold) write(ctx context.Context, t typing) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.renew(ctx); err != nil {
		return err
	}
	h.used = time.Now()
	call := client.IOCall{
		Action: "write", SessionID: h.session, TaskID: h.task, Key: t.Key, Paste: t.Paste, Sensitive: t.Secret,
	}
	if t.Key == "" {
		call.Data, call.Encoding = base64.StdEncoding.EncodeToString([]byte(t.Data)), "base64"
	}
	return h.process.Call(ctx, client.ToolIO, call, nil)
}

// end gives the terminal back.
func (h *hold) end(ctx context.Context) {
	h.mu.Lock()
	if !h.over {
		// A failure means that nothing is left to give back, or that the lease ends by itself.
		_ = h.process.Call(ctx, client.ToolSession, client.SessionCall{
			Action: "unlock", SessionID: h.session, TaskID: h.task,
		}, nil)
	}
	h.mu.Unlock()
	h.close()
}

// close ends the connection.
func (h *hold) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.over = true
		h.process.Close()
	}
}
