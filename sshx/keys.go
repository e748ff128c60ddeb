package sshx

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/mux"
	"ptyctl/term"
)

// breakLength is the requested length of a break. RFC 4335 forbids servers to
// make it shorter than 500 ms.
const breakLength = 500 * time.Millisecond

// SendKey implements term.KeySender. SSH has the key break only (RFC 4335).
func (sh *Shell) SendKey(ctx context.Context, name string) error {
	refused := func(why string) error {
		return &term.Error{Op: "write", Kind: term.Unsupported, Msg: why}
	}
	switch name {
	case term.KeyBreak:
	case term.KeyInterruptProcess:
		return refused("SSH has no key interrupt_process; press ctrl_c")
	case term.KeyAbortOutput:
		return refused("SSH has no key abort_output; press ctrl_c to end the program")
	case term.KeyAreYouThere:
		return refused("SSH has no key ayt; the session's status shows whether the connection works")
	case term.KeyEndOfFile:
		return refused("SSH has no key eof; press ctrl_d on an empty line")
	default:
		return &term.Error{
			Op:    "write",
			Kind:  term.InvalidArgument,
			Msg:   fmt.Sprintf("there is no key %q", name),
			Facts: term.Facts{term.ArgumentFault{Allowed: term.ProtocolKeys()}},
		}
	}
	ctx, cancel := context.WithTimeout(ctx, mux.RequestLimit)
	defer cancel()
	ok, err := sh.ch.Request(
		ctx,
		"break",
		ssh.Marshal(struct{ Milliseconds uint32 }{uint32(breakLength.Milliseconds())}),
	)
	if err != nil {
		return err
	}
	if !ok {
		return refused(
			fmt.Sprintf(
				"%s refuses the key break (RFC 4335): "+
					"the session is not on a serial line, or the server cannot pass a "+
					"break on; press ctrl_c to interrupt, or use the console server's own key for a break",
				sh.c.own.Name,
			),
		)
	}
	return nil
}

var _ term.KeySender = (*Shell)(nil)
