package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addFixtureResources adds the resources that the conformance suite reads.
func addFixtureResources(srv *server.MCPServer) {
	add := func(uri, kind string, contents mcp.ResourceContents) {
		srv.AddResource(
			mcp.NewResource(
				uri,
				strings.TrimPrefix(uri, "test://"),
				mcp.WithResourceDescription("A fixture"),
				mcp.WithMIMEType(kind),
			),
			func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{contents}, nil
			},
		)
	}
	add(
		"test://static-text",
		"text/plain",
		mcp.TextResourceContents{
			URI:      "test://static-text",
			MIMEType: "text/plain",
			Text:     "This is the content of the static text resource.",
		},
	)
	add(
		"test://static-binary",
		"image/png",
		mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: onePixel},
	)
	add(
		"test://watched-resource",
		"text/plain",
		mcp.TextResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "It never changes."},
	)
	srv.AddResourceTemplate(
		mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			text := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id)
			return []mcp.ResourceContents{
				mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: text},
			}, nil
		},
	)
}

// addFixturePrompts adds the prompts that the conformance suite gets.
func addFixturePrompts(srv *server.MCPServer) {
	add := func(name string, arguments []string, contents func(arguments map[string]string) []mcp.Content) {
		options := []mcp.PromptOption{mcp.WithPromptDescription("A fixture of the conformance suite")}
		for _, a := range arguments {
			options = append(options, mcp.WithArgument(a, mcp.RequiredArgument()))
		}
		srv.AddPrompt(
			mcp.NewPrompt(name, options...),
			func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				var got mcp.GetPromptResult
				for _, c := range contents(r.Params.Arguments) {
					got.Messages = append(got.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
				}
				return &got, nil
			},
		)
	}
	add("test_simple_prompt", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewTextContent("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{
			mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])),
		}
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []mcp.Content {
		resource := mcp.TextResourceContents{
			URI:      a["resourceUri"],
			MIMEType: "text/plain",
			Text:     "Embedded resource content for testing.",
		}
		return []mcp.Content{
			mcp.NewEmbeddedResource(resource),
			mcp.NewTextContent("Please process the embedded resource above."),
		}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{
			mcp.NewImageContent(onePixel, "image/png"),
			mcp.NewTextContent("Please analyze the image above."),
		}
	})
	srv.AddPrompt(
		mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("A fixture of the conformance suite")),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			answer := server.ElicitationResponse(r.Params.InputResponses, "user_context")
			if answer == nil {
				return server.NewInputRequestBuilder("").
						Elicit("user_context", askFor("What context should the prompt use?", "context", "string")).
						PromptResult(),
					nil
			}
			return &mcp.GetPromptResult{
				Messages: []mcp.PromptMessage{
					{Role: mcp.RoleUser, Content: mcp.NewTextContent(fmt.Sprintf("In the context %v", answer.Content))},
				},
			}, nil
		},
	)
}
