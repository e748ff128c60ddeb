package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/devlock"
)

// TestRefusals gives the renewer the refusals of a server. 10164 is never the loss of a lease, and 10071 is one only if
// the key has another owner: the answer to an earlier renewal may have been lost.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Servers: natstest.URLs(natstest.Start(t, 1)), Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	for name, tt := range map[string]struct {
		code  string
		other []byte // what another writes to the key
		lost  string
	}{
		"another write":                  {code: "10164"},
		"a lost answer":                  {code: "10071"},
		"another write by another owner": {code: "10164", other: value{ID: "x", Owner: devlock.Owner{Node: "b", Session: "s2"}}.encode(9), lost: `node "b"`},
		"another owner":                  {code: "10071", other: value{ID: "x", Owner: devlock.Owner{Node: "b", Session: "s2"}}.encode(9), lost: `node "b"`},
		"a value that cannot be read":    {code: "10071", other: []byte("?"), lost: "another owner"},
		"no key":                         {code: "10071", other: []byte{}, lost: "deleted or has expired"},
	} {
		l, err := s.Acquire(t.Context(), name, devlock.Owner{Session: "s1"})
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan error, 1)
		l.AfterEnd(func(err error) { told <- err })
		key, err := keyOf(name)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case tt.other == nil && tt.code == "10071": // a renewal without an answer changes the revision
			_, err = s.kv.Put(t.Context(), key, value{Device: name, ID: idOf(s, l), Owner: l.Owner()}.encode(l.Token()))
		case tt.other == nil:
		case len(tt.other) == 0:
			err = s.kv.Delete(t.Context(), key)
		default:
			_, err = s.kv.Put(t.Context(), key, tt.other)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = s.renewals.do(t.Context(), func() {
			h := s.renewals.held[l]
			s.renewals.written(h, h.Number, []byte(`{"error":{"code":400,"err_code":`+tt.code+`,"description":"wrong last sequence"}}`))
		})
		err = s.Renew(t.Context(), l)
		if tt.lost == "" {
			if err != nil || l.Check() != nil || len(told) != 0 {
				t.Errorf("%s: Renew = %v, Check = %v", name, err, l.Check())
			}
			continue
		}
		var lost *devlock.LostError
		if !errors.As(err, &lost) || !strings.Contains(err.Error(), tt.lost) {
			t.Errorf("%s: Renew = %v, want a LostError with %q", name, err, tt.lost)
		}
		if err := <-told; !strings.Contains(err.Error(), tt.lost) || l.Check() == nil {
			t.Errorf("%s: the end is told as %v", name, err)
		}
	}
}

func idOf(s *Store, l *devlock.Lease) (id string) {
	_ = s.renewals.do(context.Background(), func() { id = s.renewals.held[l].value.ID })
	return id
}

// TestLostAnswer: a write that has lost its answer is recognized, and begins the lease when it is repeated.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Servers: natstest.URLs(natstest.Start(t, 1)), Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	key, err := keyOf("rack1")
	if err != nil {
		t.Fatal(err)
	}
	h := &held{key: key, value: value{Device: "rack1", ID: "mine", Owner: devlock.Owner{Session: "s1"}}}
	first, err := s.bucket.Put(t.Context(), s.bucket.Write(key, h.value.encode(0), 0)) // its answer does not come
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	sent, err := s.win(t.Context(), h)
	if err != nil || h.Token != first || h.Revision <= first || sent.Time().Before(before) {
		t.Fatalf("win = %v (asked at %v), %v; token %d and revision %d, want token %d", sent, before, err, h.Token, h.Revision, first)
	}
	if err := s.begin(h, sent); err != nil || h.lease.Token() != first {
		t.Errorf("the lease of a fresh write: %v", err)
	}
	if err := s.begin(h, sent.Add(-s.o.TTL)); err == nil {
		t.Error("a write that was confirmed too late has begun a lease")
	}
}

// TestKeys: a key has letters that JetStream takes, differs for different devices, and is not too long.
func TestKeys(t *testing.T) {
	seen := make(map[string]string)
	for _, device := range []string{"", "=", ".", "*", "a", "A", "\x00", "\xff\xfe", "switch-001", strings.Repeat("é", longestName/2)} {
		key, err := keyOf(device)
		if other, ok := seen[key]; err != nil || ok || strings.ContainsAny(strings.TrimPrefix(key, "dev."), ".*> \t") {
			t.Errorf("keyOf(%.20q) = %.20q, %v (as of %.20q)", device, key, err, other)
		}
		seen[key] = device
	}
	if _, err := keyOf(strings.Repeat("x", longestName+1)); err == nil || !strings.Contains(err.Error(), "1025") {
		t.Errorf("a name that is too long: %v", err)
	}
}
