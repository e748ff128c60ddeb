package watch

import (
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ticketOf returns the ticket of a link.
func ticketOf(t *testing.T, link string) string {
	t.Helper()
	_, fragment, _ := strings.Cut(link, "#")
	values, err := url.ParseQuery(fragment)
	if err != nil || values.Get("ticket") == "" {
		t.Fatalf("the link %s has no ticket: %v", link, err)
	}
	return values.Get("ticket")
}

// A ticket is worth a token once, and for less than a minute. A token is another text, and is known to its server
// alone.
func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1138}
		s, other := New(Options{}), New(Options{})
		first := s.Link(at, "web1 &x=1")
		if values, _ := url.ParseQuery(first[strings.Index(first, "#")+1:]); values.Get("session") != "web1 &x=1" {
			t.Errorf("the link %s has the session %q, want web1 &x=1", first, values.Get("session"))
		}
		ticket := ticketOf(t, first)
		time.Sleep(ticketTime - 1)
		token := s.exchange(ticket)
		if token == "" || token == ticket || !s.knows(token) || s.knows(ticket) || other.knows(token) {
			t.Errorf("a ticket within a minute = %q, known %t, want a token of its own", token, s.knows(token))
		}
		if again := s.exchange(ticket); again != "" {
			t.Errorf("the ticket once more = %q, want nothing", again)
		}
		late := ticketOf(t, s.Link(at, ""))
		time.Sleep(ticketTime)
		if token := s.exchange(late); token != "" {
			t.Errorf("a ticket after a minute = %q, want nothing", token)
		}
		for _, wrong := range []string{"", "x", ticketOf(t, other.Link(at, ""))} {
			if token := s.exchange(wrong); token != "" {
				t.Errorf("the ticket %q = %q, want nothing", wrong, token)
			}
		}
		// A person may load the page as often as they like: the token that was not used for longest makes room.
		unused := s.exchange(ticketOf(t, s.Link(at, "")))
		for range mostTokens - 1 {
			time.Sleep(time.Second)
			if !s.knows(token) || s.exchange(ticketOf(t, s.Link(at, ""))) == "" {
				t.Fatal("a token that is in use, or a new one, is refused after many others")
			}
		}
		if s.knows(unused) {
			t.Error("the token that was not used for longest is still known")
		}
		if n := len(s.tokens); n != mostTokens {
			t.Errorf("%d tokens are kept, want %d", n, mostTokens)
		}
		for range 10 * mostTickets {
			s.Link(at, "")
		}
		if n := len(s.tickets); n > mostTickets {
			t.Errorf("%d tickets are kept, want at most %d", n, mostTickets)
		}
	})
}

// The page is served on this machine alone.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := New(Options{}).Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "will not serve") {
		t.Errorf("Serve at all addresses = %v, want a refusal", err)
	}
}
