package r2

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// openArgs are the arguments of r2_open.
type openArgs struct {
	File      string `json:"file" need:"*" is:"filled" doc:"path of the binary"`
	Load      bool   `json:"load" doc:"read symbols and sections; default: the option -nn" eg:"'load':true"`
	Cwd       string `json:"cwd" is:"filled" doc:"directory" eg:"'cwd':'/srv/samples'"`
	TimeoutMS int64  `json:"timeout_ms" min:"1" max:"1<<40" doc:"milliseconds until it is ready" eg:"'timeout_ms':30000"`
	TaskID    string `json:"task_id" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
}

// opened is the result of r2_open.
type opened struct {
	SessionID string   `json:"session_id" is:"listed"`
	Argv      []string `json:"argv"`
	Said      string   `json:"stderr,omitempty"` // its end
	Warnings  []string `json:"warnings,omitempty"`
}

// flags are the flags for the protocol, and for output without colours and prompts.
var flags = []string{"-q0", "-e", "scr.color=false", "-e", "scr.prompt=false"}

// open starts the program, and waits until it is ready.
func (s *Set) open(ctx context.Context, c *toolset.Call, in *openArgs) (any, error) {
	if wrong := checkFile(in.File, s.o.Shell); wrong != "" {
		return nil, c.Invalid("file", wrong)
	}
	argv := append([]string{s.o.Program}, flags...)
	if !in.Load {
		argv = append(argv, "-nn")
	}
	argv = append(append(argv, s.o.Args...), in.File)
	wait := min(c.Limits().ExecTimeout, c.Limits().MaxWait)
	if in.TimeoutMS > 0 {
		wait = c.Millis("timeout_ms", in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms")
	}
	c.Waits("starting "+s.o.Program, nil)
	input := newFeed()
	res, err := c.Run(ctx, session.RunRequest{
		Target: term.Target{Protocol: "local", Local: term.LocalOptions{Argv: argv, Dir: in.Cwd}},
		Input:  input, Timeout: c.Limits().MaxExecTimeout, Wait: time.Millisecond,
	})
	if err != nil {
		return nil, s.notStarted(err)
	}
	if res.ID == "" || res.Exit.Known { // it has ended at once
		text := bytes.TrimSpace(append(res.Stderr.Bytes(), res.Stdout.Bytes()...))
		return nil, &term.Error{Kind: term.RemoteClosed, Msg: fmt.Sprintf("the program has ended before it was ready, with status %d; it says %q",
			res.Exit.Code, shorten(string(text), 512))}
	}
	found, err := c.Session(ctx, term.VerbOpen, res.Session)
	if err != nil {
		return nil, err
	}
	p := &program{s: found, exec: res.ID, in: input, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	defer p.leave()
	ready, err := p.meet(ctx, wait)
	if err == nil && !ready {
		err = &term.Error{Session: found.ID(), Kind: term.ExecTimeout, Msg: fmt.Sprintf(
			"the program was not ready within %s, and was ended; is it radare2 or rizin (toolsets.r2.program)? A longer timeout_ms "+
				"lets it read a large file", wait)}
	}
	if err != nil {
		found.Close(context.WithoutCancel(ctx), session.CloseOptions{})
		return nil, err
	}
	s.programs.keep(p)
	return &opened{SessionID: found.ID(), Argv: argv, Said: p.said(ctx, mostSaid), Warnings: c.Warnings()}, nil
}

// notStarted says what to do about a missing program. It replaces an error about argv, an argument that the caller has
// not given.
func (s *Set) notStarted(err error) error {
	if term.FactOf[term.ArgumentFault](err).Field != term.FieldArgv.At(0) {
		return err
	}
	return &term.Error{Kind: term.Unsupported, Err: err, Msg: fmt.Sprintf(
		"the program %q cannot be started: it is not installed, or not in the PATH of ptyctl; the operator installs radare2 or "+
			"rizin there, or sets toolsets.r2.program to the path of one", s.o.Program)}
}

// mostSaid is how much of the program's errors a result has.
const mostSaid = 2 << 10

// keep remembers a program, and forgets programs that have ended.
func (s *Programs) keep(p *program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, other := range s.byID {
		if other.s.State().Ended() {
			delete(s.byID, id)
		}
	}
	s.byID[p.s.ID()] = p
}

// get returns the program that r2_open has started in a session, or nil.
func (s *Programs) get(of *session.Session) *program {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.byID[of.ID()]; p != nil && p.s == of {
		return p
	}
	return nil
}

// program returns the program of a session, if the caller may see it.
func (s *Set) program(ctx context.Context, c *toolset.Call, id string) (*program, error) {
	found, err := c.Session(ctx, c.Verb(), id)
	if err != nil {
		return nil, err
	}
	p := s.programs.get(found)
	if p == nil { // a session of other tools
		return nil, c.Hide(ctx, c.Verb(), id)
	}
	return p, nil
}

// cmdArgs are the arguments of r2_cmd and r2_cmdj.
type cmdArgs struct {
	SessionID string `json:"session_id" need:"*" is:"filled" doc:"from r2_open"`
	Cmd       string `json:"cmd" doc:"one command; without it: wait for the one that runs" eg:"'cmd':'pdf @ main'"`
	TimeoutMS int64  `json:"timeout_ms" min:"1" max:"1<<40" doc:"milliseconds, then BUSY" eg:"'timeout_ms':50000"`
	MaxBytes  int64  `json:"max_bytes" min:"1" max:"1<<40" doc:"of output; default 65536" eg:"'max_bytes':16384"`
	TaskID    string `json:"task_id" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
}

