package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"ptyctl/mcpapi/httpserve"
)

// A proofTransport sends a client's requests to the socket. It adds the environment of the
// command to each, and after Attach the proof of the attached person.
type proofTransport struct {
	*http.Transport
	proof       atomic.Pointer[string]
	environment string // encoded; empty: that of the server's process counts
}

// RoundTrip implements http.RoundTripper.
func (w *proofTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	proof := w.proof.Load()
	if proof != nil || w.environment != "" {
		r = r.Clone(r.Context()) // a RoundTripper must not change the caller's request
	}
	if proof != nil {
		r.Header.Set(httpserve.AttachmentHeader, *proof)
	}
	if w.environment != "" {
		r.Header.Set(httpserve.EnvironmentHeader, w.environment)
	}
	return w.Transport.RoundTrip(r)
}

// Attach makes all later calls of the client those of one attached person. No other
// client can type into a session that this client then locks, whatever arguments it
// passes. name is shown to others. The proof must
// stay in the memory of this client.
func (c *Client) Attach(ctx context.Context, name string) error {
	if c.http == nil {
		return errors.New("control: no attachments within one process: the server has no other clients")
	}
	body, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		"http://"+host+httpserve.AttachPath,
		bytes.NewReader(body),
	)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	defer res.Body.Close()
	var answer struct {
		Proof string `json:"proof"`
	}
	switch err := json.NewDecoder(io.LimitReader(res.Body, maxPage)).Decode(&answer); {
	case res.StatusCode == http.StatusNotFound:
		return errors.New("control: server too old to attach a person; restart it with this version")
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("control: attaching: %s", res.Status)
	case err != nil || answer.Proof == "":
		return errors.New("control: attach: no proof in the server's answer")
	}
	c.rt.proof.Store(&answer.Proof)
	return nil
}
