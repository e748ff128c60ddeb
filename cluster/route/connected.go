package route

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// answerTime is how long a server has to say that nobody listens. It says so at once.
const answerTime = time.Second

// Connected reports whether the NATS servers have a connection of a node. They have one of a node that is stopped, too,
// until they find that it does not answer them; of one that was killed or has left they have none.
func (r *Router) Connected(ctx context.Context, node string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	m := nats.NewMsg(r.o.cancelSubject(node))
	m.Header.Set(headerID, newID()) // of no call: a node that runs does nothing, and does not answer
	m.Reply = newInbox(r.o.Node)
	answers, err := r.o.Conn.SubscribeSync(m.Reply)
	if err != nil {
		return false, err
	}
	defer func() { _ = answers.Unsubscribe() }() // it may have ended with the connection
	if err := r.o.Conn.PublishMsg(m); err != nil {
		return false, err
	}
	_, err = answers.NextMsgWithContext(ctx)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return false, nil
	case err == nil || errors.Is(err, context.DeadlineExceeded) && r.o.Conn.IsConnected():
		return true, nil
	}
	return false, err
}
