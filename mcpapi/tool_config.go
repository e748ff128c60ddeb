package mcpapi

var configTool = Tool{
	Name:    "ptyctl_session_config",
	Title:   "Terminal settings",
	About:   "Resize a terminal, or set the patterns that say what its output means.",
	Reading: "See a terminal's size, and the patterns that say what its output means.",
	Actions: []Action{
		{Name: "resize", About: "set cols and rows.", Example: `{"action":"resize","session_id":"web1-k3f9q2zd","cols":120,"rows":40}`},
		{Name: "expect", About: "set the patterns given; the others stay.", Example: `{"action":"expect","session_id":"web1-k3f9q2zd","expect":{"prompt_regex":"[>#] $"}}`},
		{Name: "get", About: "size and patterns.", Example: `{"action":"get","session_id":"web1-k3f9q2zd"}`, Reads: true},
	},
	Fields: []Field{
		{Name: "session_id", Kind: KindString, Required: everyAction, NonEmpty: true},
		{Name: "cols", Kind: KindInteger, Actions: []string{"resize"}, Required: []string{"resize"}, Min: 1, Max: 10000},
		{Name: "rows", Kind: KindInteger, Actions: []string{"resize"}, Required: []string{"resize"}, Min: 1, Max: 10000},
		func() Field {
			f := expectField(
				"all members: see ptyctl_session_exec",
				[]string{"expect"},
				"profile",
				"prompt_regex",
				"pager_regexes",
				"error_regexes",
			)
			f.Required = f.Actions
			return f
		}(),
		{
			Name:     "task_id",
			Kind:     KindString,
			About:    "your name for locks",
			Actions:  []string{"resize", "expect"},
			NonEmpty: true,
		},
	},
	Output: []Field{
		{Name: "action", Kind: KindString, Unlisted: true},
		{Name: "success", Kind: KindBoolean},
		{Name: "cols", Kind: KindInteger, Unlisted: true},
		{Name: "rows", Kind: KindInteger, Unlisted: true},
		{Name: "expect", Kind: KindObject},
		{Name: "telnet", Kind: KindObject, Unlisted: true},
		{Name: "warnings", Kind: KindStrings, Unlisted: true},
	},
	Hints: Hints{Idempotent: true, OpenWorld: true},
}
