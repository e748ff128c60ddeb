package telnet

import (
	"context"
	"fmt"

	"ptyctl/term"
)

// SendKey implements term.KeySender: a break, and the commands IP, AO, AYT and EOF (RFC 854).
func (c *Conn) SendKey(ctx context.Context, name string) error {
	switch name {
	case term.KeyBreak:
		return c.Break(ctx)
	case term.KeyInterruptProcess:
		return c.interrupt(ctx, IP)
	case term.KeyAbortOutput:
		return c.interrupt(ctx, AO)
	case term.KeyAreYouThere:
		return c.Send(AYT)
	case term.KeyEndOfFile:
		return c.Send(EOF)
	default:
		return &term.Error{
			Op: "key", Kind: term.InvalidArgument, Msg: fmt.Sprintf("%q is not a key of the Telnet protocol", name),
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldKey, Allowed: term.ProtocolKeys()}},
		}
	}
}
