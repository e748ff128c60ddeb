package telnet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// listen starts a server on loopback that calls serve for each connection, and returns host
// and port.
func listen(tb testing.TB, config *tls.Config, serve func(net.Conn)) (string, int) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if config != nil {
				c = tls.Server(c, config)
			}
			served.Go(func() { defer c.Close(); serve(c) })
		}
	})
	tb.Cleanup(func() { l.Close(); served.Wait() })
	addr := l.Addr().(*net.TCPAddr)
	return addr.IP.String(), addr.Port
}

// login negotiates echo and window size and shows a prompt, until the client leaves.
func login(c net.Conn) {
	io.WriteString(c, "\xff\xfd\x1f\xff\xfb\x01\xff\xfb\x03login: ")
	io.Copy(io.Discard, c)
}

func says(what string) func(net.Conn) {
	return func(c net.Conn) { io.WriteString(c, what); io.Copy(io.Discard, c) }
}

// openTerminal opens a Terminal and closes it at the end of the test.
func openTerminal(tb testing.TB, d Dialer, t term.Target) *Terminal {
	tb.Helper()
	tr, err := d.Open(tb.Context(), t, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tr.Close() })
	return tr.(*Terminal)
}

func TestTerminal(t *testing.T) {
	host, port := listen(t, nil, login)
	tr := openTerminal(
		t,
		Dialer{},
		term.Target{Host: host, Port: port, User: "bob", PTY: term.PTY{Term: "vt100", Cols: 90, Rows: 20}},
	)
	d := tr.Describe()
	if d.Capabilities.Resize != term.Yes || d.Capabilities.ExitCode != term.BestEffort ||
		d.Capabilities.SplitStdoutStderr != term.No {
		t.Errorf("capabilities %+v", d.Capabilities)
	}
	if d.Security == "" || d.TLS != nil || !d.PTY || len(d.Warnings) != 1 {
		t.Errorf("Describe = %+v, want a security note, no TLS, a PTY and one warning", d)
	}
	if s := d.Telnet; s.Raw || !s.RemoteEcho || s.Cols != 90 || s.Rows != 20 || strings.Join(s.Local, " ") != "naws" ||
		strings.Join(s.Remote, " ") != "echo suppress_go_ahead" ||
		s.Enter != "crnul" {
		t.Errorf("Telnet = %+v, want 90 by 20, naws on our side, echo and suppress_go_ahead on theirs, Enter crnul", s)
	}
	var steps []string
	for _, s := range d.Ladder[0].Steps {
		if !s.OK {
			t.Errorf("step %+v failed, want OK", s)
		}
		steps = append(steps, s.Name)
	}
	if got := strings.Join(steps, " "); got != "dns tcp telnet" || d.Ladder[0].Address == "" {
		t.Errorf("ladder %q, address %q", got, d.Ladder[0].Address)
	}
	p := make([]byte, 4096)
	if n, err := tr.Read(p); string(p[:n]) != "login: " || err != nil {
		t.Errorf("%q, %v", p[:n], err)
	}
	if err := tr.Resize(100, 30); err != nil {
		t.Error(err)
	}
	if n, err := tr.Write([]byte("bob\r")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, ok := any(tr).(term.Execer); ok {
		t.Error("a Telnet terminal runs no commands beside itself")
	}
}

// A Config must reach the connection unchanged: "no rows" must not become the default number.
func TestTerminalEndless(t *testing.T) {
	told := make(chan []byte, 1)
	host, port := listen(t, nil, func(c net.Conn) {
		io.WriteString(c, "\xff\xfd\x1f> ")
		answer := make([]byte, len("\xff\xfb\x1f\xff\xfa\x1f\x00\x00\x00\x00\xff\xf0"))
		io.ReadFull(c, answer)
		told <- answer
		io.Copy(io.Discard, c)
	})
	tr := openTerminal(t, Dialer{}, term.Target{Host: host, Port: port, PTY: term.PTY{Cols: -1, Rows: -1}})
	if got := <-told; string(got) != "\xff\xfb\x1f\xff\xfa\x1f\x00\x00\x00\x00\xff\xf0" {
		t.Errorf("window size sent: % x, want 0 by 0", got)
	}
	if s := tr.Describe().Telnet; s.Cols != 0 || s.Rows != 0 {
		t.Errorf("State = %+v, want 0 columns and 0 rows", s)
	}
}

func TestOpenRefuses(t *testing.T) {
	dialed := false
	d := Dialer{Dial: func(context.Context, string, string, term.Approve) (net.Conn, error) {
		dialed = true
		return nil, io.ErrUnexpectedEOF
	}}
	for field, target := range map[term.Field]term.Target{
		term.FieldAuth:         {Host: "h", Auth: term.Auth{Password: "geheim-1138"}},
		term.FieldHost:         {},
		term.FieldPort:         {Host: "h", Port: 70000},
		term.FieldTelnetMode:   {Host: "h", Telnet: term.TelnetOptions{Mode: "ssh"}},
		term.FieldTelnetEnter:  {Host: "h", Telnet: term.TelnetOptions{Enter: "x"}},
		term.FieldTelnetBinary: {Host: "h", Telnet: term.TelnetOptions{Binary: "x"}},
		term.FieldTLS:          {Host: "h", Telnet: term.TelnetOptions{TLS: term.TLSOptions{Pin: "SHA256:x"}}},
		term.FieldPin:          {Host: "h", Telnet: term.TelnetOptions{TLS: term.TLSOptions{Enabled: true, Pin: "SHA256:x"}}},
		term.FieldTerm:         {Host: "h", PTY: term.PTY{Term: "a b"}},
		term.FieldPTY:          {Host: "h", PTY: term.PTY{Cols: 70000}},
	} {
		leaktest.Auth(t, target.Auth.Password.Reveal(), "", "")
		_, err := d.Open(t.Context(), target, nil, nil)
		leaktest.Output(t, "error", fmt.Sprint(err))
		e, ok := errors.AsType[*term.Error](err)
		if !ok || e.Kind != term.InvalidArgument || term.FactOf[term.ArgumentFault](e).Field != field ||
			strings.Contains(err.Error(), "geheim-1138") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if dialed {
		t.Error("a connection was tried for a call that is wrong")
	}
}

// stepsOf returns the steps of a failure; a failed step ends with "!", for example "tcp!".
func stepsOf(tb testing.TB, err error) string {
	tb.Helper()
	e, ok := errors.AsType[*term.Error](err)
	if !ok || len(term.FactOf[term.ConnectFailure](e).Ladder) == 0 {
		tb.Fatalf("no ladder in %v", err)
	}
	var b strings.Builder
	for _, h := range term.FactOf[term.ConnectFailure](e).Ladder {
		b.WriteString(h.Host)
		for _, s := range h.Steps {
			b.WriteString(" " + s.Name)
			if !s.OK {
				b.WriteByte('!')
			}
		}
		b.WriteByte(';')
	}
	return b.String()
}

func TestConnectionFailures(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := closed.Addr().(*net.TCPAddr).Port
	closed.Close()
	_, ssh := listen(t, nil, says("SSH-2.0-OpenSSH_9.2\r\n"))
	_, gone := listen(t, nil, func(net.Conn) {})
	_, plain := listen(t, nil, says("\xff\xfb\x01login: "))
	const host = "127.0.0.1"
	hop := errors.New("the bastion's fault")
	tests := []struct {
		name   string
		d      Dialer
		target term.Target
		kind   term.Kind
		route  string
		says   string
	}{
		{"refused", Dialer{}, term.Target{Host: host, Port: refused}, term.ConnectFailed, "127.0.0.1 dns tcp!;", "refused"},
		{"no such name", Dialer{}, term.Target{Host: "no-such-host.invalid"}, term.ConnectFailed, "no-such-host.invalid dns!;", "resolve"},
		{"an SSH server", Dialer{}, term.Target{Host: host, Port: ssh}, term.ConnectFailed, "127.0.0.1 dns tcp telnet!;", "use protocol ssh"},
		{"closed at once", Dialer{}, term.Target{Host: host, Port: gone}, term.ConnectFailed, "127.0.0.1 dns tcp telnet!;", "at once"},
		{"no TLS there", Dialer{TLS: &TLS{}}, term.Target{Host: host, Port: plain}, term.ConnectFailed, "127.0.0.1 dns tcp tls!;", "does not speak TLS"},
		{
			"a hook's own error",
			Dialer{Dial: func(context.Context, string, string, term.Approve) (net.Conn, error) { return nil, hop }},
			term.Target{Host: "h"},
			term.ConnectFailed, "h tcp!;", "bastion",
		},
		{
			"a hook's ladder", Dialer{Dial: func(context.Context, string, string, term.Approve) (net.Conn, error) {
				return nil, &term.Error{
					Kind:  term.AuthFailed,
					Msg:   "no",
					Facts: term.Facts{term.ConnectFailure{Hop: "bastion:22", Ladder: []term.Hop{{Host: "bastion", Steps: []term.Step{{Name: "auth"}}}}}},
				}
			}}, term.Target{Host: "h"}, term.AuthFailed, "bastion auth!;h tcp!;", "no",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.d.Open(t.Context(), tt.target, nil, nil)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%v: %v", term.KindOf(err), err)
			}
			if got := stepsOf(t, err); got != tt.route {
				t.Errorf("ladder %q, want %q", got, tt.route)
			}
		})
	}
	t.Run("raw takes the SSH server", func(t *testing.T) {
		tr := openTerminal(t, Dialer{}, term.Target{Host: host, Port: ssh, Telnet: term.TelnetOptions{Mode: "raw"}})
		p := make([]byte, 100)
		if n, err := tr.Read(p); !strings.HasPrefix(string(p[:n]), "SSH-2.0") || err != nil {
			t.Errorf("%q, %v", p[:n], err)
		}
	})
	t.Run("the text before the end is shown", func(t *testing.T) {
		_, busy := listen(t, nil, func(c net.Conn) {
			io.WriteString(c, "\xff\xfb\x01all lines are busy\r\n")
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c) // a close before the client's options are read would be a reset
		})
		tr := openTerminal(t, Dialer{}, term.Target{Host: host, Port: busy})
		if got, err := io.ReadAll(tr); string(got) != "all lines are busy\r\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if exit, err := tr.Wait(); exit.Known || err != nil {
			t.Errorf("%+v, %v", exit, err)
		}
	})
}

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _, _ string, _ term.Approve) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel) // Dial has its own limit: a bastion may ask questions
		target := term.Target{Host: "h", ConnectTimeout: 3 * time.Second}
		if _, err := (Dialer{Dial: hang}).Open(ctx, target, nil, nil); !errors.Is(err, term.Canceled) {
			t.Errorf("Open with a hanging Dial: error %v, want %v", err, term.Canceled)
		}
		// The limit includes a TLS handshake that hangs, but not the wait for negotiation.
		mute := func(context.Context, string, string, term.Approve) (net.Conn, error) {
			c, _ := bufpipe.New(0)
			return c, nil
		}
		begun := time.Now()
		_, err := Dialer{
			Dial: mute,
			TLS:  &TLS{},
		}.Open(
			t.Context(),
			term.Target{Host: "h", ConnectTimeout: 3 * time.Second},
			nil,
			nil,
		)
		if !errors.Is(err, term.ConnectTimeout) || time.Since(begun) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		tr, err := Dialer{Dial: mute, ConnectTimeout: time.Millisecond}.Open(t.Context(), term.Target{Host: "h"}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		tr.Close()
	})
}

