package route

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// The kinds of an owner's messages, in the header headerKind.
const (
	headerKind = "Ptyctl-Kind"

	kindTaken    = "taken"    // the call was taken, and will be answered
	kindAlive    = "alive"    // it goes on
	kindPiece    = "piece"    // of the result
	kindResult   = "result"   // the last piece of the result; that of a call has no headers, and of an answer to a question this one
	kindError    = "error"    // in place of a result: a failure in JSON
	kindRefused  = "refused"  // in place of taken: nothing was done; a failure in JSON
	kindProgress = "progress" // a notification for the client: headerMethod, and its parameters in JSON
	kindAsk      = "ask"      // a question about the call, of the kind headerMethod, to be answered to the reply subject

	headerMethod = "Ptyctl-Method"
)

// A Router passes calls on. Make it with New.
type Router struct {
	o       Options
	secrets *secrets
	inbox   string // what answers to calls come to: inbox, a dot and the id of the call

	answers *nats.Subscription
	room    *room         // for results that are not whole yet
	large   chan struct{} // has room for one: the call in several pieces that is being sent

	mu    sync.Mutex // guards the following
	calls map[string]*sent
}

// New makes a Router that can pass calls on; Serve makes it answer those of others.
func New(o Options) (*Router, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Router{
		o: o, secrets: newSecrets(o.Key, o.Node), inbox: newInbox(o.Node), room: newRoom(maxOfAll, maxOfNode), large: make(chan struct{}, 1),
		calls: make(map[string]*sent),
	}
	if r.answers, err = o.Conn.Subscribe(r.inbox+".*", r.answered); err != nil {
		return nil, fmt.Errorf("route: %w", err)
	}
	if err := r.answers.SetPendingLimits(-1, -1); err != nil { // each call bounds its own answer
		return nil, fmt.Errorf("route: %w", err)
	}
	return r, nil
}

// Close ends the calls in progress, which get an error, and gives the inbox up.
func (r *Router) Close() {
	_ = r.answers.Unsubscribe() // it may have ended with the connection
	r.mu.Lock()
	for _, c := range r.calls {
		c.fail(errClosed)
	}
	r.mu.Unlock()
}

// inboxes is the prefix of all inboxes. A node may publish to them and to little else.
const inboxes = "_INBOX."

// newInbox returns an inbox of a node that no other can guess. Those of the client library count up, so that a node that
// is sent one would know the next ones, and could answer there in the name of another.
func newInbox(node string) string { return inboxes + node + "." + rand.Text() }

// isInbox reports whether a subject is one to which answers may go. A token does not sign it: without this check another
// node could have this one write to any subject that it has the right to, for example its own key in the registry.
func isInbox(subject string) bool { return strings.HasPrefix(subject, inboxes) }

// newID returns the id of a call.
func newID() string { return rand.Text() }
