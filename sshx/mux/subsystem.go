package mux

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// Subsystem starts a subsystem of the server, for example sftp (RFC 4254 section
// 6.5), on a channel of its own. The channel takes one of the slots for commands.
func (s *Slots) Subsystem(ctx context.Context, name string) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestLimit)
	defer cancel()
	for attempt := 1; ; attempt++ {
		ch, err := s.take(ctx)
		if err != nil {
			return nil, err
		}
		// The streams are read before the request, as in Exec.
		stream := serve(ch)
		ok, err := ch.Request(ctx, "subsystem", ssh.Marshal(struct{ Name string }{name}))
		switch {
		case err == nil && ok:
			return stream, nil
		case err == nil:
			err = &term.Error{
				Kind: term.Unsupported,
				Msg:  fmt.Sprintf("%s offers no subsystem %q (Subsystem in its sshd_config)", ch.k.Name, name),
			}
		case attempt < attempts && errors.Is(err, term.RemoteClosed) && (&execution{ch: ch}).neverBegan(ctx):
			_ = stream.Close()
			continue
		}
		_ = stream.Close()
		return nil, err
	}
}

// A subsystem is the two directions of a channel. Pipes connect it to the
// channel, because the channel's Close does not wake its own Read and Write while
// the server is frozen.
type subsystem struct {
	ch  *Channel
	in  *pipe // from the server
	out *pipe // to the server
}

// serve starts the copying in both directions.
func serve(ch *Channel) *subsystem {
	s := &subsystem{ch: ch, in: newPipe(), out: newPipe()}
	ch.DiscardStderr() // unread data would block the channel
	// Both end with the channel, or with Close.
	ch.k.wg.Go(func() { s.in.close(relay(s.in, ch)) })
	ch.k.wg.Go(func() { s.out.close(relay(ch, s.out)) })
	return s
}

// relay copies until the end of from, or an error.
func relay(to io.Writer, from io.Reader) error {
	p := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(p)
	_, err := io.CopyBuffer(to, onlyReader{from}, p[:])
	return err
}

// onlyReader hides all other methods, so that a copy uses the given buffer.
type onlyReader struct{ io.Reader }

// Read implements io.Reader.
func (s *subsystem) Read(p []byte) (int, error) { return s.in.Read(p) }

// Write implements io.Writer.
func (s *subsystem) Write(p []byte) (int, error) { return s.out.Write(p) }

// Close implements io.Closer. It does not wait for the server.
func (s *subsystem) Close() error {
	s.in.close(io.ErrClosedPipe)
	s.out.close(io.ErrClosedPipe)
	s.ch.Drop()
	return nil
}