// Wait must return the error that ended the stream.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			says string
			kind term.Kind
		}{
			{"x" + strings.Repeat("\xff\xfd\x63", maxLoop+1), term.NegotiationLoop},
			{"\x15\x03\x01\x00\x02\x02\x46", term.ConnectFailed}, // a TLS server's answer to a line of text
			{"bye", ""},
		} {
			client, server := bufpipe.New(0)
			tr, err := Dialer{
				Dial: func(context.Context, string, string, term.Approve) (net.Conn, error) { return client, nil },
			}.Open(
				t.Context(),
				term.Target{Host: "h"},
				nil,
				nil,
			)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(server, tt.says)
			server.Close()
			io.ReadAll(tr)
			if _, err := tr.(term.Waiter).Wait(); term.KindOf(err) != tt.kind {
				t.Errorf("%.20q: %v", tt.says, err)
			}
			tr.Close()
		}
	})
}

func TestSendUser(t *testing.T) {
	for _, send := range []bool{false, true} {
		d, warnings, err := Dialer{SendUser: send}.forTarget(term.Target{Host: "h", User: "bob"})
		if err != nil {
			t.Fatal(err)
		}
		if told := len(d.Config.Env) == 1 && d.Config.Env[0] == (term.EnvVar{Name: "USER", Value: "bob"}); told != send ||
			(len(warnings) == 0) != send {
			t.Errorf("send %v: env %v, warnings %q", send, d.Config.Env, warnings)
		}
	}
}

