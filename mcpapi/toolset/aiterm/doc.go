// Package aiterm offers the tools of the AI Terminal service (aitermd and its client
// aiterm): shell_run, pty_open, pty_send, pty_read, pty_resize, pty_signal, pty_close,
// fs_readFile, fs_writeFile, fs_list and health_info, with the arguments, results and
// error codes of that service.
//
//	set := aiterm.New()
//	sessions := session.NewManager(session.Config{Observers: []term.Observer{set}, ...})
//	srv := mcpapi.NewServer(mcpapi.Options{
//		Sessions: sessions,
//		More:     []toolset.Set{set.Toolset()},
//		Toolsets: []string{set.Name()},
//		...
//	})
//
// The package is a thin adapter. Programs, terminals, limits, the operator's rules and
// the audit log are those of every session. The package adds the contract of the service:
// base64 for bytes, an environment with nothing but the variables of the call, a
// correlation id in every answer, and output in numbered chunks.
//
// Chunks are not a second copy of the output. The bytes stay in the session's buffer; the
// set observes when bytes arrive and keeps, for each of its terminals, where each chunk
// ends and when it began. The extent of a chunk becomes final when a reader first
// receives it; until then it may grow, or be cut to a reader's max_bytes. After that its
// number means the same bytes for every reader. A missing number means that the buffer
// had dropped the output before it was read.
package aiterm
