package mcpapi

import "ptyctl/session"

var ioTool = tool{
	name:  "ptyctl_session_io",
	title: "Type and read",
	about: "Type into a terminal and read what it shows. Reads never take output away from anyone. Do not poll: give until_regex or until_idle_ms, and read from the cursor that write returned, or pass them to write itself.",
	actions: []action{
		{name: "write", about: "type data or press a key. Lines end with \\r. Returns the cursor to read the answer from.", example: `{"action":"write","session_id":"web1-k3f9q2zd","data":"ls\r","until_idle_ms":300}`},
		{name: "read", about: "return what follows cursor (default: only what is new from now on), or mode tail for the end of the screen's history.", example: `{"action":"read","session_id":"web1-k3f9q2zd","cursor":"0","until_regex":"\\$ $"}`},
	},
	fields: []field{
		{name: "session_id", kind: kindString, about: "which session", required: everyAction, nonEmpty: true},
		{name: "data", kind: kindString, about: "[write] text; this or key", actions: onlyWrite},
		{name: "key", kind: kindString, about: "[write]", enum: session.KeyNames(), actions: onlyWrite},
		{name: "sensitive", kind: kindBoolean, about: "[write] keep it out of every record", actions: onlyWrite},
		{name: "task_id", kind: kindString, about: "[write] your name for locks", actions: onlyWrite, nonEmpty: true},
		{name: "encoding", kind: kindString, about: "of data and chunk", enum: encodings},
		{name: "cursor", kind: kindString, about: "[read] where to start: a next_cursor, or 0", actions: onlyRead, nonEmpty: true},
		{name: "mode", kind: kindString, enum: []string{"cursor", "tail"}, actions: onlyRead},
		{name: "timeout_ms", kind: kindInteger, about: "longest wait; default 2000", max: 1 << 40},
		{name: "max_bytes", kind: kindInteger, about: "default 16384", min: 1, max: 1 << 40},
		{name: "max_lines", kind: kindInteger, about: "[read] tail only", actions: onlyRead, min: 1},
		{name: "until_regex", kind: kindString, about: "wait for this (RE2)", nonEmpty: true},
		{name: "include_match", kind: kindBoolean, about: "default true"},
		{name: "until_idle_ms", kind: kindInteger, about: "wait for quiet of this length", min: 1, max: 1 << 40},
		{name: "input_hints", kind: kindObject, about: "wait for a question", fields: []field{
			{name: "wait_for_regexes", kind: kindStrings, about: "tried on the unfinished last line"},
		}},
		{name: "exec_id", kind: kindString, about: "[read] of this exec", actions: onlyRead, nonEmpty: true},
		{name: "stream", kind: kindString, about: "[read] of exec_id", enum: []string{"stdout", "stderr"}, actions: onlyRead},
		{name: "format", kind: kindString, enum: []string{"raw", "clean"}, later: map[string]string{"clean": "leave it out; the output is raw"}},
		requestIDField(onlyWrite),
	},
	output: []field{
		{name: "action", kind: kindString}, {name: "bytes_written", kind: kindInteger}, {name: "bytes_pending", kind: kindInteger}, {name: "write_timed_out", kind: kindBoolean}, {name: "cursor", kind: kindString},
		{name: "chunk", kind: kindString}, {name: "encoding", kind: kindString}, {name: "next_cursor", kind: kindString},
		{name: "buffer_start_cursor", kind: kindString}, {name: "buffer_end_cursor", kind: kindString},
		{name: "matched", kind: kindBoolean}, {name: "idle_reached", kind: kindBoolean}, {name: "timed_out", kind: kindBoolean},
		{name: "eof", kind: kindBoolean}, {name: "waiting_for_input", kind: kindBoolean}, {name: "truncated", kind: kindBoolean},
		{name: "dropped_bytes", kind: kindInteger}, {name: "buffered_bytes", kind: kindInteger}, {name: "buffer_limit_bytes", kind: kindInteger},
		{name: "state", kind: kindString}, {name: "prompt", kind: kindObject}, {name: "warnings", kind: kindStrings},
	},
	hints: hints{destructive: true, openWorld: true},
}

var (
	onlyRead  = []string{"read"}
	onlyWrite = []string{"write"}
)
