package route

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/nats-io/nats.go"

	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// maxAsked is how many questions about one call are answered at a time. A run over many hosts asks about 32.
const maxAsked = 64

// asking answers the questions about one call. Most calls have none, and pay for none.
type asking struct {
	r      *Router
	ctx    context.Context // of the call
	client peers.Client

	open    chan struct{}      // has a token for each question that is being answered; nil: no question yet
	stop    context.CancelFunc // of life
	life    context.Context    // ends with the call
	running sync.WaitGroup
}

// begin answers a question in a goroutine of its own, unless there are too many.
func (a *asking) begin(m *nats.Msg) {
	if a.open == nil {
		a.open = make(chan struct{}, maxAsked)
		a.life, a.stop = context.WithCancel(a.ctx)
	}
	select {
	case a.open <- struct{}{}:
		a.running.Go(func() {
			defer func() { <-a.open }()
			a.r.ask(a.life, a.client, m)
		})
	default:
		a.r.answer(m, nil, term.Errorf(term.LimitExceeded, "%d questions about one call are being answered already", maxAsked))
	}
}

// end gives up the questions that are being answered, and waits for their goroutines.
func (a *asking) end() {
	if a.stop != nil {
		a.stop()
	}
	a.running.Wait()
}

// ask answers an owner's question about a call. The question is another node's, so a fault in the answer is contained.
func (r *Router) ask(ctx context.Context, client peers.Client, m *nats.Msg) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Logger.Error("panic while a question of another node was answered", "panic", p, "stack", string(debug.Stack()))
			r.answer(m, nil, term.Errorf(term.Unsupported, "a fault of ptyctl"))
		}
	}()
	result, err := client.Ask(ctx, m.Header.Get(headerMethod), m.Data)
	if errors.Is(err, context.Canceled) {
		return // with its call
	}
	r.answer(m, result, err)
}

// answer sends the answer to a question.
func (r *Router) answer(m *nats.Msg, result []byte, err error) {
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(headerKind, kindResult)
	answer.Data = result
	if err != nil {
		answer.Header.Set(headerKind, kindError)
		answer.Data = encode(term.Errorf(term.Unsupported, "%.300v", err))
	}
	_ = r.o.Conn.PublishMsg(answer) // a lost answer is a question without one, which has a deadline
}
