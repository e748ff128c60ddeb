package aiterm_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
	"ptyctl/term"
)

// A heard program records the arguments and the input of its start.
type heard struct {
	local term.LocalOptions
	stdin []byte
	over  chan struct{}
}

func (p *heard) Exec(_ context.Context, r term.ExecRequest, _, _ io.Writer) (term.Exit, error) {
	defer close(p.over)
	p.stdin = r.Stdin
	return term.Exit{Started: true, Known: true}, nil
}

func (p *heard) Read([]byte) (int, error)    { <-p.over; return 0, io.EOF }
func (p *heard) Write(b []byte) (int, error) { return len(b), nil }
func (p *heard) Resize(int, int) error       { return nil }
func (p *heard) Close() error                { return nil }

// The program gets exactly the values in the arguments, or the call fails with EBADARGS.
func FuzzArguments(f *testing.F) {
	f.Add(`["ls","-l"]`, `{"A":"b","C":""}`, `"aGVsbG8="`)
	f.Add(`["ls"]`, `{"A=b":"c"}`, `"aGVsbG8"`)
	f.Add(`["ls"]`, `{"":"c"}`, `"aGVs\nbG8="`)
	f.Add(`["",""]`, `{"A":"\u0000"}`, `"===="`)
	f.Add(`["a","\ud800"]`, `{"A":"1","A":"2"}`, `null`)
	f.Add(`[]`, `[]`, `5`)
	f.Add(`{}`, `null`, `"-_-_"`)
	last := new(heard)
	set := aiterm.New()
	manager := session.NewManager(session.Config{
		Observers: []term.Observer{set},
		Dialers: map[string]term.Dialer{
			"local": func(_ context.Context, t term.Target, _ term.Prompter, _ term.Approve) (term.Transport, error) {
				last = &heard{local: t.Local, over: make(chan struct{})}
				return last, nil
			},
		},
	})
	f.Cleanup(func() { manager.Close(context.Background()) })
	srv := mcpapi.NewServer(
		mcpapi.Options{
			Sessions: manager,
			Local:    []string{"stdio"},
			More:     []toolset.Set{set.Toolset()},
			Toolsets: []string{set.Name()},
		},
	)
	f.Fuzz(func(t *testing.T, argv, env, stdin string) {
		arguments := fmt.Sprintf(`{"argv":%s,"env":%s,"stdin":%s}`, argv, env, stdin)
		var meant struct {
			Argv  []string
			Env   map[string]string
			Stdin string
		}
		if !json.Valid([]byte(arguments)) || !utf8.ValidString(arguments) {
			return
		}
		*last = heard{}
		answer, err := json.Marshal(
			srv.Protocol().HandleMessage(
				t.Context(),
				[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell_run","arguments":`+arguments+`}}`),
			),
		)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(answer, &got); err != nil || len(got.Result.Content) != 1 {
			t.Fatalf("%s: %v in %s", arguments, err, answer)
		}
		var r reply
		if err := json.Unmarshal([]byte(got.Result.Content[0].Text), &r); err != nil {
			t.Fatal(err)
		}
		if got.Result.IsError {
			if r.Code != aiterm.EBadArgs || r.Message == "" || last.local.Argv != nil {
				t.Fatalf("%s: %s, of a program that got %q", arguments, got.Result.Content[0].Text, last.local.Argv)
			}
			return
		}
		if err := json.Unmarshal([]byte(arguments), &meant); err != nil {
			t.Fatalf("%s is accepted: %v", arguments, err)
		}
		data, err := base64.StdEncoding.DecodeString(meant.Stdin)
		if err != nil {
			t.Fatalf("%q is accepted as base64: %v", meant.Stdin, err)
		}
		vars := make(map[string]string)
		for i, e := range last.local.Env {
			vars[e.Name] = e.Value
			if e.Name == "" || strings.ContainsAny(e.Name, "=\x00") || strings.Contains(e.Value, "\x00") ||
				i > 0 && last.local.Env[i-1].Name >= e.Name {
				t.Fatalf("%s: the environment %q", arguments, last.local.Env)
			}
		}
		if !last.local.Bare || fmt.Sprint(last.local.Argv) != fmt.Sprint(meant.Argv) || !maps.Equal(vars, meant.Env) ||
			string(last.stdin) != string(data) {
			t.Fatalf("%s: the program got %+v and %q", arguments, last.local, last.stdin)
		}
	})
}
