package tools

import "encoding/json"

// Closes reports whether a call closes a terminal session. Such a call frees what others need, so that no rate should
// refuse it.
func Closes(tool string, arguments json.RawMessage) bool {
	var call struct {
		Action string `json:"action"`
	}
	return tool == sessionTool.Name && json.Unmarshal(arguments, &call) == nil && call.Action == "close"
}
