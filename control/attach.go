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

// A way carries a client's requests to the socket, each with the proof that an attached person makes it, once there is one.
type way struct {
	*http.Transport
	proof atomic.Pointer[string]
}

// RoundTrip implements http.RoundTripper.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if proof := w.proof.Load(); proof != nil {
		r = r.Clone(r.Context()) // a RoundTripper must leave the caller's alone
		r.Header.Set(httpserve.AttachmentHeader, *proof)
	}
	return w.Transport.RoundTrip(r)
}

// Attach makes all later calls of the client those of one attached person: what it locks from then on, no other client can
// type into, whatever it passes. name is for others to read. What the server knows the person by stays in this client.
func (c *Client) Attach(ctx context.Context, name string) error {
	if c.http == nil {
		return errors.New("control: a server in this process has no one else to keep out")
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
		return errors.New("control: the server is older than this program and cannot attach a person; restart it")
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("control: attaching: %s", res.Status)
	case err != nil || answer.Proof == "":
		return errors.New("control: attaching: the server's answer holds no proof")
	}
	c.way.proof.Store(&answer.Proof)
	return nil
}
