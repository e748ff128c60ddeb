// Package apps shows terminals in the chat of a client that draws pages of its servers: MCP Apps, the extension
// io.modelcontextprotocol/ui (SEP-1865, revision 2026-01-26).
//
//	a := apps.New()
//	a.AddResource(srv, hooks)                       // ui://ptyctl/screen
//	set := a.Toolset()                              // ptyctl_view, which the page calls
//	hooks.AddAfterListTools(apps.Link)              // the tools that the page is drawn for
//
// The client shows Page beside the result of a call that opens a session or reads a screen. The page asks for one frame
// after the other with ptyctl_view, and draws it with the renderer of the watch page.
//
// Promises:
//
//   - A client that does not declare the extension does not see it: neither tool, resource nor capability.
//   - The page only looks. It can call ptyctl_view and no other tool, and it loads nothing and reaches no server.
//   - A view changes nothing: it counts neither as a read nor as activity, and makes no version of the screen for a
//     caller to compare with. A caller views only what it may read; secrets are masked as for every caller.
//   - For each caller and session, one call a second is answered. A faster one waits for its turn; one that would wait
//     for more than MaxWait is refused.
package apps
