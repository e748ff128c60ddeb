// Package peer tells which user's process is at the other end of a Unix socket.
//
//	err := peer.BelongsTo(conn, os.Getuid())
//
// Windows has no such question: named pipes and folders have rights of their own there.
package peer
