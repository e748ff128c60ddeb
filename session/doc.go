// Package session runs interactive terminals over any term.Transport and keeps the set of live ones.
//
//	s := session.New(transport, session.Options{})
//	defer s.Close(ctx, session.CloseOptions{})
//	w, err := s.Write(ctx, []byte("uname -a\r"), session.WriteOptions{})
//	chunk := s.Read(ctx, session.ReadRequest{Cursor: w.Cursor, Until: prompt, Timeout: 5 * time.Second})
//
// A program with many terminals gives its dialers to a [Manager], which opens, lists and closes sessions:
//
//	m := session.NewManager(session.Config{Dialers: dialers})
//	r, err := m.Open(ctx, session.OpenRequest{Target: target})
//	result, err := r.Session.Exec(ctx, session.ExecRequest{Command: "uname -a"})
//
// Some words have one meaning here:
//
//   - A cursor is an offset into a session's output, in bytes from its beginning. A reader passes it to Read, and
//     gets the next one in [Chunk]: readers do not disturb each other, and no reader takes output away from another.
//   - A caller is described by the [term.Actor] that its context carries. Its principal ([term.Principal]) is the part
//     that it cannot choose by itself, for example its connection; a program that calls this package directly is one.
//   - A task is a piece of a caller's work, named by Actor.Task. A lock belongs to one task: while it is held, only
//     that task may act on the session, and all others may read.
//   - A console is the one session of a device that several callers share, for example a switch at a serial port. All
//     but reading it needs the lock.
//   - A command runs in a lane: on a channel of its own beside the terminal, or typed into the terminal. While it runs,
//     and as long as its output is kept, it is an exec with an id: see [Session.ContinueExec].
//   - A gap is the cursor at which one connection of a session ended and the output of the next one begins; see
//     [Manager.Reopen].
//   - The Gate ([term.Gate]) may refuse an action, the Journal ([term.Journal]) has it on record before it begins, and
//     the Observers ([term.Observer]) get its outcome. All three are optional.
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
// The package promises:
//
//   - No caller can stop the pump: output that is not read is kept up to a bound, then its oldest part is dropped,
//     and every reader that missed some learns how much.
//   - Read and Exec return values for normal outcomes: a deadline is a Reason, a failed command an exit code.
//     Errors are *term.Error.
//   - Close returns within a second, or within five if not forced, even if the far side hangs, and leaves no
//     goroutine behind if the Transport keeps its own promise.
//   - Data written as Sensitive is in no event, and its echo is in no output that a caller or an Observer gets.
//   - A panic in one session's goroutine ends that session, and nothing else.
//
// The packages below it, from those that know least:
//
//   - keys: names of keys and the bytes they send.
//   - shell: the kinds of program that read a typed line.
//   - marker: the line that is typed for a command, and how its end is found.
//   - prompt: the question or prompt at which a terminal waits, judged by its last line and the earlier input.
//     [ExecResult].WaitingFor has one of its kinds.
//   - redact: a stream without the echo of secrets.
//   - match: the pattern that a reader waits for, found in the stream, without the echo of typed text.
//   - output: the output of a command, and the question that a reader waits for.
//   - text: the output as clean text, line by line, and the lines with a pattern.
//   - access: who may act on a session, and the record of each action.
//   - transfer: the files of this machine and of the far side.
//   - lane: commands typed into a terminal, behind a small interface.
//   - reopen: when another attempt to connect again is worth it.
package session
