package reach

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"golang.org/x/net/proxy"

	"ptyctl/term"
)

// ParseProxy parses the URL of a proxy. Its errors never quote the URL, which may
// contain a password.
func ParseProxy(text string) (*url.URL, error) {
	bad := func(why string) error {
		return &term.Error{
			Kind: term.InvalidArgument,
			Msg: "the proxy URL is invalid: " + why +
				"; use socks5://[user:password@]host:port or http://[user:password@]host:port",
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldProxyURL}},
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, bad("not a URL")
	case u.Scheme != "socks5" && u.Scheme != "http":
		return nil, bad(fmt.Sprintf("scheme %q is not supported", u.Scheme))
	case u.Hostname() == "":
		return nil, bad("the host is missing")
	case u.Port() == "":
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"socks5": "1080", "http": "8080"}[u.Scheme])
	}
	return u, nil
}

// dialProxy connects to the server through a SOCKS5 proxy (RFC 1928) or an
// HTTP proxy (RFC 9110 section 9.3.6). The proxy resolves the name of the server.
func dialProxy(ctx context.Context, h *Endpoint, l Progress) (net.Conn, error) {
	l.Begin(StepTCP)
	var conn net.Conn
	var err error
	if h.Proxy.Scheme == "socks5" {
		conn, err = dialSOCKS(ctx, h)
	} else {
		conn, err = dialHTTP(ctx, h)
	}
	if ctx.Err() != nil {
		if err == nil {
			_ = conn.Close()
		}
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg: fmt.Sprintf(
				"cannot connect to %s through the proxy %s: %v",
				h.Address(),
				h.Proxy.Host,
				term.ForeignError(term.RootCause(err)),
			),
		}
	}
	l.Address("via proxy " + h.Proxy.Host)
	return conn, nil
}

// dialSOCKS connects through a SOCKS5 proxy, with user and password if the URL
// has them (RFC 1929).
func dialSOCKS(ctx context.Context, h *Endpoint) (net.Conn, error) {
	var auth *proxy.Auth
	if u := h.Proxy.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", h.Proxy.Host, auth, proxyDialer{h})
	if err != nil {
		return nil, err
	}
	return d.(proxy.ContextDialer).DialContext(ctx, "tcp", net.JoinHostPort(h.Host, strconv.Itoa(h.Port)))
}

// dialHTTP connects through an HTTP proxy with the method CONNECT.
func dialHTTP(ctx context.Context, h *Endpoint) (net.Conn, error) {
	conn, err := proxyDialer{h}.DialContext(ctx, "tcp", h.Proxy.Host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	req := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: h.Address()},
		Host:   h.Address(),
		Header: make(http.Header),
	}
	if u := h.Proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set(
			"Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)),
		)
	}
	if err := req.Write(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	// A proxy that sends an endless header must not fill the memory.
	limit := &io.LimitedReader{R: conn, N: maxProxyAnswer}
	r := bufio.NewReader(limit)
	resp, err := http.ReadResponse(r, req) //nolint:bodyclose // the body of an accepted CONNECT is the tunnel
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = conn.Close()
		return nil, fmt.Errorf("the proxy answered %s", resp.Status)
	}
	limit.N = math.MaxInt64
	return &bufferedConn{Conn: conn, r: r}, nil
}

// maxProxyAnswer is the longest answer of a proxy, in bytes.
const maxProxyAnswer = 64 << 10

// A bufferedConn returns data read beyond the proxy's answer first, because a
// server may speak first.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// proxyDialer connects to the proxy of a server, at the approved addresses only.
type proxyDialer struct{ h *Endpoint }

// Dial implements proxy.Dialer.
func (d proxyDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext implements proxy.ContextDialer.
func (d proxyDialer) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	var dialer net.Dialer
	if d.h.LookUpErr != nil {
		return nil, d.h.LookUpErr
	}
	if len(d.h.ProxyAddrs) == 0 { // no policy has judged the addresses
		if conn, err = dialer.DialContext(ctx, network, address); err != nil {
			return nil, err
		}
		return hold(ctx, conn)
	}
	for _, a := range d.h.ProxyAddrs {
		conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), d.h.Proxy.Port()))
		if err == nil {
			return hold(ctx, conn)
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, err
}
