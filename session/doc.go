// Package session runs interactive terminals over any term.Transport and keeps the set of live ones.
//
//	s := session.New(transport, session.Options{})
//	defer s.Close(ctx, session.CloseOptions{})
//	w, err := s.Write(ctx, []byte("uname -a\r"), session.WriteOptions{})
//	chunk := s.Read(ctx, session.ReadRequest{Cursor: w.Cursor, Until: prompt, Timeout: 5 * time.Second})
//
// How the parts meet:
//
//	       Transport
//	Write ->  |  |  <- pump: the only reader, one goroutine per session
//	    \-----|->|  <- redact: takes the echo of a secret out
//	          |  v
//	          | buffer.Buffer ----> Read (cursor, tail, until, idle), any number of readers
//	          |      |
//	          |      `-----------> Observers
//	          |
//	lock, Gate, Journal: asked before anything goes out
//
// What it promises:
//
//   - Nothing a caller does, or fails to do, stops the pump: output nobody reads is kept up to a bound, then the
//     oldest of it is dropped and every reader that missed some is told how much.
//   - Read and Exec return values for what is normal: a deadline is a Reason, a failed command an exit code.
//     Errors are *term.Error.
//   - Close returns within a second, or within five if not forced, whatever the far side does, and leaves no
//     goroutine behind if the Transport keeps its own promise.
//   - What is written as Sensitive is in no event, and its echo in nothing that is made of the output.
//   - A panic in one session's goroutine ends that session, and nothing else.
package session
