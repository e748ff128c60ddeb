package fleet_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/fleet"
	"ptyctl/internal/sshserver"
	"ptyctl/term"
)

// A run uses the connections that the one before has left, while they work and their time is not over, and those of its own
// principal alone.
func TestReuse(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, w *network) {
		srv := w.add(1, sshserver.Config{NoAuth: true}, true)
		var last net.Conn
		w.serve[address(1)+":22"] = func(c net.Conn) {
			last = c
			srv.ServeConn(c)
		}
		var seen diary
		f := w.fleets(fleet.Config{Observers: []term.Observer{&seen}})
		r := fleet.Request{Hosts: hosts(1, 1), Command: "id"}
		dials := func(what string, n int) {
			t.Helper()
			if got := dialsOf(w, 1); got != n {
				t.Errorf("%s: %d connections so far, want %d", what, got, n)
			}
		}
		want(t, finish(t, f, r), fleet.Counts{All: 1, OK: 1})
		want(t, finish(t, f, r), fleet.Counts{All: 1, OK: 1})
		dials("a second run", 1)
		plans := 0
		for _, e := range seen.all {
			if e.Verb == term.VerbPlan {
				plans++
			}
		}
		if plans != 2 {
			t.Errorf("%d plans on record, want one for each run", plans)
		}
		ctx := term.WithActor(t.Context(), term.Actor{Transport: "http"})
		run, err := f.Run(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		<-run.Done()
		dials("a run of another principal", 2)
		time.Sleep(time.Minute)
		want(t, finish(t, f, r), fleet.Counts{All: 1, OK: 1})
		dials("a run after a minute", 3)
		_ = last.Close()
		synctest.Wait()
		want(t, finish(t, f, r), fleet.Counts{All: 1, OK: 1})
		dials("a run after the connection was lost", 4)
		r.Timeout, r.Command = time.Second, "sleep 1m"
		want(t, finish(t, f, r), fleet.Counts{All: 1, Lost: 1})
		r.Command = "id"
		want(t, finish(t, f, r), fleet.Counts{All: 1, OK: 1})
		dials("a run after a command that was stopped", 5)
	})
}
