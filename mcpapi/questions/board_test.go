package questions_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/consent"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/questions"
	"ptyctl/mcpapi/toolset"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// operator is a person at the control socket.
var operator = identity.Caller{Transport: "socket", Operator: true, PID: 1138}

func as(t *testing.T, c identity.Caller) context.Context {
	t.Helper()
	ctx := identity.WithCaller(t.Context(), c)
	return term.WithActor(ctx, term.Actor{Transport: c.Transport, Token: c.Token, Operator: c.Operator, PID: c.PID})
}

// withBoard starts a lab with a board.
func withBoard(t *testing.T, c mcptest.Config, o questions.Options) (*mcptest.Lab, *questions.Board) {
	t.Helper()
	var board *questions.Board
	if o.Consents != nil {
		o.Consents = consent.NewBook(consent.Options{Changed: func() { board.Changed() }})
		c.Options.Consents = o.Consents
	}
	board = questions.New(o)
	c.Sessions.Observers = append(c.Sessions.Observers, board)
	l := mcptest.NewLab(t, c)
	board.Serve(l.Manager)
	return l, board
}

// next waits for a list with one question that has another id.
func next(t *testing.T, ctx context.Context, b *questions.Board, before string) questions.Question {
	t.Helper()
	for list := b.List(ctx); ; list = b.Wait(ctx, list.Version, time.Minute) {
		if len(list.Questions) == 1 && list.Questions[0].ID != before {
			return list.Questions[0]
		}
		if ctx.Err() != nil {
			t.Fatalf("the list stays %+v, want another question than %s", list, before)
		}
	}
}

func wantKind(t *testing.T, what string, err error, kind term.Kind) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

// A login's questions are answered by their ids, and each answer is for its question alone.
func TestLogin(t *testing.T) {
	own := errors.New("started by this ptyctl")
	l, b := withBoard(t, mcptest.Config{SSH: sshserver.Config{
		KeyboardInteractive: func(_ string, ask ssh.KeyboardInteractiveChallenge) error {
			for _, q := range []string{"Name\x1b[2J\u202e: ", "Code: "} {
				if answers, err := ask("", "", []string{q}, []bool{q != "Code: "}); err != nil || answers[0] != "right" {
					return term.AuthFailed
				}
			}
			return nil
		},
	}}, questions.Options{Refuse: func(pid int) error {
		if pid == 666 {
			return own
		}
		return nil
	}})
	ctx := as(t, operator)
	r := l.OK(mcptest.SessionTool, l.OpenArgs(""))
	first := next(t, ctx, b, "")
	if first.Kind != questions.KindChallenge || first.Form != questions.AnswerText || first.SessionID != r.SessionID ||
		first.User != "demo" || first.Expires <= first.Since || first.Asker.Transport != "stdio" ||
		first.Text != `Name\x1b[2J\u202e: ` {
		t.Errorf("the first question is %+v, want that of the login, with its controls visible", first)
	}
	right := "right"
	reader, child := operator, operator
	reader.ReadOnly, child.PID = true, 666
	wantKind(t, "answer where people only watch", b.Answer(as(t, reader), questions.Answer{ID: first.ID, Text: &right}), term.PolicyDenied)
	wantKind(t, "answer of a program of a session", b.Answer(as(t, child), questions.Answer{ID: first.ID, Text: &right}), term.PolicyDenied)
	wantKind(t, "answer without text", b.Answer(ctx, questions.Answer{ID: first.ID, Yes: new(true)}), term.InvalidArgument)
	wantKind(t, "two answers", b.Answer(ctx, questions.Answer{ID: first.ID, Text: &right, Decline: true}), term.InvalidArgument)
	wantKind(t, "unknown question", b.Answer(ctx, questions.Answer{ID: "q-x\x1b", Text: &right}), term.NotFound)
	stranger := identity.Caller{Transport: "http", Token: "other", Isolated: true}
	wantKind(t, "answer of one who does not see the session", b.Answer(as(t, stranger), questions.Answer{ID: first.ID, Text: &right}), term.NotFound)
	if list := b.List(as(t, stranger)); len(list.Questions) != 0 {
		t.Errorf("one who does not see the session sees %+v", list)
	}
	if err := b.Answer(ctx, questions.Answer{ID: first.ID, Text: &right}); err != nil {
		t.Fatalf("Answer = %v, want no error", err)
	}
	second := next(t, ctx, b, first.ID)
	if second.Form != questions.AnswerSecret || second.Text != "Code: " {
		t.Errorf("the second question is %+v, want that for a secret", second)
	}
	wantKind(t, "a late answer to the first question", b.Answer(ctx, questions.Answer{ID: first.ID, Text: &right}), term.NotFound)
	if err := b.Answer(ctx, questions.Answer{ID: second.ID, Text: &right}); err != nil {
		t.Fatalf("Answer = %v, want no error", err)
	}
	for list := b.List(ctx); len(list.Questions) > 0; list = b.Wait(ctx, list.Version, time.Minute) {
		if ctx.Err() != nil {
			t.Fatal("the question stays after its answer")
		}
	}

	// A person who declines ends the login.
	id := l.OK(mcptest.SessionTool, l.OpenArgs("")).SessionID
	q := next(t, ctx, b, second.ID)
	if err := b.Answer(ctx, questions.Answer{ID: q.ID, Decline: true}); err != nil {
		t.Errorf("decline = %v, want no error", err)
	}
	if r := l.OK(mcptest.IOTool, `{"action":"read","session_id":"`+id+`","until_idle_ms":10}`); r.State == "open" {
		t.Errorf("the login goes on after it was declined: %s", r.Text)
	}
}

