package r2

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"ptyctl/internal/lazyregexp"
	"ptyctl/session"
	"ptyctl/term"
)

// A program is a radare2 or rizin that runs. One call at a time has its turn.
type program struct {
	s    *session.Session
	exec string // its id in the session
	in   *feed
	turn chan struct{} // holds one token: the turn

	// The holder of the turn owns the following.
	cursor  int64     // in its output: where the next answer begins
	errors  int64     // in its errors: up to where they were returned
	running string    // the command without an answer yet, or ""
	since   time.Time // when running began
	part    answer    // of its answer

	echo string // the command that prints a text, with a blank; "": not known
	mark string // the text that is to be printed behind the answer; "": the answer has no end yet
	next answer // output since the last NUL, once mark is set
}

// An answer is the output of a command, as far as there is room for it.
type answer struct {
	output []byte
	total  int64 // bytes in all, without the NUL
	from   int64 // the cursor of the first one
}

// end ends an answer.
var end = lazyregexp.New(`\x00`)

// The program's streams.
const (
	stdout = "stdout"
	stderr = "stderr"
)

// step is how much output is read at a time if it is only counted.
const step = 64 << 10

// take takes the turn, or returns an error if another call has it.
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

// await reads up to the end of the answer, for at most wait, and keeps the first most bytes. done is false if it has not
// come.
//
// Output may hold a NUL of its own, as that of raw bytes does, and its rest would be taken for the answer to the next
// command. So the program is asked for a random text once a NUL has come, and the answer ends before that text.
func (p *program) await(ctx context.Context, wait time.Duration, most int) (done bool, err error) {
	deadline := time.Now().Add(wait)
	for {
		r := session.ReadRequest{Cursor: p.cursor, Until: end.Regexp(), MaxBytes: step, ExcludeMatch: true}
		k, err := p.s.ReadExec(ctx, p.exec, stdout, r.Within(time.Until(deadline)))
		if err != nil {
			return false, err
		}
		if k.Reason == session.ReasonLimit {
			return false, p.s.TooManyReads()
		}
		p.cursor = k.Next
		if p.mark == "" {
			p.part.add(k, most)
		} else {
			p.next.add(k, most+len(p.mark)+1)
		}
		switch {
		case k.Reason == session.ReasonMatched:
			if done, err := p.ends(most); done || err != nil {
				return done, err
			}
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

// ends reports whether the NUL that has come is the end of the answer.
func (p *program) ends(most int) (bool, error) {
	switch {
	case p.echo == "":
		return true, nil
	case p.mark == "":
		p.mark = "ptyctl-" + rand.Text()
		if err := p.in.send([]byte(p.echo + p.mark + "\n")); err != nil {
			return false, &term.Error{Session: p.s.ID(), Kind: term.IOError, Msg: "the program takes no input: " + err.Error(), Err: err}
		}
		return false, nil
	case string(bytes.TrimSpace(p.next.output)) == p.mark:
		p.mark, p.next = "", answer{}
		return true, nil
	}
	p.part.join(p.next, most)
	p.next = answer{}
	return false, nil
}

// add adds output to the answer. It keeps nothing behind output that is no longer held or has no room.
func (a *answer) add(k session.Chunk, most int) {
	if k.Dropped == 0 {
		a.keep(k.Data, most)
	}
	a.total += k.Dropped + int64(len(k.Data))
}

// keep keeps output for which there is room.
func (a *answer) keep(data []byte, most int) {
	if room := most - len(a.output); int64(len(a.output)) == a.total && room > 0 {
		a.output = append(a.output, data[:min(len(data), room)]...)
	}
}

// join adds a NUL and the output after it.
func (a *answer) join(next answer, most int) {
	a.keep(append([]byte{0}, next.output...), most)
	a.total += 1 + next.total
}

// echoes are the commands that print a text: the one of radare2, and the one of newer rizin.
var echoes = []string{"?e ", "echo "}

// meet waits until the program is ready, and finds out how it prints a text.
func (p *program) meet(ctx context.Context, wait time.Duration) (ready bool, err error) {
	deadline := time.Now().Add(wait)
	if ready, err = p.await(ctx, wait, 0); !ready || err != nil {
		return ready, err
	}
	for _, echo := range echoes {
		p.part = answer{}
		mark := "ptyctl-" + rand.Text()
		if err := p.in.send([]byte(echo + mark + "\n")); err != nil {
			return false, p.gone(ctx)
		}
		if ready, err = p.await(ctx, time.Until(deadline), len(mark)+2); !ready || err != nil {
			return ready, err
		}
		if string(bytes.TrimSpace(p.part.output)) == mark {
			p.echo = echo
			break
		}
	}
	p.part = answer{}
	return true, nil
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

// said returns the program's error output since the last call, cut to at most the given number of bytes at its end.
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

// stray skips output that no command has asked for, of a program without a command that prints a text, and returns how
// much it was.
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
