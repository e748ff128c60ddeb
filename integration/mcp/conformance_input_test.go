package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addInputTools adds the tools that ask the client something by their result, as it is done from 2026-07-28 on: the
// client calls again, with the answers and the state that it was given.
func addInputTools(srv *server.MCPServer) {
	name := askFor("What is your name?", "name", "string")
	confirm := askFor("Please confirm", "ok", "boolean")

	addTool(
		srv,
		"test_input_required_result_elicitation",
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.ElicitationResponse(r.Params.InputResponses, "user_name")
			if answer == nil || answer.Action == "" {
				return server.NewInputRequestBuilder("").Elicit("user_name", name).ToolResult(), nil
			}
			return mcp.NewToolResultText(fmt.Sprintf("Hello, %v!", answer.Content)), nil
		},
	)
	addTool(
		srv,
		"test_input_required_result_sampling",
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.SamplingResponse(r.Params.InputResponses, "capital_question")
			if answer == nil {
				return server.NewInputRequestBuilder("").
						Sample("capital_question", samplingParams("What is the capital of France?", 100)).
						ToolResult(),
					nil
			}
			return mcp.NewToolResultText(fmt.Sprint(answer.Content)), nil
		},
	)
	addTool(
		srv,
		"test_input_required_result_list_roots",
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer := server.RootsResponse(r.Params.InputResponses, "client_roots")
			if answer == nil {
				return server.NewInputRequestBuilder("").Roots("client_roots").ToolResult(), nil
			}
			return mcp.NewToolResultText(fmt.Sprint(answer.Roots)), nil
		},
	)

	stateful := func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) == 0 {
			return server.NewInputRequestBuilder(sealed("confirming")).Elicit("confirm", confirm).ToolResult(), nil
		}
		if _, err := unsealed(r.Params.RequestState); err != nil {
			return nil, err
		}
		return mcp.NewToolResultText("state-ok"), nil
	}
	addTool(srv, "test_input_required_result_request_state", stateful)
	addTool(srv, "test_input_required_result_tampered_state", stateful)

	addTool(
		srv,
		"test_input_required_result_multiple_inputs",
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(r.Params.InputResponses) < 3 {
				return server.NewInputRequestBuilder(sealed("many")).
						Elicit("user_name", name).
						Sample("greeting", samplingParams("Generate a greeting", 50)).
						Roots("client_roots").
						ToolResult(),
					nil
			}
			return mcp.NewToolResultText("all of it"), nil
		},
	)
	addTool(
		srv,
		"test_input_required_result_multi_round",
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.Params.RequestState == "" {
				return server.NewInputRequestBuilder(sealed("1")).
						Elicit("step1", askFor("Step 1: What is your name?", "name", "string")).
						ToolResult(),
					nil
			}
			switch step, err := unsealed(r.Params.RequestState); {
			case err != nil:
				return nil, err
			case step == "1":
				return server.NewInputRequestBuilder(sealed("2")).
						Elicit("step2", askFor("Step 2: What is your favorite color?", "color", "string")).
						ToolResult(),
					nil
			}
			return mcp.NewToolResultText("done"), nil
		},
	)

	addTool(
		srv,
		"test_input_required_result_capabilities",
		func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(r.Params.InputResponses) > 0 {
				return mcp.NewToolResultText("done"), nil
			}
			ask := server.NewInputRequestBuilder("")
			can := clientCapabilities(ctx)
			if can.Elicitation != nil {
				ask.Elicit("user_name", name)
			}
			if can.Sampling != nil {
				ask.Sample("greeting", samplingParams("Generate a greeting", 50))
			}
			return ask.ToolResult(), nil
		},
	)
	addTool(srv, "test_missing_capability", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if clientCapabilities(ctx).Sampling == nil {
			return nil, mcp.MissingRequiredClientCapabilityError{Capability: "sampling"}
		}
		return mcp.NewToolResultText("it has sampling"), nil
	})
	addTool(
		srv,
		"test_streaming_elicitation",
		func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(r.Params.InputResponses) > 0 {
				return mcp.NewToolResultText("done"), nil
			}
			return server.NewInputRequestBuilder("").Elicit("user_name", name).ToolResult(), nil
		},
	)
}

// clientCapabilities are those that the request itself declares.
func clientCapabilities(ctx context.Context) mcp.ClientCapabilities {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
		return *info.ClientCapabilities
	}
	return mcp.ClientCapabilities{}
}

// askFor asks for one value.
func askFor(message, field, kind string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field},
	}}
}

// sealed makes a state that the client cannot change unseen.
func sealed(state string) string {
	mac := hmac.New(sha256.New, []byte("the fixture's key"))
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

var errTampered = errors.New("the request state is not the one that was given")

func unsealed(text string) (state string, err error) {
	state, _, _ = strings.Cut(text, ".")
	if !hmac.Equal([]byte(text), []byte(sealed(state))) {
		return "", errTampered
	}
	return state, nil
}
