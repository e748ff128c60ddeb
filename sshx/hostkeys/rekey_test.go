package hostkeys

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// TestRekey runs real key exchanges on one connection: the first asks and writes, the later
// ones must do neither.
func TestRekey(t *testing.T) {
	k := keys()
	asked := 0
	v := verifier(t, 22, Options{Policy: Ask, Ask: func(context.Context, Question) (string, error) {
		asked++
		return "yes", nil
	}})
	addr, _ := serve(t, k.ed)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	exchanges := make(chan error, 1000)
	callback := v.HostKeyCallback(t.Context())
	conn, chans, reqs, err := ssh.NewClientConn(c, addr, &ssh.ClientConfig{
		Config: ssh.Config{RekeyThreshold: 256},
		HostKeyCallback: func(host string, a net.Addr, key ssh.PublicKey) error {
			err := callback(host, a, key)
			exchanges <- err
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(conn, chans, reqs)
	defer client.Close()
	for len(exchanges) < 4 {
		if _, _, err := client.SendRequest("padding", true, make([]byte, 512)); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		if err := <-exchanges; err != nil {
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if s := read(t, v.o.UserFiles[0]); strings.Count(s, "server") != 1 {
		t.Errorf("recorded more than once:\n%s", s)
	}
}

func TestAnotherKeyAtRekey(t *testing.T) {
	k := keys()
	// Both keys are on record, but one connection must not change its key, even with Disabled.
	for _, p := range []Policy{Strict, AcceptNew, Disabled} {
		v := verifier(t, 22, Options{Policy: p}, "server "+text(k.ed), "server "+text(k.rsa))
		if err := verify(t, v, k.ed); err != nil {
			t.Fatal(err)
		}
		err := verify(t, v, k.rsa)
		m := (*MismatchError)(nil)
		if !errors.As(err, &m) || m.Earlier != fingerprint(k.ed) || m.Fingerprint != fingerprint(k.rsa) {
			t.Errorf("%s: %v", p, err)
		}
		if r := v.Result(); r.Fingerprint != fingerprint(k.ed) {
			t.Errorf("%s: the result changed to %+v", p, r)
		}
		// The same key in a certificate counts as the same key.
		if err := verify(t, v, hostCert(t, k.ca, k.ed, nil, "server")); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestRefusedIsNotCached: after a refusal a second attempt must be refused, too.
func TestRefusedIsNotCached(t *testing.T) {
	k := keys()
	v := verifier(t, 22, Options{}, "server "+text(k.ed))
	for range 2 {
		if got := verdictOf(t, verify(t, v, k.rsa)); got != mismatch {
			t.Error(got)
		}
	}
	if err := verify(t, v, k.ed); err != nil {
		t.Error(err)
	}
}
