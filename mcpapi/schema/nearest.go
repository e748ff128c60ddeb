package schema

import (
	"slices"
	"strings"

	"ptyctl/internal/nearest"
	"ptyctl/mcpapi/jsonrpc"
)

// otherNames has the names of arguments in other programs, without case and separators, and the arguments that may be
// meant. The first one that the action takes is the right one.
var otherNames = map[string]string{
	"args": "argv", "arguments": "argv", "background": "wait_ms", "bytes": "max_bytes max_output_bytes",
	"cmd": "argv command", "columns": "cols", "command": "cmd argv", "commandline": "cmd argv command",
	"commands": "cmd argv command", "argv": "command", "executable": "argv command",
	"content": "data stdin",
	"cwd":     "workdir",
	"dir":     "cwd workdir path", "directory": "cwd workdir path", "environment": "env", "envs": "env", "expectregex": "until_regex",
	"file": "path", "filename": "path", "filepath": "path", "folder": "path cwd workdir", "from": "cursor offset",
	"handle": "session_id id", "height": "rows", "hostname": "host", "id": "session_id exec_id", "idletimeout": "until_idle_ms",
	"idle": "until_idle_ms", "input": "data stdin", "ip": "host", "ipaddress": "host", "address": "host", "keypress": "key",
	"keys": "keys key", "limit": "max_lines max_bytes limit max_matches", "line": "cmd data", "lines": "steps max_lines rows limit", "maxlines": "limit",
	"login": "username", "maxoutput": "max_output_bytes", "message": "data", "name": "title", "offset": "cursor",
	"password": "", "pattern": "until_regex match", "position": "cursor", "program": "argv command", "prompt": "until_prompt until_regex",
	"query": "pattern", "regex": "until_regex pattern match", "regexp": "until_regex pattern match", "remote": "host",
	"script": "cmd argv command", "search": "pattern match", "secret": "sensitive", "server": "host", "session": "session_id id", "sessionid": "id",
	"shell": "argv", "sid": "session_id id", "since": "cursor", "size": "max_bytes", "tail": "max_lines", "target": "host",
	"task": "task_id", "taskname": "task_id", "agentid": "task_id", "owner": "task_id", "terminal": "session_id id",
	"terminalid": "session_id id", "ptyid": "id", "text": "data stdin", "string": "data", "timeout": "timeouts.connect_timeout_ms timeout_ms",
	"timeouts": "timeout_ms", "timeoutsec": "timeout_ms", "timeoutseconds": "timeout_ms", "type": "protocol",
	"until": "until_regex", "user": "username", "value": "data", "wait": "wait_ms timeout_ms",
	"waitfor": "until_regex", "width": "cols", "workdir": "cwd", "workingdirectory": "cwd workdir", "processid": "exec_id",
	"contextlines": "context", "jump": "ssh_options.proxy_jump", "port": "host", "username": "host", "filter": "match", "grep": "match", "include": "match", "matches": "match",
	"jobid": "exec_id", "commandid": "exec_id", "signalname": "signal", "sig": "signal",
}

// instead names the argument that a call probably means by an unknown name, as a part of a message, or "".
func (c *Checker) instead(path string, fields []Field, name string) string {
	meant := c.closest(fields, name)
	switch {
	case meant != "" && path != "":
		meant = path + "." + meant
	case meant == "" && path == "":
		meant = c.within(fields, name)
	case meant == "": // a member that belongs beside the object, not in it
		if meant = c.closest(c.t.Fields, name); meant != "" {
			meant += ", which is beside " + path
		}
	}
	switch {
	case meant == "":
		return ""
	case strings.HasSuffix(meant, "_ms"):
		meant += " (milliseconds)"
	}
	return "use " + meant + "; "
}

// otherwise is instead for a name that this tool knows elsewhere, and that other programs give to another argument; "".
func (c *Checker) otherwise(path string, fields []Field, name string) string {
	if otherNames[fold(name)] == "" {
		return ""
	}
	return c.instead(path, fields, name)
}

// within returns the path of the member of an object that has the name, or "".
func (c *Checker) within(fields []Field, name string) string {
	for i := range fields {
		f := &fields[i]
		if f.Kind != KindObject || !f.Takes(c.action) {
			continue
		}
		for _, m := range f.Fields {
			if fold(m.Name) == fold(name) {
				return f.Name + "." + m.Name + ", a member of " + f.Name
			}
		}
	}
	return ""
}

// closest returns the field that the action takes and that a name means, or "".
func (c *Checker) closest(fields []Field, name string) string {
	if len(name) > 32 {
		return ""
	}
	takes := func(name string) bool {
		return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name && f.Takes(c.action) })
	}
	for candidate := range strings.FieldsSeq(otherNames[fold(name)]) {
		object, _, inside := strings.Cut(candidate, ".")
		switch {
		case inside && takes(object):
			return candidate + ", a member of " + object
		case takes(candidate):
			return candidate
		}
	}
	var taken, folded []string
	for i := range fields {
		if f := fields[i].Name; takes(f) {
			taken, folded = append(taken, f), append(folded, fold(f))
		}
	}
	name = fold(name)
	// More letters than a third make another word.
	if i := nearest.In(folded, name, len(name)/3, nearest.Letters); i >= 0 {
		return taken[i]
	}
	return ""
}

// nearestAction returns the action with nearly the given name, or "".
func (t *Tool) nearestAction(name string) string {
	if len(name) < 3 || len(name) > 32 {
		return ""
	}
	names := make([]string, len(t.Actions))
	for i, a := range t.Actions {
		names[i] = a.Name
	}
	if i := nearest.In(names, fold(name), 1, nearest.Letters); i >= 0 {
		return names[i]
	}
	return ""
}

// suits returns the action that takes all arguments of a call and needs the most of them, or "". It is the one that a
// call without an action probably means; of two, the one that only reads.
func (t *Tool) suits(given []jsonrpc.Member) string {
	if !slices.ContainsFunc(given, func(m jsonrpc.Member) bool { return m.Name != "action" }) {
		return ""
	}
	has := make(map[string]bool, len(given))
	for _, m := range given {
		has[m.Name] = m.Name != "action" && !zero(m.Value)
	}
	best, most, reads := "", -1, false
	for _, a := range t.Actions {
		needs := 0
		for i := range t.Fields {
			switch f := &t.Fields[i]; {
			case has[f.Name] && !f.Takes(a.Name), f.needs(a.Name) && !has[f.Name]:
				needs = -len(t.Fields)
			case f.needs(a.Name):
				needs++
			}
		}
		if needs > most || needs == most && a.Reads && !reads {
			best, most, reads = a.Name, needs, a.Reads
		}
	}
	return best
}
