package pty

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// spawn opens a local session for the command. The size of 120x40 and the terminal type
// xterm-256color are those of the PTY MCP server.
func (s *set) spawn(ctx context.Context, c *toolset.Call, in *spawnArgs) (any, error) {
	local := term.LocalOptions{Argv: slices.Concat([]string{in.Command}, in.Args), Dir: in.Workdir, Title: in.Title}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		if name == "" || strings.Contains(name, "=") {
			return nil, c.Invalid(
				"env",
				fmt.Sprintf("env has the name %q; a name is not empty and holds no =", cut(name, maxShown)),
			)
		}
		local.Env = append(local.Env, term.EnvVar{Name: name, Value: in.Env[name]})
	}
	if len(in.Title) > maxTitle || strings.ContainsFunc(in.Title, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, c.Invalid("title", fmt.Sprintf("title must be one line of at most %d bytes", maxTitle))
	}
	o := c.Limits()
	c.Waits("the program to start", nil)
	opened, err := c.Open(ctx, session.OpenRequest{
		Target: term.Target{
			Protocol: "local",
			Local:    local,
			PTY:      term.PTY{Term: "xterm-256color", Cols: 120, Rows: 40},
		},
		ID: toolset.FreshID(c, newID), BufferLines: s.lines, BufferBytes: s.lines * lineBytes, Wait: o.MaxWait,
	})
	if err != nil {
		return nil, notStarted(err, in.Command)
	}
	v := s.terminals.add(opened.Session, c.Listed).view(opened.Session.Info())
	return wire.Answer{Text: v.spawned()}, nil
}

// maxTitle is the most bytes of a title. Every list of sessions shows it, so it must stay
// short.
const maxTitle = 256

// spawned returns the result of pty_spawn.
func (v view) spawned() string {
	return element(
		"pty_spawned",
		"ID: "+v.id,
		"Title: "+v.title,
		"Command: "+v.command,
		"Workdir: "+v.workdir,
		fmt.Sprintf("PID: %d", v.pid),
		"Status: "+string(v.status),
	)
}

// notStarted adds the command to an error about the system or the arguments. The message
// starts like that of those servers. Refusals keep their own message.
func notStarted(err error, command string) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind != term.InvalidArgument && e.Kind != term.IOError {
		return err
	}
	about := *e
	about.Msg = fmt.Sprintf(`Failed to execute command "%s": %s`, visible(cut(command, maxShown)), wire.Plain(e))
	return &about
}
