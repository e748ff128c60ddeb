// Package aiterm is the set of tools that users of the AI Terminal service (aitermd and its client aiterm) know: shell_run,
// pty_open, pty_send, pty_read, pty_resize, pty_signal, pty_close, fs_readFile, fs_writeFile, fs_list and health_info, with
// the arguments, results and error codes of that service.
//
//	set := aiterm.New()
//	sessions := session.NewManager(session.Config{Observers: []term.Observer{set}, ...})
//	srv := mcpapi.NewServer(mcpapi.Options{Sessions: sessions, More: []mcpapi.Toolset{set.Toolset()}, Toolsets: []string{set.Name()}, ...})
//
// It is a thin adapter. Programs, terminals, limits, the operator's rules and the record are those of every session; what is
// here is the contract: base64 for bytes, an environment that holds what the call gives and nothing else, a correlation id in
// every answer, and output in numbered chunks.
//
// The chunks are no second copy of the output. The set observes when bytes arrive, and keeps for each of its terminals where
// a chunk ends and when it began; the bytes stay in the session's buffer. A chunk has its final extent when a reader is given
// it for the first time: until then it may grow, or be cut to a reader's max_bytes. From then on its number means the same
// bytes to everyone. A number that is missing stands for output that the buffer no longer held when it was asked for.
package aiterm
