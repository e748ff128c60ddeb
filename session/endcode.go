package session

import "ptyctl/term"

// An EndCode is why a session ended, for a program. New ones are added, and none may ever be
// renamed.
type EndCode string

// The codes.
const (
	EndClosed       EndCode = "closed"        // by a caller
	EndShutdown     EndCode = "shutdown"      // by the end of the Manager
	EndIdle         EndCode = "idle"          // nothing happened for its idle timeout
	EndMaxAge       EndCode = "max_age"       // it reached the longest age, or OpenRequest.Life
	EndExited       EndCode = "exited"        // the program ended; End.Exit has its status
	EndKilled       EndCode = "killed"        // a signal ended the program; End.Exit names it
	EndRemoteClosed EndCode = "remote_closed" // the far side closed the terminal, without a status
	EndLost         EndCode = "lost"          // the connection broke
	EndNotOpened    EndCode = "not_opened"    // it was never open; End.Err says why
	EndFault        EndCode = "fault"         // a fault in this library ended it
)

// An endCause is the cause of a session's context after an end that no caller has asked for.
type endCause struct {
	reason string
	code   EndCode
}

// Error returns the text of Info.End.Reason.
func (e endCause) Error() string { return e.reason }

// endCode implements codedCause.
func (e endCause) endCode() EndCode { return e.code }

// endCode implements codedCause.
func (e errClosedByCaller) endCode() EndCode {
	if e.code == "" {
		return EndClosed
	}
	return e.code
}

// A codedCause is the cause of the end of a session's context that knows the code.
type codedCause interface {
	error
	endCode() EndCode
}

// endedFact is what an error says of the end of a session with that cause.
func endedFact(cause error) term.Ended {
	f := term.Ended{Reason: cause.Error()}
	if c, ok := cause.(codedCause); ok { //nolint:errorlint // a cause is not wrapped
		f.Code = string(c.endCode())
	}
	return f
}

// fact is what an error says of the end.
func (e End) fact() term.Ended { return term.Ended{Reason: e.Reason, Code: string(e.Code)} }
