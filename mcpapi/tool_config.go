package mcpapi

var configTool = tool{
	name:    "ptyctl_session_config",
	title:   "Terminal settings",
	about:   "Resize a terminal, or set the patterns that say what its output means.",
	reading: "See a terminal's size, and the patterns that say what its output means.",
	actions: []action{
		{name: "resize", about: "set cols and rows.", example: `{"action":"resize","session_id":"web1-k3f9q2zd","cols":120,"rows":40}`},
		{name: "expect", about: "set the patterns given; the others stay.", example: `{"action":"expect","session_id":"web1-k3f9q2zd","expect":{"prompt_regex":"[>#] $"}}`},
		{name: "get", about: "size and patterns.", example: `{"action":"get","session_id":"web1-k3f9q2zd"}`, reads: true},
	},
	fields: []field{
		{name: "session_id", kind: kindString, required: everyAction, nonEmpty: true},
		{name: "cols", kind: kindInteger, actions: []string{"resize"}, required: []string{"resize"}, min: 1, max: 10000},
		{name: "rows", kind: kindInteger, actions: []string{"resize"}, required: []string{"resize"}, min: 1, max: 10000},
		func() field {
			f := expectField("all members: see ptyctl_session_exec", []string{"expect"}, "profile", "prompt_regex", "pager_regexes", "error_regexes")
			f.required = f.actions
			return f
		}(),
		{name: "task_id", kind: kindString, about: "your name for locks", actions: []string{"resize", "expect"}, nonEmpty: true},
	},
	output: []field{
		{name: "action", kind: kindString, unlisted: true},
		{name: "success", kind: kindBoolean},
		{name: "cols", kind: kindInteger, unlisted: true},
		{name: "rows", kind: kindInteger, unlisted: true},
		{name: "expect", kind: kindObject},
		{name: "telnet", kind: kindObject, unlisted: true},
		{name: "warnings", kind: kindStrings, unlisted: true},
	},
	hints: hints{idempotent: true, openWorld: true},
}
