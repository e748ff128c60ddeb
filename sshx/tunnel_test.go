package sshx_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// device is a server without SSH: it sends a line, and returns its input.
func device(c net.Conn) {
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "login: ")
	_, _ = io.Copy(c, c)
}

// says reads the device's first data.
func says(tb testing.TB, c net.Conn, want string) {
	tb.Helper()
	p := make([]byte, len(want))
	if _, err := io.ReadFull(c, p); err != nil || string(p) != want {
		tb.Fatalf("read %q, %v; want %q", p, err, want)
	}
}

// noTunnel requires an error of that kind.
func noTunnel(tb testing.TB, n *sshx.Network, t term.Target, p term.Prompter, kind term.Kind) *term.Error {
	tb.Helper()
	sshtest.Confide(tb, t.Auth)
	c, err := n.DialTCP(tb.Context(), "tcp", t, sshtest.Confiding(tb, p), nil)
	if err == nil {
		_ = c.Close()
		tb.Fatalf("connected; want %s", kind)
	}
	var e *term.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Op != "open" {
		tb.Fatalf("error %v (%s); want %s", err, term.KindOf(err), kind)
	}
	sshtest.RegisterError(tb, e)
	return e
}

// TestTunnel checks a route over two jump hosts: ssh_config has the password of
// one, and a person that of the other. The hosts must share their connections
// with SSH sessions, and no connection may stay open.
func TestTunnel(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		j1 := l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
		j2 := l.Server(sshtest.Addr2, sshserver.Config{Passwords: map[string]string{"two": "pw2-1138"}, AllowForward: true})
		l.Server(sshtest.Addr3, sshserver.Config{})
		l.Peer(sshtest.DeviceAddr, device)
		l.Config("Host jump2\n HostName 192.0.2.2\n User two\n ProxyJump 192.0.2.1\nHost 192.0.2.3\n ProxyJump jump2\n")
		n := sshx.NewNetwork(l.Opts)
		p := &sshtest.Prompter{Answer: func(context.Context, term.Prompt) (string, error) {
			time.Sleep(time.Hour) // does not count
			return "pw2-1138", nil
		}}
		c, err := n.DialTCP(t.Context(), "tcp", sshtest.Behind("jump2"), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		says(t, c, "login: ")
		if _, err := io.WriteString(c, "admin\r\n"); err != nil {
			t.Fatal(err)
		}
		says(t, c, "admin\r\n")
		if len(p.Asked) != 1 || p.Asked[0].Hop != 1 || p.Asked[0].User != "two" || p.Asked[0].Kind != term.PromptPassword {
			t.Errorf("questions %+v", p.Asked)
		}
		if s := j2.Stats(); s.PasswordsSeen != 1 {
			t.Errorf("the second jump host saw %d passwords", s.PasswordsSeen)
		}
		hops := c.Describe().Ladder
		if len(hops) != 3 || hops[1].User != "two" || hops[2].Host != "192.0.2.9" || hops[2].Port != 23 ||
			hops[2].Address != "via two@192.0.2.2:22" {
			t.Errorf("hops and steps: %+v", hops)
		}
		sshtest.WantSteps(t, hops, "tcp")
		sh, err := n.OpenShell(t.Context(), sshtest.To("192.0.2.3", ""), sshtest.NoPrompter(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, forwards, open int) {
			t.Helper()
			synctest.Wait()
			for i, j := range []*sshserver.Server{j1, j2} {
				if s := j.Stats(); s.Accepted != 1 || s.Open != open || i == 1 && s.Forwards != forwards {
					t.Errorf("%s: jump host %d: %+v", when, i+1, s)
				}
			}
		}
		check("both open", 2, 1)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		check("the tunnel closed", 1, 1)
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("still reads")
		}
		_ = c.Close()
		_ = sh.Close()
		check("both closed", 0, 0)
	})
}

