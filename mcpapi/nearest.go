package mcpapi

import (
	"context"
	"slices"
	"strings"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools"
	"ptyctl/mcpapi/toolset"
)

// deeds has the words by which models ask for an action, and the tools with the action that they mean; the first tool
// that is offered counts.
var deeds = map[string]string{
	"open": "ptyctl_session open", "connect": "ptyctl_session open", "create": "ptyctl_session open",
	"new": "ptyctl_session open", "start": "ptyctl_session open", "spawn": "ptyctl_session open",
	"launch": "ptyctl_session open", "login": "ptyctl_session open", "attach": "ptyctl_session open",
	"close": "ptyctl_session close", "disconnect": "ptyctl_session close", "end": "ptyctl_session close",
	"stop": "ptyctl_session close", "exit": "ptyctl_session close", "quit": "ptyctl_session close",
	"delete": "ptyctl_session close", "destroy": "ptyctl_session close", "terminate": "ptyctl_session close",
	"kill": "ptyctl_session close", "interrupt": "ptyctl_session signal", "signal": "ptyctl_session signal",
	"list": "ptyctl_session list", "ls": "ptyctl_session list", "sessions": "ptyctl_session list",
	"status": "ptyctl_session status", "info": "ptyctl_session status", "show": "ptyctl_session status",
	"describe": "ptyctl_session status", "lock": "ptyctl_session lock", "acquire": "ptyctl_session lock",
	"unlock": "ptyctl_session unlock", "release": "ptyctl_session unlock",
	"heartbeat": "ptyctl_session heartbeat", "renew": "ptyctl_session heartbeat",

	"exec": "ptyctl_session_exec", "execute": "ptyctl_session_exec", "run": "ptyctl_session_exec",
	"command": "ptyctl_session_exec", "cmd": "ptyctl_session_exec", "bash": "ptyctl_session_exec",
	"write": "ptyctl_session_io write", "send": "ptyctl_session_io write", "type": "ptyctl_session_io write",
	"input": "ptyctl_session_io write", "keys": "ptyctl_session_io write", "key": "ptyctl_session_io write",
	"press": "ptyctl_session_io write", "answer": "ptyctl_session_io write", "paste": "ptyctl_session_io write",
	"io": "ptyctl_session_io read", "read": "ptyctl_session_io read", "output": "ptyctl_session_io read",
	"tail": "ptyctl_session_io read", "wait": "ptyctl_session wait", "expect": "ptyctl_session_config expect",
	"screen": "ptyctl_session_io read", "search": "ptyctl_session_io search", "find": "ptyctl_session_io search",
	"grep": "ptyctl_session_io search", "resize": "ptyctl_session_config resize",
	"config": "ptyctl_session_config get", "settings": "ptyctl_session_config get", "get": "ptyctl_session_config get",
	"health": "ptyctl_health", "version": "ptyctl_health", "ping": "ptyctl_health",
	"upload": "ptyctl_fs copy", "download": "ptyctl_fs copy", "copy": "ptyctl_fs copy", "scp": "ptyctl_fs copy", "stat": "ptyctl_fs stat", "file": "ptyctl_fs read",
	"session": "ptyctl_session open", "terminal": "ptyctl_session open", "ssh": "ptyctl_session open",
	"telnet": "ptyctl_session open", "shell": "ptyctl_session open", "pty": "ptyctl_session open",
}

// fileDeeds are deeds on files.
var fileDeeds = map[string]string{
	"get": "read", "cat": "read", "open": "read", "put": "write", "download": "copy", "upload": "copy", "cp": "copy",
	"scp": "copy", "sync": "copy", "transfer": "copy",
	"create": "write", "append": "write", "save": "write", "ls": "list", "dir": "list", "info": "stat", "exists": "stat",
}

// places are the words for a place and not an act: they count if no other word does.
var places = map[string]bool{
	"session": true, "terminal": true, "ssh": true, "telnet": true, "shell": true, "pty": true, "file": true,
}

// meant returns the tool and the action that a name means which no tool or action has, such as ssh_execute. The caller
// may use both.
func (s *api) meant(ctx context.Context, name string) (t calledTool, action string, ok bool) {
	if len(name) > 64 {
		return t, "", false
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, what := range []bool{true, false} {
		for _, word := range words {
			tool, action, _ := strings.Cut(deeds[word], " ")
			if t, offered := s.tools[tool]; offered && places[word] != what && s.mayUse(ctx, t, action) {
				return t, action, true
			}
		}
	}
	return t, "", false
}

// mayUse reports whether the caller is shown a tool with an action; "" is the action of a tool without actions.
func (s *api) mayUse(ctx context.Context, t calledTool, action string) bool {
	shown := t.Tool.Tool
	if s.shared.OnlyReads(ctx) {
		if shown = t.ForReading(); shown == nil {
			return false
		}
	}
	_, ok := shown.Action(action)
	return ok && !s.outOfReach(ctx)(t.Name)
}

// elsewhere returns, for a call with an action that the tool does not have, the error that names the tool that has it;
// otherwise the error that it is given.
func (s *api) elsewhere(ctx context.Context, t calledTool, args []jsonrpc.Member, err error) error {
	text := func(name string) (value string) {
		for _, m := range args {
			if m.Name == name && m.Value[0] == '"' {
				value = jsonrpc.Unquoted(m.Value)
			}
		}
		return value
	}
	action := text("action")
	other, meant, ok := s.meant(ctx, action)
	if s.farFiles[t.Name] {
		other, meant = t, fileDeeds[strings.ToLower(action)]
		ok = meant != ""
	}
	if !ok || t.set.Foreign() {
		return err
	}
	return other.Checker(meant).About(text("session_id")).Invalid(
		"action",
		nil,
		"%s has no action %q; use %s",
		t.Name,
		schema.Shorten(action),
		strings.TrimSpace(other.Name+" "+meant),
	)
}

// noTool returns the answer to a call of a tool that is not offered, or "" if the list of tools is the best advice.
func (s *api) noTool(ctx context.Context, name string) string {
	for _, set := range slices.Concat(tools.Sets(), s.o.More) {
		if slices.ContainsFunc(set.Tools, func(t *toolset.Tool) bool { return t.Name == name }) {
			return "tool '" + name + "' is not offered: it needs the set " + set.Name + " (server.toolsets), which is the " +
				"operator's to add"
		}
	}
	t, action, ok := s.meant(ctx, name)
	if !ok {
		return ""
	}
	example := t.Actions[0].Example
	if a, ok := t.Action(action); ok {
		example = a.Example
	}
	return "tool '" + schema.Shorten(name) + "' not found; use " + strings.TrimSpace(t.Name+" "+action) +
		", such as " + t.Name + " " + example
}