// defaultBytes is the most output of a result if the call gives no max_bytes.
const defaultBytes = 64 << 10

// answered is the result of r2_cmd.
type answered struct {
	SessionID  string   `json:"session_id"`
	Output     string   `json:"output" is:"listed" compact:"keep"`
	Bytes      int64    `json:"output_bytes,omitempty" is:"listed"`  // of all output, if some is left out
	Omitted    int64    `json:"omitted_bytes,omitempty" is:"listed"` // from its end
	ExecID     string   `json:"exec_id,omitempty"`                   // with which ptyctl_session_io reads the rest, from NextCursor
	NextCursor string   `json:"next_cursor,omitempty"`
	Said       string   `json:"stderr,omitempty" is:"listed"`
	DurationMS int64    `json:"duration_ms"`
	Warnings   []string `json:"warnings,omitempty" is:"listed"`
}

// cmd runs a command.
func (s *Set) cmd(ctx context.Context, c *toolset.Call, in *cmdArgs) (any, error) {
	p, a, err := s.run(ctx, c, in)
	if err != nil {
		return nil, err
	}
	defer p.leave()
	text, _ := p.s.CleanText(a.output)
	out := &answered{
		SessionID: p.s.ID(), Output: string(bytes.ToValidUTF8(text, []byte("\ufffd"))), Said: p.said(ctx, mostSaid),
		DurationMS: time.Since(p.since).Milliseconds(), Warnings: c.Warnings(),
	}
	if kept := int64(len(a.output)); kept < a.total {
		out.Bytes, out.Omitted, out.ExecID, out.NextCursor = a.total, a.total-kept, p.exec, strconv.FormatInt(a.from+kept, 10)
	}
	return out, nil
}

// A printed is the result of r2_cmdj. It is JSON in every form of results.
type printed struct {
	SessionID string          `json:"session_id"`
	JSON      json.RawMessage `json:"json"`
	Said      string          `json:"stderr,omitempty"`
	Warnings  []string        `json:"warnings,omitempty"`
}

// cmdj runs a command that prints JSON.
func (s *Set) cmdj(ctx context.Context, c *toolset.Call, in *cmdArgs) (any, error) {
	p, a, err := s.run(ctx, c, in)
	if err != nil {
		return nil, err
	}
	defer p.leave()
	text := bytes.TrimSpace(a.output)
	said := p.said(ctx, mostSaid)
	if int64(len(a.output)) < a.total {
		return nil, &term.Error{Session: p.s.ID(), Kind: term.LimitExceeded, Msg: fmt.Sprintf(
			"the JSON has %d bytes, and %d were to be returned: a part of it is no JSON; give a narrower command, or a larger "+
				"max_bytes, up to %d (limits.max_read_bytes)", a.total, len(a.output), c.Limits().MaxReadBytes)}
	}
	var value json.RawMessage
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, &term.Error{Session: p.s.ID(), Kind: term.InvalidArgument, Msg: notJSON(text, said, err)}
	}
	out, err := json.Marshal(printed{SessionID: p.s.ID(), JSON: value, Said: said, Warnings: c.Warnings()})
	if err != nil {
		return nil, err
	}
	return wire.Answer{Text: string(out)}, nil
}

