package reach_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

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
		sshtest.Relay(struct {
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
		"socks5": sshtest.SOCKS5("me", secret), "http": httpConnect("me", secret),
	} {
		t.Run(scheme, func(t *testing.T) {
			proxy, forwarded := sshtest.ServeProxy(t, srv.Addr(), serve)
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
				sshtest.RegisterError(t, err)
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
		sshtest.RegisterError(t, err)
		if term.KindOf(err) != term.InvalidArgument || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
