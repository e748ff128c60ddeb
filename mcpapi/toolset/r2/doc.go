// Package r2 offers the tools r2_open, r2_cmd, r2_cmdj and r2_close: radare2 and rizin by their pipe protocol, as
// r2pipe and rzpipe speak it. They are phase 2 of the AI Terminal service; package aiterm has its other tools.
//
//	srv := mcpapi.NewServer(mcpapi.Options{
//		Sessions: sessions,
//		More:     []toolset.Set{r2.New(r2.Options{Program: "radare2"}, r2.NewPrograms()).Toolset()},
//		Toolsets: []string{"r2"},
//		...
//	})
//
// The program is started with -q0 and without a terminal: a NUL on its standard output says that it is ready, each line
// on its standard input is a command, and the answer to that is output up to the next NUL.
//
// Promises:
//
//   - The program is a session like all others: judged, recorded, limited, listed, supervised and ended with ptyctl. A
//     command is a write: the lock, the rules for typing and the audit log are those of a write.
//   - A program never has two commands. One that is not answered in its time goes on, and all calls but those that wait
//     for it are BUSY.
//   - Memory is bounded by the session's buffers. A result counts the bytes that it leaves out.
//   - Lines that leave the program for a shell, another program or a file are refused, unless the operator allows them.
//     That prevents mistakes: it is no boundary, because these programs have many ways out.
package r2
