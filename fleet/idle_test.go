package fleet_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/fleet"
	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/session/known"
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

// A secret that a host has been given is in no output of it, also over a connection that is used again.
func TestSecrets(t *testing.T) {
	const word = "fleet-word-1138"
	leaktest.Secret(t, word)
	inBubble(t, 0, func(t *testing.T, w *network) {
		w.add(1, sshserver.Config{NoAuth: true, Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
			_, _ = io.WriteString(r.Stdout, "the word is "+word+"\n")
			_, _ = io.WriteString(r.Stderr, word[:5])
			_, _ = io.WriteString(r.Stderr, word[5:])
			return sshserver.Exit{}
		}}, true)
		values := known.NewRegistry()
		var seen diary
		f := w.fleets(fleet.Config{Known: values, Observers: []term.Observer{&seen}})
		other := values.View("web1-k3f9q2zd") // a session on the host, which has been given the word
		other.Keep()
		other.At(term.Place(address(1), 22))
		values.Redact(term.RedactedValue{Value: []byte(word), Host: term.Place(address(1), 22)})
		for range 2 {
			run := finish(t, f, fleet.Request{Hosts: hosts(1, 1), Command: "id"})
			out, errs := run.Streams(address(1))
			text := string(out.From(0, 100).Data) + string(errs.From(0, 100).Data)
			if strings.Contains(text, word) || !strings.Contains(text, "the word is ") || errs.Total() == 0 {
				t.Errorf("the output is %q, want it without the word", text)
			}
			other.Drop() // the connection that is kept knows it still
		}
		if n := dialsOf(w, 1); n != 1 {
			t.Errorf("%d connections, want the first to be used again", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		f.Close()
		values.Close()
	})
}
