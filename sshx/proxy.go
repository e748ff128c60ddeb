package sshx

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

// parseProxy parses the URL of a proxy. Its errors never quote the URL, which may
// contain a password.
func parseProxy(text string) (*url.URL, error) {
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
func dialProxy(ctx context.Context, h *endpoint, l progress) (net.Conn, error) {
	l.begin(stepTCP)
	var conn net.Conn
	var err error
	if h.proxy.Scheme == "socks5" {
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
			Msg:  fmt.Sprintf("cannot connect to %s through the proxy %s: %v", h.address(), h.proxy.Host, term.RootCause(err)),
		}
	}
	l.address("via proxy " + h.proxy.Host)
	return conn, nil
}

// dialSOCKS connects through a SOCKS5 proxy, with user and password if the URL
// has them (RFC 1929).
func dialSOCKS(ctx context.Context, h *endpoint) (net.Conn, error) {
	var auth *proxy.Auth
	if u := h.proxy.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", h.proxy.Host, auth, proxyDialer{h})
	if err != nil {
		return nil, err
	}
	return d.(proxy.ContextDialer).DialContext(ctx, "tcp", net.JoinHostPort(h.host, strconv.Itoa(h.port)))
}

// dialHTTP connects through an HTTP proxy with the method CONNECT.
func dialHTTP(ctx context.Context, h *endpoint) (net.Conn, error) {
	conn, err := proxyDialer{h}.DialContext(ctx, "tcp", h.proxy.Host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	req := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: h.address()},
		Host:   h.address(),
		Header: make(http.Header),
	}
	if u := h.proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
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
type proxyDialer struct{ h *endpoint }

// Dial implements proxy.Dialer.
func (d proxyDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext implements proxy.ContextDialer.
func (d proxyDialer) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	var dialer net.Dialer
	if d.h.lookUpErr != nil {
		return nil, d.h.lookUpErr
	}
	if len(d.h.proxyAddrs) == 0 { // no policy has judged the addresses
		return dialer.DialContext(ctx, network, address)
	}
	for _, a := range d.h.proxyAddrs {
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), d.h.proxy.Port())); err == nil ||
			ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}
