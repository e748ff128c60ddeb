package mcpapi

import "ptyctl/session"

var ioTool = tool{
	name:    "ptyctl_session_io",
	title:   "Type and read",
	about:   "Type into a terminal and read what it shows. Reads take nothing away from anyone. Do not poll: give until_regex or until_idle_ms to read, from the cursor that write returned, or to write itself.",
	reading: "Read what a terminal shows. Reads take nothing away from anyone. Do not poll: give until_regex or until_idle_ms, and the next_cursor of the last read.",
	actions: []action{
		{name: "write", about: "type data or press a key; lines end with \\r.", example: `{"action":"write","session_id":"web1-k3f9q2zd","data":"ls\r","until_idle_ms":300}`},
		{name: "read", about: "what follows cursor (default: only what is new), or mode tail for the end.", example: `{"action":"read","session_id":"web1-k3f9q2zd","cursor":"0","until_regex":"\\$ $"}`, reads: true},
		{name: "search", about: "find pattern in the output still held.", example: `{"action":"search","session_id":"web1-k3f9q2zd","pattern":"(?i)error"}`, reads: true},
	},
	fields: []field{
		{name: "session_id", kind: kindString, required: everyAction, nonEmpty: true},
		{name: "data", kind: kindString, about: "[write] text; this or key", actions: onlyWrite},
		{name: "key", kind: kindString, about: "[write] " + session.KeyList, actions: onlyWrite, nonEmpty: true},
		{name: "paste", kind: kindBoolean, about: "[write] data as one paste, not as keys", actions: onlyWrite},
		{name: "sensitive", kind: kindBoolean, about: "[write] keep it out of every record", actions: onlyWrite},
		{name: "task_id", kind: kindString, about: "[write] your name for locks", actions: onlyWrite, nonEmpty: true},
		{name: "encoding", kind: kindString, about: "of data and chunk", enum: encodings, actions: readOrWrite},
		{name: "cursor", kind: kindString, about: "where to start: a next_cursor, or 0", actions: []string{"read", "search"}, nonEmpty: true},
		{name: "mode", kind: kindString, enum: []string{"cursor", "tail"}, actions: onlyRead},
		{name: "timeout_ms", kind: kindInteger, about: "longest wait; default 2000", actions: readOrWrite, max: 1 << 40},
		{name: "max_bytes", kind: kindInteger, about: "default 16384", actions: readOrWrite, min: 1, max: 1 << 40},
		{name: "max_lines", kind: kindInteger, about: "[read] tail only", actions: onlyRead, min: 1},
		{name: "until_regex", kind: kindString, about: "wait for this (RE2)", actions: readOrWrite, nonEmpty: true},
		{name: "include_match", kind: kindBoolean, about: "default true", actions: readOrWrite},
		{name: "until_idle_ms", kind: kindInteger, about: "wait for quiet of this length", actions: readOrWrite, min: 1, max: 1 << 40},
		{name: "input_hints", kind: kindObject, about: "wait for a question", actions: readOrWrite, fields: []field{
			{name: "wait_for_regexes", kind: kindStrings, about: "tried on the unfinished last line"},
		}},
		{name: "exec_id", kind: kindString, about: "[read] of this exec", actions: onlyRead, nonEmpty: true},
		{name: "stream", kind: kindString, about: "[read] of exec_id", enum: []string{"stdout", "stderr"}, actions: onlyRead},
		{name: "format", kind: kindString, about: "clean: escape sequences removed", enum: []string{"raw", "clean"}, actions: readOrWrite},
		{name: "pattern", kind: kindString, about: "[search] RE2", actions: onlySearch, required: onlySearch, nonEmpty: true},
		{name: "ignore_case", kind: kindBoolean, actions: onlySearch},
		{name: "context", kind: kindInteger, about: "[search] lines around", actions: onlySearch, max: 50},
		{name: "max_matches", kind: kindInteger, about: "[search] default 50", actions: onlySearch, min: 1, max: 1000},
		requestIDField(onlyWrite),
	},
	output: []field{
		{name: "action", kind: kindString, unlisted: true},
		{name: "bytes_written", kind: kindInteger},
		{name: "bytes_pending", kind: kindInteger, unlisted: true},
		{name: "write_timed_out", kind: kindBoolean, unlisted: true},
		{name: "cursor", kind: kindString},
		{name: "chunk", kind: kindString},
		{name: "encoding", kind: kindString},
		{name: "next_cursor", kind: kindString},
		{name: "buffer_start_cursor", kind: kindString, unlisted: true},
		{name: "buffer_end_cursor", kind: kindString, unlisted: true},
		{name: "matched", kind: kindBoolean},
		{name: "idle_reached", kind: kindBoolean, unlisted: true},
		{name: "timed_out", kind: kindBoolean},
		{name: "eof", kind: kindBoolean},
		{name: "waiting_for_input", kind: kindBoolean},
		{name: "truncated", kind: kindBoolean},
		{name: "dropped_bytes", kind: kindInteger},
		{name: "buffered_bytes", kind: kindInteger, unlisted: true},
		{name: "buffer_limit_bytes", kind: kindInteger, unlisted: true},
		{name: "waiting_for", kind: kindObject},
		{name: "sanitized", kind: kindObject, unlisted: true},
		{name: "lines", kind: kindObjects},
		{name: "matches", kind: kindInteger, unlisted: true},
		{name: "more", kind: kindBoolean, unlisted: true},
		{name: "state", kind: kindString},
		{name: "prompt", kind: kindObject},
		{name: "warnings", kind: kindStrings, unlisted: true},
	},
	hints: hints{destructive: true, openWorld: true},
}

var (
	onlyRead  = []string{"read"}
	onlyWrite = []string{"write"}

	readOrWrite = []string{"read", "write"}
	onlySearch  = []string{"search"}
)
