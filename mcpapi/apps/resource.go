package apps

import (
	"context"
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/watch/renderer"
)

//go:embed page/view.html page/view.css page/view.js
var files embed.FS

// Page returns the page: one HTML file with its style and script, and nothing to load.
var Page = sync.OnceValue(func() string {
	part := func(name string) string {
		text, err := files.ReadFile("page/" + name)
		if err != nil { // it is embedded
			panic(err)
		}
		return string(text)
	}
	return strings.NewReplacer(
		"/* style */", renderer.Style()+part("view.css"),
		"/* script */", renderer.Script()+part("view.js"),
	).Replace(part("view.html"))
})

// AddResource gives srv the page, for clients that draw it. For others it is a resource that does not exist.
func AddResource(srv *server.MCPServer, hooks *server.Hooks) {
	srv.AddResource(mcp.NewResource(URI, "screen", mcp.WithMIMEType(MIMEType),
		mcp.WithResourceDescription("The view of a terminal, live and read-only. The client draws it.")), readPage)
	hooks.AddAfterListResources(func(
		ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult,
	) {
		if !Drawn(ctx) {
			result.Resources = slices.DeleteFunc(slices.Clone(result.Resources), func(r mcp.Resource) bool {
				return r.URI == URI
			})
		}
	})
	hooks.AddBeforeReadResource(func(ctx context.Context, _ any, req *mcp.ReadResourceRequest) {
		if req.Params.URI == URI && !Drawn(ctx) {
			req.Params.URI += " (for clients that declare " + Extension + ")"
		}
	})
}

// appearance is the _meta.ui of the page: the page has a frame of its own. It asks for no domain and no permission, so
// that the client keeps to the strictest policy.
type appearance struct {
	PrefersBorder bool `json:"prefersBorder"`
}

func readPage(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return []mcp.ResourceContents{mcp.TextResourceContents{
		URI: req.Params.URI, MIMEType: MIMEType, Text: Page(), Meta: map[string]any{"ui": appearance{}},
	}}, nil
}
