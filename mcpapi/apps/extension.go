package apps

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/mcpgo"
)

// The names of the extension.
const (
	Extension = "io.modelcontextprotocol/ui"
	MIMEType  = "text/html;profile=mcp-app"
	URI       = "ui://ptyctl/screen"
)

// settings are the extension's settings in the capabilities of a client or server.
type settings struct {
	MIMETypes []string `json:"mimeTypes"`
}

// Drawn reports whether the client of a request has declared that it draws such pages.
func Drawn(ctx context.Context) bool { return declared(mcpgo.Capabilities(ctx)) }

// declared reports whether the extension is among the capabilities of a client, with the type of the page. A client
// that lists no types does not follow the specification, and gets no page.
func declared(c mcp.ClientCapabilities) bool {
	ui, _ := c.Extensions[Extension].(map[string]any)
	types, _ := ui["mimeTypes"].([]any)
	return slices.Contains(types, any(MIMEType))
}

// Declare adds the extension to the capabilities that the server answers with, for clients that declare it. An
// unconditional one would change the answer that all other clients get.
func Declare(hooks *server.Hooks) {
	extensions := map[string]any{Extension: settings{[]string{MIMEType}}}
	hooks.AddAfterInitialize(func(_ context.Context, _ any, req *mcp.InitializeRequest, result *mcp.InitializeResult) {
		if declared(req.Params.Capabilities) {
			result.Capabilities.Extensions = extensions
		}
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, result *mcp.DiscoverResult) {
		if Drawn(ctx) {
			result.Capabilities.Extensions = extensions
		}
	})
}

// linked are the tools that the page is drawn for.
var linked = []string{"ptyctl_session", "ptyctl_session_io"}

// The members of a tool's _meta.ui. The page may call ViewTool and nothing else: a host refuses other calls of it.
type link struct {
	ResourceURI string   `json:"resourceUri,omitempty"`
	Visibility  []string `json:"visibility"`
}

func (l link) meta() *mcp.Meta { return mcp.NewMetaFromMap(map[string]any{"ui": l}) }

var (
	metaLinked = link{URI, []string{"model"}}.meta()
	metaOther  = link{"", []string{"model"}}.meta()
	metaView   = link{"", []string{"app"}}.meta()
)

// Link says, in the list of tools for a client that draws the page, which tools it belongs to and who may call them.
func Link(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	if !Drawn(ctx) {
		return
	}
	result.Tools = slices.Clone(result.Tools)
	for i := range result.Tools {
		switch t := &result.Tools[i]; {
		case t.Name == ViewTool:
			t.Meta = metaView
		case slices.Contains(linked, t.Name):
			t.Meta = metaLinked
		default:
			t.Meta = metaOther
		}
	}
}

// Hide takes the tool of the page off a list for a client that does not draw it.
func Hide(ctx context.Context, list []mcp.Tool) []mcp.Tool {
	if Drawn(ctx) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(t mcp.Tool) bool { return t.Name == ViewTool })
}
