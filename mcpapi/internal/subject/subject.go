// Package subject finds out which terminal or files a call of a tool is about, so that calls keep their order.
package subject

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"ptyctl/internal/inorder"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/schema"
	"ptyctl/term"
)

// Of returns what a call of the tool with these arguments, which are valid JSON, is about: the terminal that it types
// into, or the files that it reads or writes. All other calls keep no order.
func Of(t *schema.Tool, arguments json.RawMessage) []inorder.Subject {
	a, args, err := t.Split(arguments)
	if err != nil {
		return nil
	}
	switch verb := cmp.Or(a.Verb, term.Verb(a.Name)); verb {
	case term.VerbFileRead, term.VerbFileWrite:
		about := file(nil, args, verb == term.VerbFileRead)
		for _, m := range args {
			if m.Name != "from" && m.Name != "to" {
				continue
			}
			if end := schema.Object(m.Value); end[0] == '{' {
				about = file(about, jsonrpc.Split(end), m.Name == "from")
			}
		}
		return about
	case term.VerbWrite, term.VerbExec:
		id := text(args, "session_id", "id")
		if id != "" && text(args, "exec_id") == "" { // to wait for a command that runs is no input
			return []inorder.Subject{{Name: id}}
		}
	}
	return nil
}

// file adds the file that the arguments name.
func file(to []inorder.Subject, args []jsonrpc.Member, reads bool) []inorder.Subject {
	p := text(args, "path")
	if p == "" {
		return to
	}
	p = path.Clean(p)
	if home, ok := strings.CutPrefix(p, "~/"); ok {
		p = home
	}
	return append(to, inorder.Subject{Name: text(args, "session_id", "host"), Path: p, Reads: reads})
}

// text returns the first of the arguments with these names that is a string with text in it, or "".
func text(args []jsonrpc.Member, names ...string) string {
	for _, m := range args {
		if slices.Contains(names, m.Name) && m.Value[0] == '"' {
			if value := jsonrpc.Unquoted(m.Value); value != "" {
				return value
			}
		}
	}
	return ""
}
