package mux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/quote"
	"ptyctl/term"
)

// attempts is how many channels a command or a subsystem is tried on, as long as
// the server closes them unanswered. A busy dropbear has closed two in a row.
const attempts = 3

// Exec implements term.Execer on a channel of its own (RFC 4254 section 6.5). It
// tries other channels if the server closed the first before it started the
// command.
func (s *Slots) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	defer r.CloseInput()
	opening, cancel := context.WithTimeout(ctx, RequestLimit)
	defer cancel()
	ctx, abandon := context.WithCancelCause(ctx) // if a writer of the caller panics
	defer abandon(nil)
	stdout, stderr = term.SafeWriter(stdout, abandon), term.SafeWriter(stderr, abandon)
	for attempt := 1; ; attempt++ {
		// Another attempt is safe only if the server has certainly not started the
		// command.
		ch, err := s.take(opening)
		if err != nil {
			return term.Exit{}, err
		}
		x := &execution{ch: ch, env: s.Env, drained: make(chan struct{}), moved: make(chan struct{}, 1)}
		release := x.drain(stdout, stderr)
		defer release()
		switch err := x.begin(opening, ctx, r); {
		case err == nil:
			if x.trip >= aheadGain {
				s.openAhead()
			} else { // opening it now would delay this command
				defer s.openAhead()
			}
			e, err := x.wait(ctx, r.Grace)
			e.Started = true
			return e, cmp.Or(err, term.WriterFailure(ctx))
		case attempt < attempts && errors.Is(err, term.RemoteClosed) && x.neverBegan(opening):
		default:
			return term.Exit{}, err
		}
	}
}

// An execution is one running command.
type execution struct {
	ch      *Channel
	env     []term.EnvVar // of ssh_config
	drained chan struct{} // closed when both streams have ended
	moved   chan struct{} // buffered; receives a value when output came
	trip    time.Duration // the time until the server's answer to the exec request
}

const (
	copyBuffer  = 32 << 10 // the largest payload of one packet from OpenSSH
	firstBuffer = 2 << 10  // enough for most commands: hundreds that run at a time wait with no more than this
)

// The buffers of finished copies are recycled: two per command would be most of
// its cost.
var (
	copyBuffers  = sync.Pool{New: func() any { return new([copyBuffer]byte) }}
	firstBuffers = sync.Pool{New: func() any { return new([firstBuffer]byte) }}
)

// copyAll copies r to w. It takes a large buffer when a small one is filled.
func copyAll(w io.Writer, r io.Reader) {
	small := firstBuffers.Get().(*[firstBuffer]byte)
	n, err := 0, error(nil)
	for n < len(small) && err == nil {
		if n, err = r.Read(small[:]); n > 0 {
			_, _ = w.Write(small[:n]) // which never fails
		}
	}
	firstBuffers.Put(small)
	if err != nil {
		return
	}
	large := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(large)
	_, _ = io.CopyBuffer(w, r, large[:])
}

// drain starts reading both streams before the command starts, because unread
// output blocks the channel. release closes the channel; after it, stdout and
// stderr are not written any more.
func (x *execution) drain(stdout, stderr io.Writer) (release func()) {
	var open atomic.Int32
	open.Store(2)
	copyTo := func(w *outWriter, r io.Reader) {
		defer func() { // also if a writer ends its goroutine
			if open.Add(-1) == 0 {
				close(x.drained)
			}
		}()
		copyAll(w, r)
	}
	out, errs := &outWriter{w: stdout, moved: x.moved}, &outWriter{w: stderr, moved: x.moved}
	x.ch.k.wg.Go(func() { copyTo(out, x.ch) })
	x.ch.k.wg.Go(func() { copyTo(errs, x.ch.Stderr()) })
	return func() {
		x.ch.Drop()
		out.detach()
		errs.detach()
	}
}

