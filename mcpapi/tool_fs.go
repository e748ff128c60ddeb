package mcpapi

var (
	fsReads = []string{"read"}
	fsLists = []string{"list"}
)

var fsTool = Tool{
	Name:    "ptyctl_fs",
	Title:   "Files",
	About:   "Read and write files: with session_id of its SSH host, without of ptyctl's own machine.",
	Reading: "Read files: with session_id of its SSH host, without of ptyctl's own machine.",
	Actions: []Action{
		{
			Name:    "read",
			About:   "go on at next_offset while truncated.",
			Example: `{"action":"read","session_id":"web1-k3f9q2zd","path":"/etc/hosts"}`,
			Reads:   true,
		},
		{
			Name:    "write",
			About:   "replace a file as a whole, or append.",
			Example: `{"action":"write","session_id":"web1-k3f9q2zd","path":"/srv/app/config.toml","data":"debug = true\n"}`,
		},
		{
			Name:    "list",
			About:   "a folder.",
			Example: `{"action":"list","session_id":"web1-k3f9q2zd","path":"/etc"}`,
			Reads:   true,
		},
		{
			Name:    "stat",
			About:   "type, mode, size.",
			Example: `{"action":"stat","session_id":"web1-k3f9q2zd","path":"/etc/hosts"}`,
			Reads:   true,
		},
	},
	Fields: []Field{
		{Name: "session_id", Kind: KindString, NonEmpty: true},
		{Name: "path", Kind: KindString, Required: everyAction, NonEmpty: true},
		{Name: "offset", Kind: KindInteger, Actions: fsReads, Max: 1 << 62},
		{Name: "max_bytes", Kind: KindInteger, About: "default 65536", Actions: fsReads, Min: 1, Max: 1 << 40},
		{Name: "data", Kind: KindString, Actions: onlyWrite, Required: onlyWrite},
		{Name: "encoding", Kind: KindString, About: "of data", Enum: encodings, Actions: readOrWrite},
		{Name: "mode", Kind: KindString, About: "octal", Actions: onlyWrite, NonEmpty: true},
		{Name: "append", Kind: KindBoolean, Actions: onlyWrite},
		{Name: "non_atomic", Kind: KindBoolean, Actions: onlyWrite, Unlisted: true}, // the errors that it helps against name it
		{Name: "cursor", Kind: KindString, Actions: fsLists, NonEmpty: true},
		{Name: "limit", Kind: KindInteger, Actions: fsLists, Min: 1},
		{Name: "task_id", Kind: KindString, Actions: onlyWrite, NonEmpty: true, Unlisted: true},
		{Name: "timeout_ms", Kind: KindInteger, Min: 1, Max: 1 << 40, Unlisted: true},
		{Name: "request_id", Kind: KindString, Actions: onlyWrite, NonEmpty: true, Unlisted: true},
	},
	Output: []Field{
		{Name: "data", Kind: KindString},
		{Name: "data_encoding", Kind: KindString, Unlisted: true},
		{Name: "next_offset", Kind: KindInteger, Unlisted: true},
		{Name: "truncated", Kind: KindBoolean},
		{Name: "entries", Kind: KindObjects},
		{Name: "next_cursor", Kind: KindString, Unlisted: true},
		{Name: "action", Kind: KindString, Unlisted: true},
		{Name: "name", Kind: KindString, Unlisted: true},
		{Name: "type", Kind: KindString, Unlisted: true},
		{Name: "mode", Kind: KindString, Unlisted: true},
		{Name: "size", Kind: KindInteger, Unlisted: true},
		{Name: "modified_at", Kind: KindInteger, Unlisted: true},
		{Name: "target", Kind: KindString, Unlisted: true},
		{Name: "bytes_written", Kind: KindInteger, Unlisted: true},
		{Name: "created", Kind: KindBoolean, Unlisted: true},
		{Name: "atomic", Kind: KindBoolean, Unlisted: true},
		{Name: "warnings", Kind: KindStrings, Unlisted: true},
	},
	Hints: Hints{Destructive: true, OpenWorld: true},
}
