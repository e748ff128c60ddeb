package mcpapi

import (
	"context"
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/toolset"
)

// addPrompts gives srv the prompts of the sets that it offers.
func addPrompts(srv *server.MCPServer, sets []toolset.Set) {
	for i := range sets {
		for _, p := range sets[i].Prompts {
			listed := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.About}
			for _, a := range p.Arguments {
				listed.Arguments = append(listed.Arguments, mcp.PromptArgument{Name: a.Name, Description: a.About, Required: true})
			}
			srv.AddPrompt(listed, func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				text := mcp.NewTextContent(p.Fill(req.Params.Arguments))
				return mcp.NewGetPromptResult(p.About, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, text)}), nil
			})
		}
	}
}

// drawing is a terminal with a prompt.
const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#14181d"/>` +
	`<path d="M7 10l6 6-6 6" fill="none" stroke="#5fd38d" stroke-width="3"/><path d="M16 22h9" stroke="#e8edf2" stroke-width="3"/></svg>`

// icon is the server's, for the clients of the revisions from 2025-11-25 on.
func icon() mcp.Icon {
	return mcp.Icon{
		Src: "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(drawing)), MIMEType: "image/svg+xml",
		Sizes: []string{"any"},
	}
}
