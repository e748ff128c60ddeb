package telnet

// An EventKind says what an Event is.
type EventKind uint8

// What the far side sends besides data.
const (
	CommandReceived        EventKind = iota // Command alone; DM, GA and EOR are of use to somebody
	OptionReceived                          // Command is WILL, WONT, DO or DONT; Option is its operand
	SubnegotiationReceived                  // Option and Data
	SubnegotiationCut                       // the same, ended by another command instead of SE; Command is that
	SubnegotiationOverflow                  // Option; it was longer than 4 KiB, or took longer than 10 s: it is dropped
	SubnegotiationLost                      // Option; it did not end within 64 KiB: what follows is data again
	StraySE                                 // SE outside of a subnegotiation
	NotACommand                             // Command is the byte after IAC, below EOF in the list of commands
	TruncatedAtEOF                          // the stream ended inside a command
)

// An Event is something in the stream that is not data.
type Event struct {
	Kind    EventKind
	Command Command
	Option  Option
	Data    []byte // of a subnegotiation; valid only during the call. NEW-ENVIRON from us is never in it
	Size    int    // length of the subnegotiation, also of what was dropped
	At      int64  // the number of data bytes before it, from the start of the stream
}
