package lockmgr_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/lockmgr"
)

// A model is a very simple table of leases: the list of all grants. The last one for a key
// counts.
type model struct {
	grants []*grant
}

type grant struct {
	lease lockmgr.Lease[string]
	over  bool // released, taken over or dropped
}

// live returns the live grant of the key, or nil.
func (m *model) live(key string) *grant {
	for _, g := range m.grants {
		if g.lease.Key == key && !g.over && time.Now().Before(g.lease.Expires) {
			return g
		}
	}
	return nil
}

func (m *model) grant(key, holder string, ttl time.Duration) lockmgr.Lease[string] {
	l := lockmgr.Lease[string]{Key: key, Holder: holder, Epoch: uint64(len(m.grants)) + 1, Expires: time.Now().Add(ttl)}
	m.grants = append(m.grants, &grant{lease: l})
	return l
}

// An outcome is the result of a call: a lease, an epoch, and the relevant part of the
// error.
type outcome struct {
	lease, previous lockmgr.Lease[string]
	epoch           uint64
	refused         string                // "", "held" or "not held"
	by              lockmgr.Lease[string] // held
}

func outcomeOf(lease, previous lockmgr.Lease[string], epoch uint64, err error) outcome {
	o := outcome{lease: lease, previous: previous, epoch: epoch}
	if held, ok := errors.AsType[*lockmgr.HeldError[string]](err); ok {
		o.refused, o.by = "held", held.Lease
	} else if errors.Is(err, lockmgr.ErrNotHeld) {
		o.refused = "not held"
	} else if err != nil {
		o.refused = err.Error()
	}
	return o
}

// An op is one call with its arguments.
type op struct {
	name, key, holder string
	to                string // pass
	ttl               time.Duration
	epoch             uint64
}

func (o op) onTable(t *lockmgr.Table[string]) outcome {
	var none lockmgr.Lease[string]
	switch o.name {
	case "acquire":
		l, err := t.Acquire(o.key, o.holder, o.ttl)
		return outcomeOf(l, none, 0, err)
	case "renew":
		l, err := t.Renew(o.key, o.holder, o.ttl)
		return outcomeOf(l, none, 0, err)
	case "take over":
		l, previous := t.TakeOver(o.key, o.holder, o.ttl)
		return outcomeOf(l, previous, 0, nil)
	case "release":
		return outcomeOf(none, none, 0, t.Release(o.key, o.holder))
	case "pass":
		l, err := t.Pass(o.key, o.holder, o.to)
		return outcomeOf(l, none, 0, err)
	case "check":
		epoch, err := t.Check(o.key, o.holder)
		return outcomeOf(none, none, epoch, err)
	case "fence":
		return outcomeOf(none, none, 0, t.CheckEpoch(o.key, o.holder, o.epoch))
	case "get":
		l, _ := t.Get(o.key)
		return outcomeOf(l, none, 0, nil)
	default:
		t.Drop(o.key)
		return outcome{}
	}
}

func (o op) onModel(m *model) outcome {
	g := m.live(o.key)
	held := g != nil && g.lease.Holder != o.holder
	extend := func() outcome {
		if e := time.Now().Add(o.ttl); e.After(g.lease.Expires) {
			g.lease.Expires = e
		}
		return outcome{lease: g.lease}
	}
	switch o.name {
	case "get":
		if g == nil {
			return outcome{}
		}
		return outcome{lease: g.lease}
	case "drop":
		if g != nil {
			g.over = true
		}
		return outcome{}
	case "take over":
		var previous lockmgr.Lease[string]
		if g != nil {
			g.over, previous = true, g.lease
		}
		return outcome{lease: m.grant(o.key, o.holder, o.ttl), previous: previous}
	}
	if held {
		return outcome{refused: "held", by: g.lease}
	}
	switch o.name {
	case "acquire":
		if g == nil {
			return outcome{lease: m.grant(o.key, o.holder, o.ttl)}
		}
		return extend()
	case "renew":
		if g == nil {
			return outcome{refused: "not held"}
		}
		return extend()
	case "pass":
		if g == nil {
			return outcome{refused: "not held"}
		}
		g.lease.Holder = o.to
		return outcome{lease: g.lease}
	case "release":
		if g == nil {
			return outcome{refused: "not held"}
		}
		g.over = true
		return outcome{}
	case "check":
		if g == nil {
			return outcome{}
		}
		return outcome{epoch: g.lease.Epoch}
	default: // fence
		if o.epoch > 0 && (g == nil || g.lease.Epoch != o.epoch) {
			return outcome{refused: "not held"}
		}
		return outcome{}
	}
}

// TestModel makes the same random calls to a Table and to the model, at random times.
func TestModel(t *testing.T) {
	names := []string{"acquire", "acquire", "renew", "take over", "release", "check", "fence", "fence", "get", "drop", "pass"}
	done := make(map[string]int)
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 6))
				var table lockmgr.Table[string]
				var m model
				for i := range 500 {
					o := op{
						name: names[r.IntN(len(names))], key: fmt.Sprint("web", r.IntN(3)), holder: fmt.Sprint("task-", r.IntN(3)), to: fmt.Sprint("task-", r.IntN(3)),
						ttl: time.Duration(1+r.IntN(8)) * time.Second, epoch: uint64(max(0, len(m.grants)-r.IntN(4))),
					}
					want, got := o.onModel(&m), o.onTable(&table)
					if got != want {
						t.Fatalf("call %d, %+v: got %+v, want %+v", i, o, got, want)
					}
					done[o.name+" "+want.refused]++
					if r.IntN(3) == 0 {
						time.Sleep(time.Duration(r.IntN(5)) * time.Second) // whole seconds, so that some calls come exactly at an expiry
					}
				}
			})
		})
	}
	for _, kind := range []string{
		"acquire ", "acquire held", "renew ", "renew held", "renew not held", "release ", "release held", "release not held",
		"pass ", "pass held", "pass not held", "check ", "check held", "fence ", "fence held", "fence not held", "take over ",
	} {
		if done[kind] == 0 {
			t.Errorf("no call of the kind %q was made", kind)
		}
	}
}
