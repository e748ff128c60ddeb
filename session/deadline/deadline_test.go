package deadline_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/session/deadline"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// TestDeadline: a command is stopped once, at its first time or a lease after the last call, whichever is later.
func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		name  string
		lease time.Duration
		do    func(d *deadline.Deadline)
		want  time.Duration // after which it is stopped; 0: never
	}{
		{name: "alone", do: func(*deadline.Deadline) {}, want: time.Minute},
		{name: "over before", do: func(d *deadline.Deadline) { d.End() }},
		{name: "moved", do: func(d *deadline.Deadline) { d.Set(time.Hour) }, want: time.Hour},
		{name: "a call without a lease", do: func(d *deadline.Deadline) { d.Attend() }, want: time.Minute},
		{name: "a call that left it running", lease: 10 * time.Minute, want: 15 * time.Minute, do: func(d *deadline.Deadline) {
			d.Attend()
			time.Sleep(30 * time.Second)
			d.Leave(true)
			d.Attend()
			time.Sleep(4*time.Minute + 30*time.Second) // beyond the first time: a call waits
			d.Leave(false)
		}},
		{name: "a lease shorter than its first time", lease: time.Second, want: time.Minute, do: func(d *deadline.Deadline) {
			d.Attend()
			d.Leave(true)
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, stopped := time.Now(), time.Duration(0)
			d := deadline.New(time.Minute, c.lease, func() { stopped += time.Since(began) })
			c.do(d)
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if stopped != c.want {
				t.Errorf("%s: stopped after %v, want %v", c.name, stopped, c.want)
			}
			if c.want > 0 && d.Set(time.Minute) {
				t.Errorf("%s: Set after the stop reports that it was in time", c.name)
			}
		})
	}
}
