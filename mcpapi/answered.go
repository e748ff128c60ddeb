package mcpapi

import (
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/toolset"
)

// answered passes the text of a call's result on to Options.Answered. A call without a result has an empty one.
func (s *api) answered(c *toolset.Call, result *mcp.CallToolResult) {
	var texts []string
	failed := false
	if result != nil {
		failed = result.IsError
		for _, content := range result.Content {
			if t, ok := mcp.AsTextContent(content); ok {
				texts = append(texts, t.Text)
			}
		}
	}
	s.o.Answered(toolset.SerialOf(c), strings.Join(texts, "\n"), failed)
}