// asking is a lab where `echo asked` needs a person.
func asking(t *testing.T, wait time.Duration) mcptest.Config {
	t.Helper()
	p, err := policy.New(policy.Rules{
		Ask: []policy.Rule{{Text: "echo asked*", Name: "policy.ask"}}, Consent: true, Person: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.Config{
		Sessions: session.Config{Gate: p.Gate()},
		Options:  mcpapi.Options{Limits: toolset.Limits{MaxWait: wait}},
	}
}

// A call waits for the operator's person. Neither its own client nor a token of HTTP may agree to it.
func TestConsent(t *testing.T) {
	l, b := withBoard(t, asking(t, time.Minute), questions.Options{Consents: new(consent.Book)})
	l.Open("")
	ctx := as(t, operator)
	_, answer := l.Start("tools/call", l.Params(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo asked","task_id":"t1"}`))
	q := next(t, ctx, b, "")
	if q.Kind != questions.KindConsent || q.Form != questions.AnswerYesNo || q.Text != "'echo' 'asked'" || q.Action != "exec" ||
		q.SessionID != l.Session || !q.Waits || q.Asker.Task != "t1" || q.Rule == "" {
		t.Errorf("the question is %+v, want that of the call", q)
	}
	token := identity.Caller{Transport: "http", Token: "agent"}
	wantKind(t, "a token of HTTP", b.Answer(as(t, token), questions.Answer{ID: q.ID, Yes: new(true)}), term.PolicyDenied)
	text := "yes"
	wantKind(t, "a text", b.Answer(ctx, questions.Answer{ID: q.ID, Text: &text}), term.InvalidArgument)
	if err := b.Answer(ctx, questions.Answer{ID: q.ID, Yes: new(true)}); err != nil {
		t.Fatalf("Answer = %v, want no error", err)
	}
	if r := l.Agent.Read((<-answer).Result); r.Stdout != "asked\n" {
		t.Errorf("the call that waited: %s, want its output", r.Text)
	}
	wantKind(t, "a second answer", b.Answer(ctx, questions.Answer{ID: q.ID, Yes: new(true)}), term.NotFound)
	if list := b.List(ctx); len(list.Questions) != 0 {
		t.Errorf("the list is %+v, want nothing", list)
	}
}

// A call without an answer ends as busy, and the error has waiting_for.
func TestBusy(t *testing.T) {
	l, b := withBoard(t, asking(t, 50*time.Millisecond), questions.Options{Consents: new(consent.Book)})
	l.Open("")
	const call = `{"session_id":"$S","cmd":"echo asked"}`
	r := l.Fails(mcptest.ExecTool, call, term.Busy, "nothing was done", "exactly the same call again")
	if !strings.Contains(r.Text, `"waiting_for":{"kind":"person","text":"policy.ask \"echo asked*\""}`) {
		t.Errorf("the failure is %s, want waiting_for", r.Text)
	}
	ctx := as(t, operator)
	q := next(t, ctx, b, "")
	if q.Waits {
		t.Errorf("the question is %+v, want that no call waits for it", q)
	}
	if err := b.Answer(ctx, questions.Answer{ID: q.ID, Decline: true}); err != nil {
		t.Fatalf("Answer = %v, want no error", err)
	}
	l.Fails(mcptest.ExecTool, call, term.PolicyDenied, "a person was asked, and has denied it")
	l.Fails(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo asked","stdin":"x"}`, term.PolicyDenied)
	// The end of the session withdraws its question.
	l.Fails(mcptest.ExecTool, call, term.Busy)
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	if list := b.List(ctx); len(list.Questions) != 0 {
		t.Errorf("the list after the end of the session is %+v, want nothing", list)
	}
}

// A process without a list of questions denies.
func TestNobodyToAsk(t *testing.T) {
	l := mcptest.NewLab(t, asking(t, time.Minute))
	l.Open("")
	l.Fails(mcptest.ExecTool, `{"session_id":"$S","cmd":"echo asked"}`, term.PolicyDenied, "none can answer in this process")
}

// The handler takes only the requests that it knows, and quotes no answer in an error.
func TestHandler(t *testing.T) {
	_, b := withBoard(t, mcptest.Config{}, questions.Options{Version: "1.2", Refuse: func(pid int) error {
		if pid == 666 {
			return errors.New("started by this ptyctl")
		}
		return nil
	}})
	const secret = "handler-secret-1138"
	child := operator
	child.PID = 666
	reader := operator
	reader.ReadOnly = true
	for name, tt := range map[string]struct {
		caller                   identity.Caller
		method, path, kind, body string
		status                   int
		want                     string
	}{
		"list":               {operator, "GET", "/questions", "", "", 200, `"mode":"readwrite","questions":[]`},
		"only watch":         {reader, "GET", "/questions", "", "", 200, `"mode":"readonly"`},
		"bad wait":           {operator, "GET", "/questions?after=x&wait_ms=-1", "", "", 400, "wait_ms"},
		"other version":      {operator, "GET", "/questions?after=x&wait_ms=60000", "", "", 200, `"questions":[]`},
		"a form":             {operator, "POST", "/questions", "application/x-www-form-urlencoded", "text=" + secret, 400, "Content-Type"},
		"no JSON":            {operator, "POST", "/questions", "application/json", secret, 400, "no JSON object"},
		"more members":       {operator, "POST", "/questions", "application/json", `{"` + secret + `":1}`, 400, "no JSON object"},
		"too much":           {operator, "POST", "/questions", "application/json", `{"text":"` + strings.Repeat("x", 70_000) + `"}`, 400, "no JSON object"},
		"unknown":            {operator, "POST", "/questions", "application/json", `{"question_id":"q","text":"` + secret + `"}`, 404, "NOT_FOUND"},
		"watch":              {operator, "POST", "/watch", "application/json", `{}`, 200, `"version":"1.2"`},
		"watch of a child":   {child, "POST", "/watch", "application/json", `{}`, 403, "POLICY_DENIED"},
		"answer of a child":  {child, "POST", "/questions", "application/json", `{"question_id":"q","yes":true}`, 403, "started by this ptyctl"},
		"answer of a reader": {reader, "POST", "/questions", "application/json", `{"question_id":"q","yes":true}`, 403, "control_mode"},
		"method":             {operator, "DELETE", "/questions", "", "", 400, "lists questions"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(identity.WithCaller(t.Context(), tt.caller), tt.method, tt.path, strings.NewReader(tt.body))
			r.Header.Set("Content-Type", tt.kind)
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || strings.Contains(w.Body.String(), secret) ||
				!json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %s: status %d, %s; want %d with %q", tt.method, tt.path, w.Code, w.Body, tt.status, tt.want)
			}
			if w.Header().Get("Cache-Control") != "no-store" || w.Code == http.StatusOK && !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
				t.Errorf("headers %v, want JSON that is not stored", w.Header())
			}
		})
	}
}