// notJSON returns the message about a command with output that is not JSON.
func notJSON(text []byte, said string, err error) string {
	if len(text) == 0 {
		return "the command has printed nothing, which is no JSON" + after(said) + "; commands that print it end with j, such as aflj"
	}
	at := ""
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = fmt.Sprintf(" at byte %d", e.Offset)
	}
	return fmt.Sprintf("the output is no JSON%s (%v); it begins with %q%s; commands that print it end with j, such as aflj, and r2_cmd "+
		"returns text", at, err, shorten(string(text), 120), after(said))
}

func after(said string) string {
	if said == "" {
		return ""
	}
	return fmt.Sprintf(", and to its errors %q", shorten(said, 200))
}

// run runs a command, or waits for the one that runs, and returns its whole answer. The caller has the turn then.
func (s *Set) run(ctx context.Context, c *toolset.Call, in *cmdArgs) (p *program, a answer, err error) {
	if p, err = s.program(ctx, c, in.SessionID); err != nil {
		return nil, a, err
	}
	if in.Cmd != "" {
		if wrong := check(in.Cmd, s.o.Shell); wrong != "" {
			return nil, a, c.Invalid("cmd", wrong)
		}
	}
	if err = p.take(); err != nil {
		return nil, a, err
	}
	held := p // which a return of an error takes from p
	defer func() {
		if err != nil {
			held.leave()
		}
	}()
	limits := c.Limits()
	wait := min(limits.ExecTimeout, limits.MaxWait)
	if in.TimeoutMS > 0 {
		wait = c.Millis("timeout_ms", in.TimeoutMS, limits.MaxWait, "limits.max_wait_ms")
	}
	most := min(cmp.Or(c.Lower("max_bytes", in.MaxBytes, limits.MaxReadBytes, "limits.max_read_bytes"), defaultBytes), limits.MaxReadBytes)
	if err = p.begin(ctx, c, in.Cmd); err != nil {
		return nil, a, err
	}
	inorder.Pass(ctx)
	c.Waits("the command of "+p.s.ID(), p.s)
	done, err := p.await(ctx, wait, most)
	if err == nil && !done {
		err = p.still()
	}
	if err != nil {
		return nil, a, err
	}
	a, p.part, p.running = p.part, answer{}, ""
	return p, a, nil
}

// begin sends the command, unless the call is about the one that runs.
func (p *program) begin(ctx context.Context, c *toolset.Call, cmd string) error {
	switch {
	case cmd == "" && p.running == "":
		return c.Invalid("cmd", "cmd is missing, and no command runs whose answer could be waited for")
	case cmd == "":
		return nil
	case p.running != "":
		done, err := p.await(ctx, 0, 0)
		if err != nil {
			return err
		}
		if !done {
			return p.still()
		}
		c.Inform(fmt.Sprintf("the answer to the command before, %q, came meanwhile and is left out: %d bytes", shorten(p.running, 80), p.part.total))
		p.running, p.part = "", answer{}
	}
	if n := p.stray(ctx); n > 0 {
		c.Inform(fmt.Sprintf("%d bytes of output belonged to no command and are left out: an answer with a NUL ends there", n))
	}
	err := p.s.ServerView().Feed(ctx, p.exec, append([]byte(cmd), '\n'), p.in.send)
	switch {
	case err == nil:
		p.running, p.since, p.part = cmd, time.Now(), answer{from: p.cursor}
		return nil
	case term.KindOf(err) != term.Internal:
		return err
	case p.s.State().Ended():
		return p.gone(ctx)
	}
	return &term.Error{Session: p.s.ID(), Kind: term.IOError, Msg: "the program takes no input: " + err.Error(), Err: err}
}

// closeArgs are the arguments of r2_close.
type closeArgs struct {
	SessionID string `json:"session_id" need:"*" is:"filled" doc:"from r2_open"`
	TaskID    string `json:"task_id" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
}

// closed is the result of r2_close.
type closed struct {
	SessionID     string `json:"session_id" is:"listed"`
	AlreadyClosed bool   `json:"already_closed,omitempty" is:"listed"`
}

// close ends the program, whatever it does.
func (s *Set) close(ctx context.Context, c *toolset.Call, in *closeArgs) (any, error) {
	p, err := s.program(ctx, c, in.SessionID)
	if err != nil {
		return nil, err
	}
	if err := p.s.ServerView().MayClose(ctx, false); err != nil {
		return nil, err
	}
	already := p.s.Close(ctx, session.CloseOptions{})
	_ = p.in.Close()
	return &closed{SessionID: in.SessionID, AlreadyClosed: already}, nil
}
