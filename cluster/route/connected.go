package route

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// answerTime is how long a running node may take to answer, and a server to say that no node listens. Both do it at
// once.
const answerTime = time.Second

// Connected reports whether the NATS servers have a connection of a node. They keep that of a stopped node, too, until
// they find that it does not answer them. They have none of a node that was killed or has left.
func (r *Router) Connected(ctx context.Context, node string) (bool, error) {
	connected, _, err := r.ping(ctx, node)
	return connected, err
}

// Answers reports whether a node answers: it does not if it was killed, is stopped or is cut off.
func (r *Router) Answers(ctx context.Context, node string) (bool, error) {
	_, answers, err := r.ping(ctx, node)
	return answers, err
}

// ping asks for a sign of life. It has no id, and so gives up no call.
func (r *Router) ping(ctx context.Context, node string) (connected, answers bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	m := nats.NewMsg(r.o.cancelSubject(node))
	m.Reply = newInbox(r.o.Node)
	sub, err := r.o.Conn.SubscribeSync(m.Reply)
	if err != nil {
		return false, false, err
	}
	defer func() { _ = sub.Unsubscribe() }() // it may have ended with the connection
	if err := r.o.Conn.PublishMsg(m); err != nil {
		return false, false, err
	}
	_, err = sub.NextMsgWithContext(ctx)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return false, false, nil
	case err == nil:
		return true, true, nil
	case errors.Is(err, context.DeadlineExceeded) && r.o.Conn.IsConnected():
		return true, false, nil
	}
	return false, false, err
}
