package sshx_test

import (
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
)

// Close of a stream wakes its reader, and delays no end of the connection.
func TestStreamClose(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pw-1138-stream"}, AllowForward: true})
		l.Peer(sshtest.DeviceAddr, device)
		c := l.Client(sshtest.To("192.0.2.1", "pw-1138-stream"), nil)
		host, port, err := net.SplitHostPort(sshtest.DeviceAddr)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Forward(t.Context(), host, n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(s, make([]byte, len("login: "))); err != nil {
			t.Fatal(err)
		}
		read := make(chan error)
		go func() {
			_, err := s.Read(make([]byte, 1))
			read <- err
		}()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-read; err != io.EOF {
			t.Errorf("Read of a closed stream = %v, want EOF", err)
		}
		<-s.Closed()
		began := time.Now()
		if err := c.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("Close of the connection = %v after %v, want no wait", err, time.Since(began))
		}
	})
}