// An outWriter passes output on until it is detached, and signals on moved that
// output came.
type outWriter struct {
	moved chan<- struct{}

	mu sync.Mutex // guards the following, and is held while w is written to
	w  io.Writer  // see term.SafeWriter
}

// Write never fails: the output must be read in any case.
func (o *outWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.w.Write(p)
	select {
	case o.moved <- struct{}{}:
	default:
	}
	return len(p), nil
}

// detach drops all further output. It must still be read: a server may not notice
// that the channel is closed while its output is stuck.
func (o *outWriter) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = io.Discard
}

// begin starts the command with its environment and input.
//
// opening limits the preparation. After the exec request the command may be
// running even before the server answers, so from then on only ctx, the command's
// own limit, counts.
func (x *execution) begin(opening, ctx context.Context, r term.ExecRequest) error {
	command, err := commandIn(r.Dir, r.Command)
	if err != nil {
		return err
	}
	if err := x.ch.offerEnv(opening, x.env, r.Env); err != nil {
		return err
	}
	if err := x.ch.setEnv(opening, r.Env); err != nil {
		return err
	}
	asked := time.Now()
	ok, err := x.ch.Request(ctx, "exec", ssh.Marshal(struct{ Command string }{command}))
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // the command may be running: wait sees the end of ctx and stops it
	}
	if err != nil {
		return err
	}
	x.trip = time.Since(asked)
	if !ok {
		return &term.Error{
			Kind: term.Unsupported, Reason: term.ReasonTypeInstead,
			Msg:    fmt.Sprintf("%s refuses to run commands outside the terminal", x.ch.k.Name),
			Advice: "type them into the terminal",
		}
	}
	x.ch.k.wg.Go(func() { // ends when the input is written, or with the channel
		r.WriteInput(x.ch)
		_ = x.ch.CloseWrite()
	})
	return nil
}

// neverBegan reports whether the server closed the channel, but not the
// connection, without an answer to the request. A dropbear does that to a channel
// opened while another process ends; it has not run the command then.
func (x *execution) neverBegan(ctx context.Context) bool {
	select {
	case <-x.ch.closed:
		return x.ch.k.Lost() == nil
	case <-ctx.Done():
		return false
	}
}

// offerEnv sends the variables of ssh_config that the request does not set itself.
// Like ssh(1) it does not ask whether the server accepts them.
func (c *Channel) offerEnv(ctx context.Context, env, request []term.EnvVar) error {
	for _, v := range env {
		if slices.ContainsFunc(request, func(r term.EnvVar) bool { return r.Name == v.Name }) {
			continue
		}
		if err := c.Tell(ctx, "env", ssh.Marshal(struct{ Name, Value string }{v.Name, v.Value})); err != nil {
			return err
		}
	}
	return nil
}

// setEnv sets environment variables. A refused one is an error, because a command
// without it would do something else.
func (c *Channel) setEnv(ctx context.Context, env []term.EnvVar) error {
	var refused []string
	for _, v := range env {
		ok, err := c.Request(ctx, "env", ssh.Marshal(struct{ Name, Value string }{v.Name, v.Value}))
		if err != nil {
			return err
		}
		if !ok {
			refused = append(refused, v.Name)
		}
	}
	if len(refused) > 0 {
		return term.Errorf(
			term.Unsupported,
			"%s does not accept %s (AcceptEnv in its sshd_config); nothing was run: "+
				"set the variable in the command itself, for example: env %s=... command",
			c.k.Name,
			strings.Join(refused, ", "),
			refused[0],
		)
	}
	return nil
}

// commandIn prefixes a command with a change of directory, in a form that sh, csh
// and fish accept. A line end in dir has no such form: csh would run the text
// after it.
func commandIn(dir, command string) (string, error) {
	if dir == "" {
		return command, nil
	}
	if dir[0] == '-' || dir[0] == '+' { // cd would read it as an option, or as a directory of its stack
		dir = "./" + dir
	}
	word, err := quote.Word(quote.Posix, dir)
	if err != nil || strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", term.Errorf(
			term.InvalidArgument,
			"the working directory %q contains a control character; give a path without one",
			dir,
		)
	}
	return "cd " + word + " || exec false; " + command, nil // csh continues after || exit
}

