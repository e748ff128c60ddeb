package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// A demonstration makes MCP calls and prints each with its result, until one is not as expected.
type demonstration struct {
	ctx     context.Context
	out     io.Writer
	client  *client.Client
	session string
	secret  string // never printed
	step    int
	err     error
}

// A result holds the fields of compact results that the steps check: without a state a session is open, without matched
// the pattern has matched.
type result struct {
	text string // all of it

	Success   bool
	SessionID string `json:"session_id"`
	State     string
	Stdout    string
	Stderr    string
	ExitCode  *int `json:"exit_code"`
	Chunk     string
	Cols      int
	Rows      int
	Matched   *bool
	Sessions  []struct {
		SessionID string `json:"session_id"`
	}
}

func (d *demonstration) say(text string) {
	if d.err == nil {
		d.step++
		fmt.Fprintf(d.out, "%d. %s\n", d.step, text)
	}
}

// call makes one tool call. $S in its arguments is replaced by the id of the session.
func (d *demonstration) call(tool, arguments string) result {
	var r result
	if d.err != nil {
		return r
	}
	arguments = strings.ReplaceAll(arguments, "$S", d.session)
	fmt.Fprintf(d.out, "   -> %s %s\n", tool, d.hide(arguments))
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, json.RawMessage(arguments)
	res, err := d.client.CallTool(d.ctx, req)
	if err != nil {
		d.err = err
		return r
	}
	var text strings.Builder
	for _, c := range res.Content {
		if t, ok := mcp.AsTextContent(c); ok {
			text.WriteString(t.Text)
		}
	}
	fmt.Fprintf(d.out, "   <- %s\n", d.hide(text.String()))
	r.text = text.String()
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		d.err = fmt.Errorf("the result is not JSON: %w", err)
	} else if res.IsError {
		d.err = errors.New("the call failed")
	}
	return r
}

// want checks a result.
func (d *demonstration) want(ok bool, what string) {
	if d.err != nil {
		return
	}
	if !ok {
		d.err = fmt.Errorf("expected %s", what)
		return
	}
	fmt.Fprintf(d.out, "      as expected: %s\n", what)
}

// firstLine reads the first line of a program's output.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	return strings.TrimSpace(line), err
}

// stop ends the child as a client ends it.
func (d *demonstration) stop() error {
	if err := d.client.Close(); err != nil {
		return fmt.Errorf("ptyctl did not end well: %w", err)
	}
	return nil
}

func (d *demonstration) hide(text string) string {
	if d.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, d.secret, "********")
}
