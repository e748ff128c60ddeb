package mcpapi

import (
	"ptyctl/session/keys"
)

var ioTool = Tool{
	Name:    "ptyctl_session_io",
	Title:   "Type and read",
	About:   "Type into a terminal and read what it shows. Reads take nothing away from anyone. Do not poll: give until_regex or until_idle_ms to read, from the cursor that write returned, or to write itself.",
	Reading: "Read what a terminal shows. Reads take nothing away from anyone. Do not poll: give until_regex or until_idle_ms, and the next_cursor of the last read.",
	Actions: []Action{
		{
			Name:    "write",
			About:   "type data or press a key; lines end with \\r.",
			Example: `{"action":"write","session_id":"web1-k3f9q2zd","data":"ls\r","until_idle_ms":300}`,
		},
		{
			Name:    "read",
			About:   "what follows cursor (default: only what is new), or mode tail for the end.",
			Example: `{"action":"read","session_id":"web1-k3f9q2zd","cursor":"0","until_regex":"\\$ $"}`,
			Reads:   true,
		},
		{
			Name:    "search",
			About:   "find pattern in the output still held.",
			Example: `{"action":"search","session_id":"web1-k3f9q2zd","pattern":"(?i)error"}`,
			Reads:   true,
		},
	},
	Fields: []Field{
		{Name: "session_id", Kind: KindString, Required: everyAction, NonEmpty: true},
		{Name: "data", Kind: KindString, About: "[write] text; this or key", Actions: onlyWrite},
		{Name: "key", Kind: KindString, About: "[write] " + keys.List, Actions: onlyWrite, NonEmpty: true},
		{Name: "paste", Kind: KindBoolean, About: "[write] data as one paste, not as keys", Actions: onlyWrite},
		{Name: "sensitive", Kind: KindBoolean, About: "[write] keep it out of every record", Actions: onlyWrite},
		{Name: "task_id", Kind: KindString, About: "[write] your name for locks", Actions: onlyWrite, NonEmpty: true},
		{Name: "encoding", Kind: KindString, About: "of data and chunk", Enum: encodings, Actions: readOrWrite},
		{Name: "cursor", Kind: KindString, About: "where to start: a next_cursor, or 0", Actions: []string{"read", "search"}, NonEmpty: true},
		{Name: "mode", Kind: KindString, Enum: []string{"cursor", "tail"}, Actions: onlyRead},
		{Name: "timeout_ms", Kind: KindInteger, About: "longest wait; default 2000", Actions: readOrWrite, Max: 1 << 40},
		{Name: "max_bytes", Kind: KindInteger, About: "default 16384", Actions: readOrWrite, Min: 1, Max: 1 << 40},
		{Name: "max_lines", Kind: KindInteger, About: "[read] tail only", Actions: onlyRead, Min: 1},
		{Name: "until_regex", Kind: KindString, About: "wait for this (RE2)", Actions: readOrWrite, NonEmpty: true},
		{Name: "include_match", Kind: KindBoolean, About: "default true", Actions: readOrWrite},
		{Name: "until_idle_ms", Kind: KindInteger, About: "wait for quiet of this length", Actions: readOrWrite, Min: 1, Max: 1 << 40},
		{Name: "input_hints", Kind: KindObject, About: "wait for a question", Actions: readOrWrite, Fields: []Field{
			{Name: "wait_for_regexes", Kind: KindStrings, About: "tried on the unfinished last line"},
		}},
		{Name: "exec_id", Kind: KindString, About: "[read] of this exec", Actions: onlyRead, NonEmpty: true},
		{Name: "stream", Kind: KindString, About: "[read] of exec_id", Enum: []string{"stdout", "stderr"}, Actions: onlyRead},
		{Name: "format", Kind: KindString, About: "clean: escape sequences removed", Enum: []string{"raw", "clean"}, Actions: readOrWrite},
		{Name: "pattern", Kind: KindString, About: "[search] RE2", Actions: onlySearch, Required: onlySearch, NonEmpty: true},
		{Name: "ignore_case", Kind: KindBoolean, Actions: onlySearch},
		{Name: "context", Kind: KindInteger, About: "[search] lines around", Actions: onlySearch, Max: 50},
		{Name: "max_matches", Kind: KindInteger, About: "[search] default 50", Actions: onlySearch, Min: 1, Max: 1000},
		requestIDField(onlyWrite),
	},
	Output: []Field{
		{Name: "action", Kind: KindString, Unlisted: true},
		{Name: "bytes_written", Kind: KindInteger},
		{Name: "bytes_pending", Kind: KindInteger, Unlisted: true},
		{Name: "write_timed_out", Kind: KindBoolean, Unlisted: true},
		{Name: "cursor", Kind: KindString},
		{Name: "chunk", Kind: KindString},
		{Name: "encoding", Kind: KindString},
		{Name: "next_cursor", Kind: KindString},
		{Name: "buffer_start_cursor", Kind: KindString, Unlisted: true},
		{Name: "buffer_end_cursor", Kind: KindString, Unlisted: true},
		{Name: "matched", Kind: KindBoolean},
		{Name: "idle_reached", Kind: KindBoolean, Unlisted: true},
		{Name: "timed_out", Kind: KindBoolean},
		{Name: "eof", Kind: KindBoolean},
		{Name: "waiting_for_input", Kind: KindBoolean},
		{Name: "truncated", Kind: KindBoolean},
		{Name: "dropped_bytes", Kind: KindInteger},
		{Name: "buffered_bytes", Kind: KindInteger, Unlisted: true},
		{Name: "buffer_limit_bytes", Kind: KindInteger, Unlisted: true},
		{Name: "waiting_for", Kind: KindObject},
		{Name: "sanitized", Kind: KindObject, Unlisted: true},
		{Name: "lines", Kind: KindObjects},
		{Name: "matches", Kind: KindInteger, Unlisted: true},
		{Name: "more", Kind: KindBoolean, Unlisted: true},
		{Name: "state", Kind: KindString},
		{Name: "prompt", Kind: KindObject},
		{Name: "warnings", Kind: KindStrings, Unlisted: true},
	},
	Hints: Hints{Destructive: true, OpenWorld: true},
}

var (
	onlyRead  = []string{"read"}
	onlyWrite = []string{"write"}

	readOrWrite = []string{"read", "write"}
	onlySearch  = []string{"search"}
)
