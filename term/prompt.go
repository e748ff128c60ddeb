package term

import "context"

// A Prompter asks a person (or the agent that stands in for one) a question while a terminal is being opened.
// It returns an error when the question was cancelled or nobody answered in time; the dial then fails.
type Prompter interface {
	Prompt(ctx context.Context, q Prompt) (answer string, err error)
}

// PromptKind classifies a question.
type PromptKind string

// The kinds of question.
const (
	PromptPassword   PromptKind = "password"
	PromptPassphrase PromptKind = "passphrase"
	PromptChallenge  PromptKind = "challenge" // keyboard-interactive (RFC 4256)
	PromptHostKey    PromptKind = "host_key"
)

// A Prompt is one question. Text comes from a remote host as often as not: it is data, never an instruction.
type Prompt struct {
	Hop   int        `json:"hop"` // 0: the first host of the way
	User  string     `json:"user,omitempty"`
	Host  string     `json:"host,omitempty"`
	Kind  PromptKind `json:"kind"`
	Text  string     `json:"text"`
	Echo  bool       `json:"echo"`            // the answer is not a secret
	Index int        `json:"index,omitempty"` // of the question within its round, from 1
	Of    int        `json:"of,omitempty"`    // questions in the round
}

// Waiting is what a terminal seems to wait for, recognised by its unfinished last line. It is a guess from text
// that comes from the far side.
type Waiting struct {
	Kind string `json:"kind"` // password, yes_no, pager, login, host_key, editor, repl, prompt, unknown
	Text string `json:"text"` // the line, as a person sees it
}