// wait returns how the command ended. If ctx ends first, it stops the command.
func (x *execution) wait(ctx context.Context, grace time.Duration) (term.Exit, error) {
	select {
	case <-x.ch.closed:
		return x.finished(ctx)
	case e := <-x.ch.exit:
		e.Background = !x.settle(ctx)
		return e, nil
	case <-ctx.Done():
		e := x.stop(grace)
		if e.Known {
			return e, nil
		}
		// A lost connection ends the session and so ctx; this must not be
		// reported as a timeout.
		select {
		case <-x.ch.closed:
		default:
			return e, nil
		}
		return e, x.ch.k.LostSoon(nil)
	}
}

// finished returns the outcome of a command after its channel was closed.
func (x *execution) finished(ctx context.Context) (term.Exit, error) {
	select {
	case <-x.drained:
	case <-ctx.Done():
	}
	select {
	case e := <-x.ch.exit:
		return e, nil
	default:
	}
	// A channel ends without a status if the server sends none, or if the connection is lost.
	return term.Exit{}, x.ch.k.LostSoon(nil)
}

// settle waits for the rest of the output after the exit status. It returns false if the streams did not end.
//
// Quiet alone does not tell a stream that a background process keeps open from a server that is slow. Output that
// the server had to send before it answered two questions has come with the answers.
func (x *execution) settle(ctx context.Context) bool {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	pause := drainQuiet
	if !x.ch.k.answersInOrder() {
		pause = drainLong
	}
	pause = max(pause, 2*x.trip) // a full window takes a round trip to open again
	quiet := time.NewTimer(pause)
	defer quiet.Stop()
	var answered <-chan struct{}
	questions := 0
	for {
		select {
		case <-x.drained:
			return true
		case <-x.moved:
			questions, answered = 0, nil
			quiet.Reset(pause)
		case <-quiet.C:
			questions, answered = 1, x.ch.k.ask()
		case <-answered:
			if questions == 2 {
				return x.ending(ctx, limit.C)
			}
			questions, answered = 2, x.ch.k.ask()
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// ending waits for the end of the output if the server has closed the channel, which the readers of a busy machine see
// late. It returns false if the output does not end.
func (x *execution) ending(ctx context.Context, limit <-chan time.Time) bool {
	select {
	case <-x.ch.closed:
	default:
		return false
	}
	select {
	case <-x.drained:
		return true
	case <-limit:
	case <-ctx.Done():
	}
	return false
}

// stop ends a command that has exceeded its time: TERM, then KILL, then it gives
// up. Only a report of the server proves that the command has ended; without one
// the result is "unknown".
func (x *execution) stop(grace time.Duration) term.Exit {
	if grace <= 0 {
		grace = 2 * time.Second
	}
	// OpenSSH before 7.9 ignores signals; then both waits pass and the channel is
	// closed.
	for _, step := range []struct {
		signal string
		wait   time.Duration
	}{{"TERM", grace}, {"KILL", time.Second}} {
		timer := time.NewTimer(step.wait)
		x.ch.k.wg.Go(func() { // a frozen connection would block
			_, _ = x.ch.SendRequest("signal", false, ssh.Marshal(struct{ Name string }{step.signal}))
		})
		select {
		case e := <-x.ch.exit:
			timer.Stop()
			e.Killed = "yes"
			return e
		case <-x.ch.closed:
			timer.Stop()
			select {
			case e := <-x.ch.exit:
				e.Killed = "yes"
				return e
			default:
				return term.Exit{Killed: "unknown"}
			}
		case <-timer.C:
		}
	}
	return term.Exit{Killed: "unknown"}
}
