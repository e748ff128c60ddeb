package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A handler performs the call of a fixture's tool.
type handler = func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error)

// addFixtures gives a server all that the conformance suite asks for by name.
func addFixtures(srv *server.MCPServer) {
	// A server with such tools must declare these; ptyctl does not.
	for _, declare := range []server.ServerOption{
		server.WithLogging(), server.WithCompletions(), server.WithElicitation(), server.WithToolCapabilities(true),
		server.WithPromptCapabilities(true), server.WithResourceCapabilities(true, true),
	} {
		declare(srv)
	}
	srv.EnableSampling()
	addContentTools(srv)
	addMessageTools(srv)
	addRequestTools(srv)
	addInputTools(srv)
	addChangeTools(srv)
	addFixtureResources(srv)
	addFixturePrompts(srv)
}

// addTool adds a tool without arguments, or with any.
func addTool(srv *server.MCPServer, name string, run handler) {
	srv.AddTool(mcp.NewTool(name, mcp.WithDescription("A fixture of the conformance suite")), run)
}

// addContentTools adds the tools with a constant result.
func addContentTools(srv *server.MCPServer) {
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":       {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content":     {mcp.NewImageContent(onePixel, "image/png")},
		"test_audio_content":     {mcp.NewAudioContent(noSamples, "audio/wav")},
		"test_embedded_resource": {mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."})},
		"test_multiple_content_types": {
			mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(onePixel, "image/png"),
			mcp.NewEmbeddedResource(
				mcp.TextResourceContents{
					URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
				},
			),
		},
	} {
		addTool(srv, name, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	addTool(srv, "test_error_handling", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
	srv.AddTool(
		mcp.NewToolWithRawSchema("test_custom_headers", "A tool with arguments that are repeated in headers", json.RawMessage(
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"query":{"type":"string"}},"required":["region"]}`,
		)),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("in " + r.GetString("region", "")), nil
		},
	)
	srv.AddTool(
		mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {
			"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"}, "email": {"type": "string"}
		},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]},
		"additionalProperties": false
	}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("done"), nil
		},
	)
}

// addMessageTools adds the tools that send messages before their result.
func addMessageTools(srv *server.MCPServer) {
	logging := func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			err := srv.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "fixture", text))
			if err != nil && !errors.Is(err, server.ErrNotificationNotInitialized) {
				return nil, err
			}
		}
		return mcp.NewToolResultText("logged"), nil
	}
	addTool(srv, "test_tool_with_logging", logging)
	addTool(srv, "test_logging_tool", logging)
	// Without a pause between them: they must arrive, before the result, however fast they come.
	addTool(srv, "test_tool_with_progress", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
			return mcp.NewToolResultText("nobody asked for progress"), nil
		}
		for _, progress := range []int{0, 50, 100} {
			err := srv.SendNotificationToClient(
				ctx,
				"notifications/progress",
				map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": progress, "total": 100},
			)
			if err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("progressed"), nil
	})
}

// addRequestTools adds the tools that ask the client something while they run, as it was done until 2025-11-25.
func addRequestTools(srv *server.MCPServer) {
	addTool(srv, "test_sampling", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//lint:ignore SA1019 deprecated since 2026-07-28, and required by the suite before
		answer, err := srv.RequestSampling(ctx, mcp.CreateMessageRequest{ //nolint:staticcheck // as above, for golangci-lint
			Request: mcp.Request{
				Method: "sampling/createMessage",
			}, CreateMessageParams: samplingParams(r.GetString("prompt", ""), 100),
		})
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("LLM response: %v", answer.Content)), nil
	})
	ask := func(message string, schema string) handler {
		return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, err := srv.RequestElicitation(ctx, mcp.ElicitationRequest{
				Request: mcp.Request{Method: "elicitation/create"},
				Params:  mcp.ElicitationParams{Message: r.GetString("message", message), RequestedSchema: json.RawMessage(schema)},
			})
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(
				fmt.Sprintf("Elicitation completed: action=%s, content=%v", answer.Action, answer.Content),
			), nil
		}
	}
	addTool(
		srv,
		"test_elicitation",
		ask(
			"Who?",
			`{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username","email"]}`,
		),
	)
	addTool(srv, "test_elicitation_sep1034_defaults", ask("Provide your information", `{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`))
	addTool(srv, "test_elicitation_sep1330_enums", ask("Select options", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["Option One","Option Two"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"}]}}}}`))
}

// addChangeTools adds the tools that change the server's lists, and change them back.
func addChangeTools(srv *server.MCPServer) {
	addTool(srv, "test_trigger_tool_change", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addTool(srv, "test_passing_tool", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("gone soon"), nil
		})
		srv.DeleteTools("test_passing_tool")
		return mcp.NewToolResultText("changed"), nil
	})
	addTool(srv, "test_trigger_prompt_change", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		srv.AddPrompt(
			mcp.NewPrompt("test_passing_prompt"),
			func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			},
		)
		srv.DeletePrompts("test_passing_prompt")
		return mcp.NewToolResultText("changed"), nil
	})
	// Its stream is to end, and to go on with the result when the client comes back.
	addTool(srv, "test_reconnection", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
		return mcp.NewToolResultText("reconnected"), nil
	})
}

func samplingParams(text string, maxTokens int) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}},
		MaxTokens: maxTokens,
	}
}

// A picture of one pixel, and a sound without samples.
const (
	onePixel  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	noSamples = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)
