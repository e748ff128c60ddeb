package paste

import (
	"context"
	"fmt"

	"ptyctl/internal/scrub"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// Out is the member pasted of a result: how far the lines went. Lines count from 1.
type Out struct {
	Lines int `json:"lines" compact:"keep"`
	Taken int `json:"taken" compact:"keep"` // answered by the far side: the first ones
	Typed int `json:"typed,omitempty"`      // lines that went out, if that is another number: the last of them may have been taken

	Stopped   session.PasteStop `json:"stopped,omitempty"`
	StoppedAt int               `json:"stopped_at,omitempty"`
	Line      string            `json:"line,omitempty"`       // at which it stopped, without what looks like a secret
	Answer    string            `json:"answer,omitempty"`     // to it
	HalfTyped bool              `json:"half_typed,omitempty"` // a part of the last line typed is in the terminal, not entered
	Error     *wire.Failure     `json:"error,omitempty"`      // refused, taken

	Refused        int      `json:"refused,omitempty"` // lines that were answered with an error
	Answers        []Answer `json:"answers,omitempty"`
	AnswersOmitted int      `json:"answers_omitted,omitempty"` // or cut
}

// An Answer is the far side's, to a line.
type Answer struct {
	Line    int    `json:"line"`
	Sent    string `json:"sent"` // without what looks like a secret
	Answer  string `json:"answer"`
	Refused bool   `json:"refused,omitempty"`
}

// New returns the member of a result for a command of several lines, beside its output; nil for another command.
func New(ctx context.Context, r *session.PasteResult) *Out {
	if r == nil {
		return nil
	}
	return newOut(ctx, r)
}

func newOut(ctx context.Context, r *session.PasteResult) *Out {
	if r == nil { // it has not begun
		return &Out{}
	}
	out := &Out{
		Lines: r.Lines, Taken: r.Taken, Stopped: r.Stopped, StoppedAt: r.At, Line: scrub.Text(r.Line), Answer: said(r.Line, r.Answer),
		HalfTyped: r.Half && r.Stopped != "", Refused: r.Errors,
	}
	if r.Typed != r.Taken && r.Stopped != "" {
		out.Typed = r.Typed
	}
	if r.Err != nil {
		f := wire.NewFailure(ctx, r.Err)
		if term.FactOf[term.Denial](r.Err).Consent != nil {
			f.Message += "; no person was asked, because the call has done more: write this line in a call of its own"
		}
		out.Error = &f
	}
	return out
}

// with adds the answers, as far as there is room for them. One that is beside it is not repeated.
func (out *Out) with(r *session.PasteResult, room int) *Out {
	if r == nil {
		return out
	}
	out.AnswersOmitted = r.Omitted
	for _, a := range r.Answers {
		if a.Line == r.At && r.Stopped != "" && a.Text == r.Answer {
			continue
		}
		one := Answer{Line: a.Line, Sent: scrub.Text(a.Sent), Answer: said(a.Sent, a.Text), Refused: a.Error}
		if room -= len(one.Sent) + len(one.Answer); room < 0 {
			out.AnswersOmitted++
			continue
		}
		out.Answers = append(out.Answers, one)
	}
	return out
}

// said returns the answer to a line. Some repeat the line, with its secret.
func said(line, answer string) string {
	if scrub.Text(line) == line {
		return answer
	}
	return scrub.Text(answer)
}

// Hints returns advice about the result. exec names the command that has the answers in its output.
func (out *Out) Hints(exec string) (texts []string) {
	if out.HalfTyped {
		texts = append(texts, fmt.Sprintf("a part of line %d is in the terminal, not entered: clear it with key ctrl_u or ctrl_c",
			out.Taken+1))
	}
	if out.AnswersOmitted > 0 && exec != "" {
		texts = append(texts, fmt.Sprintf("answers are cut or have no room here (%d): ptyctl_session_io read with exec_id %s and "+
			"cursor 0 has all", out.AnswersOmitted, exec))
	}
	return texts
}