// TestTunnelsThatDoNotCome checks the errors of failed tunnels, and that the jump
// hosts are released.
func TestTunnelsThatDoNotCome(t *testing.T) {
	for _, tc := range []struct {
		name  string
		jump  sshserver.Config
		known bool
		kind  term.Kind
		says  string
		hop   string
		steps string
	}{
		{"refused", sshserver.Config{AllowForward: true}, true, term.ConnectFailed, "connection refused", "192.0.2.9:23", "tcp!"},
		{"no forwarding", sshserver.Config{}, true, term.ConnectFailed, "may forward", "192.0.2.9:23", "tcp!"},
		{"unknown host key", sshserver.Config{AllowForward: true}, false, term.HostKeyUnknown, "SHA256:", "u@192.0.2.1:22", "tcp banner kex hostkey!"},
		{"no credentials", sshserver.Config{Passwords: map[string]string{"u": "of the device-1138"}}, true, term.AuthFailed, "", "u@192.0.2.1:22", "tcp banner kex hostkey auth!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
				j := l.Unrecorded(sshtest.Addr1, tc.jump)
				if tc.known {
					l.Trust(sshtest.Addr1, j.HostKey())
				}
				e := noTunnel(t, sshx.NewNetwork(l.Opts), sshtest.Behind("u@192.0.2.1"), nil, tc.kind)
				got := strings.TrimPrefix(strings.Join(sshtest.Steps(term.FactOf[term.ConnectFailure](e).Ladder), " "), "dns ")
				if !strings.Contains(e.Message(), tc.says) || term.FactOf[term.ConnectFailure](e).Hop != tc.hop || got != tc.steps {
					t.Errorf("%q, hop %q, steps %q", e.Message(), term.FactOf[term.ConnectFailure](e).Hop, got)
				}
				synctest.Wait()
				if s := j.Stats(); s.Open != 0 || s.PasswordsSeen != 0 {
					t.Errorf("jump host after the error: %+v, want no open connection and no password", s)
				}
			})
		})
	}
}

// TestTunnelAsksForHostKey checks that an unknown key of a jump host is a
// question under policy ask.
func TestTunnelAsksForHostKey(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Unrecorded(sshtest.Addr1, sshserver.Config{AllowForward: true})
		l.Peer(sshtest.DeviceAddr, device)
		l.Opts.HostKeyPolicy = "ask"
		p := sshtest.Answering("yes")
		c, err := sshx.NewNetwork(l.Opts).DialTCP(t.Context(), "tcp", sshtest.Behind("u@192.0.2.1"), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Asked) != 1 || p.Asked[0].Kind != term.PromptHostKey {
			t.Errorf("questions %+v", p.Asked)
		}
		_ = c.Close()
	})
}

