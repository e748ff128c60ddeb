package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// A hook posts notices to a URL.
type hook struct {
	address   string
	tokenFile string
	tries     int
	pause     time.Duration // before the second try; each further one is twice as long
	timeout   time.Duration
	client    *http.Client
}

// The pauses between tries.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

func newHook(o Options) (*hook, error) {
	u, err := url.Parse(o.Webhook)
	switch {
	case err != nil || u.Host == "": // the error could quote a password
		return nil, errors.New("webhook: it is no URL; give one such as https://example.net/notify")
	case u.User != nil:
		return nil, errors.New("webhook: it names a user; put a token into the token file")
	case u.Scheme == "https", u.Scheme == "http" && (o.AllowHTTP || loopback(u.Hostname())):
	case u.Scheme == "http":
		return nil, fmt.Errorf("webhook: http to %s would be readable on the way; give an https URL, or allow http", u.Host)
	default:
		return nil, fmt.Errorf("webhook: the scheme %q is unknown; give an https URL", u.Scheme)
	}
	h := &hook{
		address: u.String(), tokenFile: o.TokenFile, tries: o.Tries, pause: firstPause, timeout: o.WebhookTimeout,
		client: &http.Client{CheckRedirect: sameHost, Transport: http.DefaultTransport.(*http.Transport).Clone()},
	}
	if _, err := h.token(); err != nil {
		return nil, err
	}
	return h, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}

// errRedirect is the failure of a request that another host would answer.
var errRedirect = errors.New("it redirects to another host, or without the notice, which is not followed")

// sameHost follows a redirect to the same host alone, and only one that keeps the notice.
func sameHost(r *http.Request, via []*http.Request) error {
	const most = 3
	first := via[0]
	if r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host || r.Method != first.Method || len(via) > most {
		return errRedirect
	}
	return nil
}

// token returns the token, which may change while the program runs; empty: none is used.
func (h *hook) token() (string, error) {
	if h.tokenFile == "" {
		return "", nil
	}
	info, err := os.Stat(h.tokenFile)
	if err != nil {
		return "", fmt.Errorf("webhook: the token file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return "", fmt.Errorf("webhook: others can read the token file %s; use chmod 600", h.tokenFile)
	}
	text, err := os.ReadFile(h.tokenFile)
	if err != nil {
		return "", fmt.Errorf("webhook: the token file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("webhook: the token file %s must hold one token", h.tokenFile)
	}
	return token, nil
}

// post posts a notice, several times if necessary.
func (h *hook) post(ctx context.Context, notice []byte) error {
	pause := h.pause
	for try := 1; ; try++ {
		again, err := h.once(ctx, notice)
		if err == nil || !again || try >= h.tries {
			return err
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// once posts a notice once. again reports whether a failure may pass.
func (h *hook) once(ctx context.Context, notice []byte) (again bool, err error) {
	ctx, stop := context.WithTimeout(ctx, h.timeout)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address, bytes.NewReader(notice))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "ptyctl")
	token, err := h.token()
	if err != nil {
		return true, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := h.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // its text has the URL, which may hold a secret
			err = u.Err
		}
		return !errors.Is(err, errRedirect), fmt.Errorf("webhook: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be used again
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	passes := res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests ||
		res.StatusCode == http.StatusRequestTimeout
	return passes, fmt.Errorf("webhook: the server answers %s", strconv.Quote(res.Status[:min(len(res.Status), 64)]))
}