// certificate returns a new certificate for 127.0.0.1.
func certificate(tb testing.TB) tls.Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{"console1"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTLS(t *testing.T) {
	cert := certificate(t)
	parsed, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	sum := sha256.Sum256(cert.Certificate[0])
	offered := fingerprint([]*x509.Certificate{parsed})
	colons := strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
	host, port := listen(t, &tls.Config{Certificates: []tls.Certificate{cert}}, login)
	on := func(o term.TLSOptions) term.Target {
		o.Enabled = true
		return term.Target{Host: host, Port: port, Telnet: term.TelnetOptions{TLS: o}}
	}
	for _, tt := range []struct {
		name     string
		tls      *TLS
		target   term.Target
		kind     term.Kind
		verified string
	}{
		{"unknown authority", nil, on(term.TLSOptions{}), term.HostKeyUnknown, ""},
		{"authority", &TLS{RootCAs: roots}, on(term.TLSOptions{}), "", "chain"},
		{"name", &TLS{RootCAs: roots}, on(term.TLSOptions{ServerName: "console1"}), "", "chain"},
		{"wrong name", &TLS{RootCAs: roots}, on(term.TLSOptions{ServerName: "console2"}), term.HostKeyUnknown, ""},
		{"pin", nil, on(term.TLSOptions{Pin: offered}), "", "pin"},
		{"pin in hex", nil, on(term.TLSOptions{Pin: colons}), "", "pin"},
		{"wrong pin", &TLS{RootCAs: roots}, on(term.TLSOptions{Pin: strings.Repeat("00", 32)}), term.HostKeyMismatch, ""},
		{"anybody", &TLS{InsecureSkipVerify: true}, on(term.TLSOptions{}), "", "no"},
		{"a pin holds for anybody, too", &TLS{InsecureSkipVerify: true}, on(term.TLSOptions{Pin: strings.Repeat("00", 32)}), term.HostKeyMismatch, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := Dialer{TLS: tt.tls}.Open(t.Context(), tt.target, nil, nil)
			if term.KindOf(err) != tt.kind {
				t.Fatalf("Open(%+v) error = %v, want kind %v", tt.target, err, tt.kind)
			}
			if err != nil {
				if e, _ := errors.AsType[*term.Error](err); term.FactOf[term.HostKeyFailure](e).Fingerprint != offered ||
					stepsOf(t, err) != "127.0.0.1 dns tcp tls!;" {
					t.Errorf("details %+v", e.Facts)
				}
				return
			}
			defer tr.Close()
			d := tr.(term.Describer).Describe()
			if d.TLS == nil || d.TLS.Verified != tt.verified || d.TLS.Certificate != offered ||
				(d.Security == "") != (tt.verified != "no") {
				t.Errorf("TLS = %+v, want verified %q and certificate %s; security note %q",
					d.TLS, tt.verified, offered, d.Security)
			}
			p := make([]byte, 4096)
			if n, err := tr.Read(p); string(p[:n]) != "login: " || err != nil {
				t.Errorf("%q, %v", p[:n], err)
			}
		})
	}
	t.Run("a server that takes nothing", func(t *testing.T) {
		done := make(chan struct{})
		defer close(done)
		host, port := listen(t, &tls.Config{Certificates: []tls.Certificate{cert}}, func(c net.Conn) {
			io.WriteString(c, "\xff\xf1login: ")
			<-done
		})
		target := term.Target{
			Host:   host,
			Port:   port,
			Telnet: term.TelnetOptions{TLS: term.TLSOptions{Enabled: true, Pin: offered}},
		}
		tr := openTerminal(t, Dialer{}, target)
		wrote := make(chan error)
		go func() {
			var err error
			for big := make([]byte, 1<<20); err == nil; {
				_, err = tr.Write(big)
			}
			wrote <- err
		}()
		tr.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		<-wrote
		begun := time.Now()
		tr.Close()
		if d := time.Since(begun); d > 20*time.Second { // it bounds a hang; it measures nothing
			t.Errorf("Close took %v, want at most 20s", d)
		}
	})
}