// TestTunnelDeadlines checks that deadlines wake Read and Write, and that the
// connection works after them.
func TestTunnelDeadlines(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
		deaf, far := make(chan struct{}), make(chan net.Conn, 1)
		l.Peer(sshtest.DeviceAddr, func(c net.Conn) {
			far <- c
			<-deaf
			device(c)
		})
		l.Limit = 4 << 10
		c, err := sshx.NewNetwork(l.Opts).DialTCP(t.Context(), "tcp", sshtest.Behind("u@192.0.2.1"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_ = c.SetReadDeadline(start.Add(3 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("Read: %v after %v", err, time.Since(start))
		}
		_ = c.SetDeadline(time.Time{})
		close(deaf)
		says(t, c, "login: ")
		_ = c.Close()
		_ = (<-far).Close()
	})
}

// TestTunnelEnds checks the three ends of a tunnel: the device's, a lost jump
// host's, and a frozen one's.
func TestTunnelEnds(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		j := l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
		heard := make(chan string, 1)
		l.Peer(sshtest.DeviceAddr, func(c net.Conn) {
			_, _ = io.WriteString(c, "bye")
			p, _ := io.ReadAll(io.LimitReader(c, 1<<20))
			_ = c.Close()
			heard <- string(p)
		})
		l.Peer("192.0.2.9:24", func(c net.Conn) {
			_, _ = io.WriteString(c, "bye")
			_ = c.Close()
		})
		dial := sshx.NewNetwork(l.Opts).
			Through(term.Target{SSH: term.SSHOptions{ExtraArgs: []string{"-J", "u@192.0.2.1"}}}, nil)
		open := func(address string) net.Conn {
			t.Helper()
			c, err := dial(t.Context(), "tcp", address, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := open("192.0.2.9:24")
		if all, err := io.ReadAll(c); string(all) != "bye" || err != nil {
			t.Errorf("read %q, %v", all, err)
		}
		_ = c.Close()

		c = open(sshtest.DeviceAddr)
		says(t, c, "bye")
		last := strings.Repeat("logout\r\n", 10_000)
		if _, err := io.WriteString(c, last); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if got := <-heard; got != last {
			t.Errorf("%d bytes arrived of %d", len(got), len(last))
		}

		c = open(sshtest.DeviceAddr)
		says(t, c, "bye")
		j.DropConnections()
		if _, err := c.Read(make([]byte, 1)); term.KindOf(err) != term.RemoteClosed ||
			!strings.Contains(err.Error(), "192.0.2.1") {
			t.Errorf("Read: %v", err)
		}
		_ = c.Close()
		<-heard

		c = open(sshtest.DeviceAddr)
		says(t, c, "bye")
		j.FreezeConnections()
		start := time.Now()
		_ = c.Close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("closing took %v", took)
		}
		j.DropConnections()
		<-heard
	})
}

// TestTunnelStraight checks that ssh_config does not apply to a target without
// SSH.
func TestTunnelStraight(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Peer(sshtest.DeviceAddr, device)
		l.Config("Host 192.0.2.9\n HostName 192.0.2.1\n Port 2222\n ProxyJump nowhere\n")
		n := sshx.NewNetwork(l.Opts)
		c, err := n.DialTCP(t.Context(), "tcp4", sshtest.Behind(""), sshtest.NoPrompter(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		says(t, c, "login: ")
		sshtest.WantSteps(t, c.Describe().Ladder, "dns", "tcp")
		_ = c.Close()
		for _, tc := range []struct {
			change func(*term.Target)
			kind   term.Kind
			field  term.Field
		}{
			{func(t *term.Target) { t.Host = "" }, term.InvalidArgument, term.FieldHost},
			{func(t *term.Target) { t.Port = 0 }, term.InvalidArgument, term.FieldPort},
			{func(t *term.Target) { t.SSH.HostKeyPolicy = "strict" }, term.InvalidArgument, term.FieldHostKeyPolicy},
			{func(t *term.Target) { t.SSH.HostKeyFingerprint = "SHA256:x" }, term.InvalidArgument, term.FieldFingerprint},
			{func(t *term.Target) { t.SSH.KnownHostsPath = "/x" }, term.InvalidArgument, term.FieldKnownHosts},
			{func(t *term.Target) { t.SSH.Legacy = true }, term.InvalidArgument, term.FieldLegacy},
			{func(t *term.Target) { t.SSH.ExtraArgs = []string{"-i", "key"} }, term.Unsupported, term.FieldExtraArgs},
			{func(t *term.Target) { t.SSH.ExtraArgs = []string{"-o", "ProxyCommand=nc %h %p"} }, term.Unsupported, term.FieldExtraArgs},
			{func(t *term.Target) { t.SSH.ProxyJump, t.SSH.ExtraArgs = "a", []string{"-J", "b"} }, term.InvalidArgument, term.FieldExtraArgs},
			{func(t *term.Target) { t.SSH.ProxyURL = "ftp://x" }, term.InvalidArgument, term.FieldProxyURL},
		} {
			target := sshtest.Behind("")
			tc.change(&target)
			_, err := n.DialTCP(t.Context(), "tcp", target, nil, nil)
			var e *term.Error
			if !errors.As(err, &e) || e.Kind != tc.kind || term.FactOf[term.ArgumentFault](e).Field != tc.field {
				t.Errorf("%+v: %v", target.SSH, err)
			}
		}
		if l.Dialled(sshtest.DeviceAddr) != 1 || len(l.Dials) != 1 {
			t.Errorf("dialled %v", l.Dials)
		}
	})
}

