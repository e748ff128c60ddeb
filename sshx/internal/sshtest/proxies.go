package sshtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// ServeProxy accepts connections for one protocol and counts the forwarded ones.
// It connects to upstream for any requested name, because only the proxy can
// resolve it.
func ServeProxy(
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

// Relay copies in both directions until b ends.
func Relay(a io.ReadWriter, b net.Conn) {
	go func() {
		_, _ = io.Copy(b, a)
		_ = b.Close()
	}()
	_, _ = io.Copy(a, b)
}

// SOCKS5 is a SOCKS5 server (RFC 1928) that requires user and password (RFC
// 1929).
func SOCKS5(user, password string) func(net.Conn, func(string) (net.Conn, error)) error {
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
		Relay(struct {
			io.Reader
			io.Writer
		}{r, c}, up)
		return nil
	}
}
