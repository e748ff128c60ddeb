package sshx_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// serveProxy accepts connections for one protocol and counts the forwarded ones.
// It connects to upstream for any requested name, because only the proxy can
// resolve it.
func serveProxy(
	t *testing.T,
	upstream string,
	serve func(c net.Conn, connect func(name string) (net.Conn, error)) error,
) (address string, forwarded *atomic.Int32) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	forwarded = new(atomic.Int32)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_ = serve(c, func(name string) (net.Conn, error) {
					if !strings.HasPrefix(name, "behind.invalid:") {
						return nil, fmt.Errorf("asked for %s", name)
					}
					forwarded.Add(1)
					return net.Dial("tcp", upstream)
				})
			}()
		}
	}()
	return ln.Addr().String(), forwarded
}

func relay(a io.ReadWriter, b net.Conn) {
	go func() {
		_, _ = io.Copy(b, a)
		_ = b.Close()
	}()
	_, _ = io.Copy(a, b)
}

// socks5 is a SOCKS5 server (RFC 1928) that requires user and password (RFC
// 1929).
func socks5(user, password string) func(net.Conn, func(string) (net.Conn, error)) error {
	return func(c net.Conn, connect func(string) (net.Conn, error)) error {
		r := bufio.NewReader(c)
		head := make([]byte, 2)
		if _, err := io.ReadFull(r, head); err != nil {
			return err
		}
		_, _ = io.CopyN(io.Discard, r, int64(head[1]))
		_, _ = c.Write([]byte{5, 2})
		field := func() string {
			n, _ := r.ReadByte()
			p := make([]byte, n)
			_, _ = io.ReadFull(r, p)
			return string(p)
		}
		_, _ = r.ReadByte()
		if field() != user || field() != password {
			_, err := c.Write([]byte{1, 1})
			return err
		}
		_, _ = c.Write([]byte{1, 0})
		if _, err := io.CopyN(io.Discard, r, 4); err != nil {
			return err
		}
		name := field()
		port := make([]byte, 2)
		_, _ = io.ReadFull(r, port)
		up, err := connect(fmt.Sprintf("%s:%d", name, binary.BigEndian.Uint16(port)))
		if err != nil {
			_, _ = c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
			return err
		}
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		relay(struct {
			io.Reader
			io.Writer
		}{r, c}, up)
		return nil
	}
}

// httpConnect is an HTTP proxy that requires Basic authentication.
func httpConnect(user, password string) func(net.Conn, func(string) (net.Conn, error)) error {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	return func(c net.Conn, connect func(string) (net.Conn, error)) error {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return err
		}
		if req.Method != http.MethodConnect || req.Header.Get("Proxy-Authorization") != want {
			_, err := io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
			return err
		}
		up, err := connect(req.Host)
		if err != nil {
			_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
			return err
		}
		// The server speaks first: its first line comes with the proxy's answer.
		first, err := bufio.NewReader(io.LimitReader(up, 7)).Peek(7)
		if err != nil {
			return err
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"+string(first))
		relay(struct {
			io.Reader
			io.Writer
		}{r, c}, up)
		return nil
	}
}

// TestProxies checks that the first host is reached through the proxy of the
// call. The proxy resolves the name and gets a password that must appear nowhere
// else.
func TestProxies(t *testing.T) {
	srv, err := sshserver.Listen(sshserver.Config{NoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	const secret = "pr0xy-s3cret-1138"
	leaktest.Secret(t, secret)
	leaktest.Secret(t, "wrong-1138")
	for scheme, serve := range map[string]func(net.Conn, func(string) (net.Conn, error)) error{
		"socks5": socks5("me", secret), "http": httpConnect("me", secret),
	} {
		t.Run(scheme, func(t *testing.T) {
			proxy, forwarded := serveProxy(t, srv.Addr(), serve)
			dial := func(url, host string) (*sshx.Client, error) {
				target := term.Target{
					Host: host,
					Port: 2222,
					User: "u",
					SSH:  term.SSHOptions{NoConfig: true, HostKeyPolicy: "accept_new", ProxyURL: url},
				}
				return sshx.Dial(t.Context(), target, sshx.Options{HomeDir: t.TempDir()}, nil)
			}
			c, err := dial(scheme+"://me:"+secret+"@"+proxy, "behind.invalid")
			if err != nil {
				t.Fatal(err)
			}
			d := c.Describe()
			_ = c.Close()
			leaktest.Output(t, "state", fmt.Sprintf("%+v", d))
			if forwarded.Load() != 1 || !strings.Contains(d.Ladder[0].Address, proxy) ||
				strings.Contains(fmt.Sprintf("%+v", d), secret) {
				t.Errorf("%d forwarded; %+v", forwarded.Load(), d)
			}
			for name, bad := range map[string][2]string{
				"wrong password": {scheme + "://me:wrong-1138@" + proxy, "behind.invalid"},
				"unreachable":    {scheme + "://me:" + secret + "@" + proxy, "elsewhere.invalid"},
				"no proxy":       {scheme + "://me:" + secret + "@127.0.0.1:1", "behind.invalid"},
			} {
				_, err := dial(bad[0], bad[1])
				toldError(t, err)
				if term.KindOf(err) != term.ConnectFailed || !strings.Contains(err.Error(), "proxy") ||
					strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	for _, url := range []string{"ftp://" + secret + "@h:1", "socks5://", "::" + secret} {
		_, err := sshx.Dial(
			t.Context(),
			term.Target{Host: "h", SSH: term.SSHOptions{NoConfig: true, ProxyURL: url}},
			sshx.Options{},
			nil,
		)
		toldError(t, err)
		if term.KindOf(err) != term.InvalidArgument || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
