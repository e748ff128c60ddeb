package mcpapi

var (
	fsReads = []string{"read"}
	fsLists = []string{"list"}
)

var fsTool = tool{
	name:    "ptyctl_fs",
	title:   "Files",
	about:   "Read and write files: with session_id of its SSH host, without of ptyctl's own machine.",
	reading: "Read files: with session_id of its SSH host, without of ptyctl's own machine.",
	actions: []action{
		{name: "read", about: "go on at next_offset while truncated.", example: `{"action":"read","session_id":"web1-k3f9q2zd","path":"/etc/hosts"}`, reads: true},
		{name: "write", about: "replace a file as a whole, or append.", example: `{"action":"write","session_id":"web1-k3f9q2zd","path":"/srv/app/config.toml","data":"debug = true\n"}`},
		{name: "list", about: "a folder.", example: `{"action":"list","session_id":"web1-k3f9q2zd","path":"/etc"}`, reads: true},
		{name: "stat", about: "type, mode, size.", example: `{"action":"stat","session_id":"web1-k3f9q2zd","path":"/etc/hosts"}`, reads: true},
	},
	fields: []field{
		{name: "session_id", kind: kindString, nonEmpty: true},
		{name: "path", kind: kindString, required: everyAction, nonEmpty: true},
		{name: "offset", kind: kindInteger, actions: fsReads, max: 1 << 62},
		{name: "max_bytes", kind: kindInteger, about: "default 65536", actions: fsReads, min: 1, max: 1 << 40},
		{name: "data", kind: kindString, actions: onlyWrite, required: onlyWrite},
		{name: "encoding", kind: kindString, about: "of data", enum: encodings, actions: readOrWrite},
		{name: "mode", kind: kindString, about: "octal", actions: onlyWrite, nonEmpty: true},
		{name: "append", kind: kindBoolean, actions: onlyWrite},
		{name: "non_atomic", kind: kindBoolean, actions: onlyWrite, unlisted: true}, // the errors that it helps against name it
		{name: "cursor", kind: kindString, actions: fsLists, nonEmpty: true},
		{name: "limit", kind: kindInteger, actions: fsLists, min: 1},
		{name: "task_id", kind: kindString, actions: onlyWrite, nonEmpty: true, unlisted: true},
		{name: "timeout_ms", kind: kindInteger, min: 1, max: 1 << 40, unlisted: true},
		{name: "request_id", kind: kindString, actions: onlyWrite, nonEmpty: true, unlisted: true},
	},
	output: []field{
		{name: "data", kind: kindString},
		{name: "data_encoding", kind: kindString, unlisted: true},
		{name: "next_offset", kind: kindInteger, unlisted: true},
		{name: "truncated", kind: kindBoolean},
		{name: "entries", kind: kindObjects},
		{name: "next_cursor", kind: kindString, unlisted: true},
		{name: "action", kind: kindString, unlisted: true},
		{name: "name", kind: kindString, unlisted: true},
		{name: "type", kind: kindString, unlisted: true},
		{name: "mode", kind: kindString, unlisted: true},
		{name: "size", kind: kindInteger, unlisted: true},
		{name: "modified_at", kind: kindInteger, unlisted: true},
		{name: "target", kind: kindString, unlisted: true},
		{name: "bytes_written", kind: kindInteger, unlisted: true},
		{name: "created", kind: kindBoolean, unlisted: true},
		{name: "atomic", kind: kindBoolean, unlisted: true},
		{name: "warnings", kind: kindStrings, unlisted: true},
	},
	hints: hints{destructive: true, openWorld: true},
}
