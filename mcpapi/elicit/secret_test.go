package elicit_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/consent"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/elicit"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

// fromPeople gives out whatever a person gives.
type fromPeople struct{ *elicit.Secrets }

func (f fromPeople) Check(context.Context, term.SecretRequest) (term.Ruling, error) {
	return term.Ruling{}, nil
}

func (f fromPeople) Release(ctx context.Context, r term.SecretRequest) ([]byte, error) {
	return f.AskSecret(ctx, term.SecretQuestion{Secret: r.Name, Rule: "secret.pw.source", Value: true, About: r})
}

func (f fromPeople) List(context.Context) []term.SecretInfo { return nil }

// TestElicitValue: the value of a secret is typed on a page to which the client leads the person. A person who declines
// there denies the use.
func TestElicitValue(t *testing.T) {
	pages := elicit.NewPages()
	defer pages.Close()
	book := consent.NewBook(consent.Options{})
	defer book.Close()
	secrets := fromPeople{&elicit.Secrets{Book: book, Pages: pages, Log: slog.New(slog.DiscardHandler)}}
	p := &person{t: t}
	var typing sync.WaitGroup
	p.answer = func(q *sdk.ElicitParams) *sdk.ElicitResult {
		if len(p.questions()) == 1 {
			return &sdk.ElicitResult{Action: "decline"}
		}
		typing.Go(func() {
			if status, page := fillIn(t, q.URL, "planted-1138"); status != http.StatusOK || !strings.Contains(page, "Done") {
				t.Errorf("the page said %d %s", status, page)
			}
		})
		return &sdk.ElicitResult{Action: "accept"}
	}
	l, c := mcptest.Transports["stdio"](t, mcptest.Config{
		SSH:      sshserver.Config{Shell: "/bin/sh"},
		Sessions: session.Config{Input: session.InputOptions{Secrets: secrets}},
		Options:  mcpapi.Options{Elicitation: true, Pages: pages, Secrets: secrets},
	}, "2025-11-25", p.options(alsoPages))
	id := c.Call(mcptest.SessionTool, l.OpenArgs("")).SessionID
	c.Call(mcptest.IOTool, `{"action":"write","session_id":"`+id+`",`+
		`"data":"stty -echo; printf 'Pass'; printf 'word: '; read x; echo; echo got ${#x}\r","until_regex":"Password: $"}`)
	const denied = "a person was asked, and has denied it"
	write := `{"action":"write","session_id":"` + id + `","secret":"pw","until_regex":"got \\d+"}`
	if r := c.Call(mcptest.IOTool, write); !strings.Contains(r.Text, denied) || !strings.Contains(r.Text, "POLICY_DENIED") {
		t.Errorf("the write after the person has declined: %s, want POLICY_DENIED", r.Text)
	}
	if r := c.Call(mcptest.IOTool, write); !strings.Contains(r.Text, "got 12") || strings.Contains(r.Text, "planted") {
		t.Errorf("the write after the person has answered: %s, want that the program got 12 characters", r.Text)
	}
	typing.Wait()
	asked := p.questions()
	if len(asked) != 2 || asked[1].Mode != "url" || !strings.Contains(asked[1].Message, "asks for the secret pw") {
		t.Fatalf("asked %+v, want two pages for the secret pw", asked)
	}
	for _, q := range asked {
		wantGone(t, q.URL)
	}
	if open := book.List(); len(open) != 0 {
		t.Errorf("%+v wait still", open)
	}
}
