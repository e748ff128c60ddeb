package subscribe_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/session"
	"ptyctl/term"
)

// TestListen: every notification of a subscriptions/listen names it, the acknowledgement first; two at a time each
// get the changes they asked for; a cancelled one gets no more.
func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := subscribe.NewWatch()
		m := session.NewManager(session.Config{Observers: []term.Observer{w}})
		in, far := bufpipe.New(0)
		served := make(chan struct{})
		go func() {
			defer close(served)
			if err := stdio.Serve(t.Context(), mcpapi.NewServer(mcpapi.Options{Sessions: m, Watch: w}), far, far,
				stdio.Options{}); err != nil {
				t.Error(err)
			}
			far.Close()
		}()
		out := bufio.NewScanner(in)
		next := func() string {
			if !out.Scan() {
				t.Fatal("the server has closed its output")
			}
			var l struct {
				ID     json.RawMessage
				Method string
				Params struct {
					Meta map[string]any `json:"_meta"`
					URI  string
				}
			}
			if err := json.Unmarshal(out.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf(
				"%s%s %v %s",
				l.ID,
				l.Method,
				l.Params.Meta["io.modelcontextprotocol/subscriptionId"],
				l.Params.URI,
			)
		}
		want := func(lines ...string) {
			t.Helper()
			missing := make(map[string]int)
			for _, l := range lines {
				missing[l]++
			}
			for range lines {
				got := next()
				if missing[got]--; missing[got] < 0 {
					t.Errorf("got %q, want one of %q", got, lines)
				}
			}
		}
		listen := func(id, filter string) {
			fmt.Fprintf(
				in,
				`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":{%s},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n",
				id,
				filter,
			)
		}
		listen("1", `"resourcesListChanged":true`)
		listen(`"two"`, `"resourceSubscriptions":["ptyctl://sessions"]`)
		want("notifications/subscriptions/acknowledged 1 ", "notifications/subscriptions/acknowledged two ")

		w.Observe(term.Event{Verb: term.VerbOpen, Session: "s"})
		want("notifications/resources/list_changed 1 ", "notifications/resources/updated two ptyctl://sessions")
		w.Observe(term.Event{Verb: term.VerbState, Session: "s"})
		want("notifications/resources/updated two ptyctl://sessions")

		fmt.Fprintln(in, mcptest.CancelCall(`"two"`))
		synctest.Wait()
		w.Observe(term.Event{Verb: term.VerbGone, Session: "s"})
		want("notifications/resources/list_changed 1 ")
		time.Sleep(time.Minute)
		if err := in.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		want("1 <nil> ") // the end of the input ends the other
		<-served
		synctest.Wait()
		if _, watchers, watching := subscribe.Kept(w); watchers != 0 || watching {
			t.Errorf("%d watchers are left, watching %v", watchers, watching)
		}
		w.Close()
		m.Close(t.Context())
	})
}
