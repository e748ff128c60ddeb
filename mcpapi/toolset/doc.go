// Package toolset is the interface for writing tools: the core tools of package tools, and those of other programs in
// the folders below.
//
//	set := toolset.Set{Name: "mine", Tools: []*toolset.Tool{
//		toolset.Bind(schema.Tool{Name: "close_it", Actions: []schema.Action{{Example: `{"id":"x"}`}}}, closeIt, result{}),
//	}}
//
//	func closeIt(ctx context.Context, c *toolset.Call, in *args) (any, error) {
//		s, err := c.Session(ctx, term.VerbClose, in.ID)
//		...
//	}
//
// Guarantees:
//
//   - A tool sees the sessions that its caller may see, and never the session.Manager.
//   - A tool's function is called with arguments that have passed its table.
//   - A call sends no progress after its answer.
package toolset
