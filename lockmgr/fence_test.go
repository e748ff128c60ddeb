package lockmgr_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/lockmgr"
)

// TestFence lets holder "a" check, changes the lease, and then lets "a" ask the fence.
func TestFence(t *testing.T) {
	const (
		allowed = iota
		notHeld
		held
	)
	tests := []struct {
		name    string
		unheld  bool // the key has no lease at the time of the check
		between func(*testing.T, *lockmgr.Table[string])
		want    int
	}{
		{"nothing happens", false, func(*testing.T, *lockmgr.Table[string]) {}, allowed},
		{"renewed past the first TTL", false, func(t *testing.T, table *lockmgr.Table[string]) {
			time.Sleep(ttl - 1)
			acquire(t, table, key, "a")
			time.Sleep(ttl - 1)
		}, allowed},
		{"expires", false, func(*testing.T, *lockmgr.Table[string]) { time.Sleep(ttl) }, notHeld},
		{"expires, same holder again", false, func(t *testing.T, table *lockmgr.Table[string]) {
			time.Sleep(ttl)
			acquire(t, table, key, "a")
		}, notHeld},
		{"expires, another acquires", false, func(t *testing.T, table *lockmgr.Table[string]) {
			time.Sleep(ttl)
			acquire(t, table, key, "b")
		}, held},
		{"expires, another comes and goes", false, func(t *testing.T, table *lockmgr.Table[string]) {
			time.Sleep(ttl)
			acquire(t, table, key, "b")
			time.Sleep(ttl)
		}, notHeld},
		{"expires, another comes and goes, same holder again", false, func(t *testing.T, table *lockmgr.Table[string]) {
			time.Sleep(ttl)
			acquire(t, table, key, "b")
			time.Sleep(ttl)
			acquire(t, table, key, "a")
		}, notHeld},
		{"released and acquired again", false, func(t *testing.T, table *lockmgr.Table[string]) {
			if err := table.Release(key, "a"); err != nil {
				t.Fatal(err)
			}
			acquire(t, table, key, "a")
		}, notHeld},
		{"taken over by another", false, func(t *testing.T, table *lockmgr.Table[string]) {
			table.TakeOver(key, "b", ttl)
		}, held},
		{"taken over and back", false, func(t *testing.T, table *lockmgr.Table[string]) {
			table.TakeOver(key, "b", ttl)
			table.TakeOver(key, "a", ttl)
		}, notHeld},
		{"dropped", false, func(t *testing.T, table *lockmgr.Table[string]) { table.Drop(key) }, notHeld},
		{"dropped and acquired again", false, func(t *testing.T, table *lockmgr.Table[string]) {
			table.Drop(key)
			acquire(t, table, key, "a")
		}, notHeld},

		{"unheld, nothing happens", true, func(*testing.T, *lockmgr.Table[string]) {}, allowed},
		{"unheld, same holder acquires", true, func(t *testing.T, table *lockmgr.Table[string]) {
			acquire(t, table, key, "a")
		}, allowed},
		{"unheld, another acquires", true, func(t *testing.T, table *lockmgr.Table[string]) {
			acquire(t, table, key, "b")
		}, held},
		{"unheld, another comes and goes", true, func(t *testing.T, table *lockmgr.Table[string]) {
			acquire(t, table, key, "b")
			time.Sleep(ttl)
		}, allowed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var table lockmgr.Table[string]
				if !tt.unheld {
					acquire(t, &table, key, "a")
				}
				epoch, err := table.Check(key, "a")
				if err != nil || (epoch == 0) != tt.unheld {
					t.Fatalf("Check: epoch %d, %v", epoch, err)
				}
				tt.between(t, &table)
				err = table.CheckEpoch(key, "a", epoch)
				switch tt.want {
				case allowed:
					if err != nil {
						t.Errorf("refused: %v", err)
					}
				case notHeld:
					wantIs(t, "fence", err, lockmgr.ErrNotHeld)
				case held:
					l, _ := table.Get(key)
					wantHeld(t, "fence", err, l)
				}
			})
		})
	}
}