// TestTunnelThroughProxy checks that the proxy of the call is used for a target
// without SSH, and for a jump host before it.
func TestTunnelThroughProxy(t *testing.T) {
	listen := func() net.Listener {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		return ln
	}
	ln := listen()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go device(c)
		}
	}()
	jump, err := sshserver.Listen(sshserver.Config{NoAuth: true, AllowForward: true, Handler: sshtest.Shell})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = jump.Close() })
	n := sshx.NewNetwork(sshx.Options{HomeDir: t.TempDir(), NoConfig: true, HostKeyPolicy: "accept_new"})
	dial := func(t *testing.T, target term.Target) {
		t.Helper()
		c, err := n.DialTCP(t.Context(), "tcp", target, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		says(t, c, "login: ")
		_ = c.Close()
	}
	t.Run("target", func(t *testing.T) {
		proxy, forwarded := sshtest.ServeProxy(t, ln.Addr().String(), sshtest.SOCKS5("me", "pw-proxy-1138"))
		dial(
			t,
			term.Target{Host: "behind.invalid", Port: 23, SSH: term.SSHOptions{ProxyURL: "socks5://me:pw-proxy-1138@" + proxy}},
		)
		if forwarded.Load() != 1 {
			t.Errorf("%d forwarded", forwarded.Load())
		}
		e := noTunnel(
			t,
			n,
			term.Target{
				Host: "elsewhere.invalid",
				Port: 23,
				SSH:  term.SSHOptions{ProxyURL: "socks5://me:pw-proxy-1138@" + proxy},
			},
			nil,
			term.ConnectFailed,
		)
		if !strings.Contains(e.Msg, "proxy") || term.FactOf[term.ConnectFailure](e).Hop != "elsewhere.invalid:23" {
			t.Errorf("%q, hop %q", e.Msg, term.FactOf[term.ConnectFailure](e).Hop)
		}
	})
	t.Run("jump host", func(t *testing.T) {
		proxy, forwarded := sshtest.ServeProxy(t, jump.Addr(), sshtest.SOCKS5("me", "pw-proxy-1138"))
		dial(
			t,
			term.Target{
				Host: "127.0.0.1",
				Port: ln.Addr().(*net.TCPAddr).Port,
				SSH:  term.SSHOptions{ProxyJump: "u@behind.invalid", ProxyURL: "socks5://me:pw-proxy-1138@" + proxy},
			},
		)
		if forwarded.Load() != 1 {
			t.Errorf("%d forwarded", forwarded.Load())
		}
	})
}

// TestTunnelToADeafDevice checks that a device that reads nothing leaves nothing
// open on a shared jump host.
func TestTunnelToADeafDevice(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Limit = 64 << 10 // the device accepts as much as a socket's buffer
		j := l.Server(sshtest.Addr1, sshserver.Config{AllowForward: true})
		stop := make(chan struct{})
		l.Peer(sshtest.DeviceAddr, func(c net.Conn) {
			<-stop
			_ = c.Close()
		})
		n := sshx.NewNetwork(l.Opts)
		open := func() *sshx.Tunnel {
			c, err := n.DialTCP(t.Context(), "tcp", sshtest.Behind("192.0.2.1"), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		other, c := open(), open()
		written := make(chan error, 1)
		go func() {
			_, err := c.Write(make([]byte, 16<<20))
			written <- err
		}()
		synctest.Wait()
		if f := j.Stats().Forwards; f != 2 {
			t.Errorf("%d forwards", f)
		}
		_ = c.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if f := j.Stats().Forwards; f != 1 {
			t.Errorf("%d forwards after a minute", f)
		}
		if err := <-written; err == nil {
			t.Error("the device took it all")
		}
		_ = other.Close()
		close(stop)
	})
}