func TestPorts(t *testing.T) {
	for _, tt := range []struct {
		d    Dialer
		addr string
		want string
	}{
		{Dialer{}, "h", "h:23"},
		{Dialer{}, "h:telnet", "h:23"},
		{Dialer{}, "h:2001", "h:2001"},
		{Dialer{TLS: &TLS{}}, "h", "h:992"},
		{Dialer{}, "::1", "[::1]:23"},
	} {
		var got string
		tt.d.Dial = func(_ context.Context, _, address string, _ term.Approve) (net.Conn, error) {
			got = address
			return nil, io.EOF
		}
		if _, err := tt.d.DialContext(t.Context(), "tcp", tt.addr); err == nil || got != tt.want {
			t.Errorf("%s: %q, %v", tt.addr, got, err)
		}
	}
	if _, err := (Dialer{}).DialContext(t.Context(), "tcp", "h:no-such-service"); !errors.Is(err, term.InvalidArgument) {
		t.Errorf("DialContext with an unknown service: error %v, want %v", err, term.InvalidArgument)
	}
}

func TestLongWritesKeepLineEndsWhole(t *testing.T) {
	for _, tt := range []struct {
		data        string
		limit, want int
	}{
		{"ab\r\ncd", 3, 2},
		{"ab\r\ncd", 4, 4},
		{"ab\rcd", 3, 3},
		{"\r\n", 1, 1}, // a piece cannot be empty
	} {
		if got := new(Terminal).Divide([]byte(tt.data), tt.limit); got != tt.want {
			t.Errorf("Divide(%q, %d) = %d, want %d", tt.data, tt.limit, got, tt.want)
		}
	}
}
