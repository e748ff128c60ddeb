package r2

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// A program is a radare2 or rizin that runs. One call at a time has its turn.
type program struct {
	s    *session.Session
	exec string // its id in the session
	in   *feed
	turn chan struct{} // holds one token: the turn

	// The following belong to who has the turn.
	cursor  int64     // in its output: where the next answer begins
	errors  int64     // in its errors: up to where they were returned
	running string    // the command that is not answered yet; "": none is
	since   time.Time // that it runs
	part    answer    // of its answer
}

// An answer is the output of a command, as far as there is room for it.
type answer struct {
	output []byte
	total  int64 // bytes in all, without the NUL
	from   int64 // the cursor of the first one
}

// end ends an answer.
var end = regexp.MustCompile(`\x00`)

// The program's streams.
const (
	stdout = "stdout"
	stderr = "stderr"
)

// step is how much output is read at a time where it is only counted.
const step = 64 << 10

// take takes the turn, or says who has it.
func (p *program) take() error {
	select {
	case p.turn <- struct{}{}:
		return nil
	default:
		return p.busy("another call waits for the answer to its command: wait for that call")
	}
}

func (p *program) leave() { <-p.turn }

func (p *program) busy(why string) error {
	return &term.Error{Session: p.s.ID(), Kind: term.Busy, Msg: why}
}

// still is the error about a command that is not answered.
func (p *program) still() error {
	return p.busy(fmt.Sprintf("the command %q still runs, since %.1f s, with %d bytes of output so far; call with session_id "+
		"alone to wait for its answer, or end the program with r2_close", shorten(p.running, 80), time.Since(p.since).Seconds(), p.part.total))
}

// await reads up to the next NUL, for at most wait, and keeps the first most bytes. done is false if it has not come.
func (p *program) await(ctx context.Context, wait time.Duration, most int) (done bool, err error) {
	deadline := time.Now().Add(wait)
	for {
		r := session.ReadRequest{Cursor: p.cursor, Until: end, MaxBytes: step, ExcludeMatch: true}
		k, err := p.s.ReadExec(ctx, p.exec, stdout, r.Within(time.Until(deadline)))
		if err != nil {
			return false, err
		}
		if k.Reason == session.ReasonLimit {
			return false, p.s.TooManyReads()
		}
		p.add(k, most)
		switch {
		case k.Reason == session.ReasonMatched:
			return true, nil
		case k.EOF:
			return false, p.gone(ctx)
		case ctx.Err() != nil:
			return false, &term.Error{
				Session: p.s.ID(), Kind: term.Canceled, Err: ctx.Err(),
				Msg: term.CanceledMsg(ctx, "the call was canceled; the command goes on"),
			}
		case !time.Now().Before(deadline):
			return false, nil
		}
	}
}

// add adds output to the answer. Behind output that was no longer held, or had no room, nothing is kept.
func (p *program) add(k session.Chunk, most int) {
	a := &p.part
	if room := most - len(a.output); k.Dropped == 0 && int64(len(a.output)) == a.total && room > 0 {
		a.output = append(a.output, k.Data[:min(len(k.Data), room)]...)
	}
	a.total += k.Dropped + int64(len(k.Data))
	p.cursor = k.Next
}

// gone is the error about a program that has ended.
func (p *program) gone(ctx context.Context) error {
	why := ""
	if said := p.said(ctx, 512); said != "" {
		why = "; it says " + said
	}
	return &term.Error{
		Session: p.s.ID(), Kind: term.RemoteClosed, Msg: "the program has ended" + why + "; open the file again with r2_open",
	}
}

// said returns what the program has written to its errors since the last call, at most so many bytes of its end.
func (p *program) said(ctx context.Context, most int) string {
	k, err := p.s.ReadExec(ctx, p.exec, stderr, session.ReadRequest{Cursor: p.errors, MaxBytes: step, NoWait: true})
	if err != nil || len(k.Data) == 0 {
		return ""
	}
	p.errors = k.Next
	text, _ := p.s.CleanText(k.Data)
	text = bytes.TrimSpace(text)
	return string(bytes.ToValidUTF8(text[max(0, len(text)-most):], nil))
}

// stray skips output that no command has asked for, and returns how much it was: an answer with a NUL of its own ends there
// for the protocol, and its rest would be taken for the answer to the next command.
func (p *program) stray(ctx context.Context) (n int64) {
	for {
		k, err := p.s.ReadExec(ctx, p.exec, stdout, session.ReadRequest{Cursor: p.cursor, MaxBytes: step, NoWait: true})
		if err != nil || k.Next == p.cursor {
			return n
		}
		n += k.Next - p.cursor
		p.cursor = k.Next
	}
}
