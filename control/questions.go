package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ptyctl/mcpapi/questions"
)

// ErrNoQuestions is the error of a server without a list of questions.
var ErrNoQuestions = errors.New("control: this server has no list of questions: it is in this process, or too old; restart " +
	"it with this version")

// Questions returns the questions that wait for a person. With after, the version of an earlier list, it waits until
// there is another list, or at most for the given time, which the server limits to 50 s.
func (c *Client) Questions(ctx context.Context, after string, wait time.Duration) (list questions.List, err error) {
	path := questions.Path
	if after != "" {
		path += "?" + url.Values{"after": {after}, "wait_ms": {strconv.FormatInt(wait.Milliseconds(), 10)}}.Encode()
	}
	return list, c.ask(ctx, http.MethodGet, path, nil, &list)
}

// Answer answers one question. If it was refused, for example because the question no longer waits, the error is a
// *ToolError.
func (c *Client) Answer(ctx context.Context, a questions.Answer) error {
	return c.ask(ctx, http.MethodPost, questions.Path, a, nil)
}

// Watch asks whether this process may watch the other one for a person. A program that the other one has started may
// not: the error is a *ToolError.
func (c *Client) Watch(ctx context.Context) (w questions.Watch, err error) {
	return w, c.ask(ctx, http.MethodPost, questions.WatchPath, struct{}{}, &w)
}

// ask sends a request beside MCP. body is nil for a request without one; result is nil, or where the answer is decoded.
func (c *Client) ask(ctx context.Context, method, path string, body, result any) error {
	if c.http == nil {
		return ErrNoQuestions
	}
	var sent io.Reader // a server does not notice that a client is gone before it has read the body
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("control: %w", err)
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+path, sent)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", c.name) // the audit log names the command
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return callFailed(ctx, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
	if err != nil {
		return callFailed(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		e := new(ToolError)
		if json.Unmarshal(answer, e) == nil && e.Code != "" {
			return e
		}
		if res.StatusCode == http.StatusNotFound {
			return ErrNoQuestions
		}
		return fmt.Errorf("control: %s: %s", path, res.Status)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("control: the answer of %s: %w", path, err)
	}
	return nil
}
