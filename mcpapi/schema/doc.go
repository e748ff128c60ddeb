// Package schema declares a tool: its name, its actions, its arguments and its results. Each argument and each member
// of a result is one line of a struct.
//
//	type args struct {
//		SessionID string `json:"session_id" need:"*" is:"filled"`
//		TimeoutMS int64  `json:"timeout_ms" min:"1" max:"1<<40" doc:"stops the command; default 60000"`
//	}
//	tool := schema.Declare[args](schema.Tool{Name: "run", Actions: []schema.Action{{Example: `{"session_id":"s"}`}}})
//
// Schemas, descriptions, checks, defaults, error messages and the reference in docs/tools.md come from it (declare.go
// has the tags). It knows no session, and runs nothing.
//
// Guarantees:
//
//   - Arguments are checked strictly: an unknown field, a wrong type or a field of another action is an error that
//     names the field, the allowed values, and a correct call. Nothing is guessed.
//   - A wrong declaration is a panic when the program starts.
//   - No pattern of a caller compiles to more than a bounded program.
package schema
