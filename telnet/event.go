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
	CommandRun                              // of a Decoder: Data is the second bytes of two-byte commands in a row; see Event.Each
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

// Each calls yield for each command of a CommandRun, as CommandReceived, StraySE or NotACommand, and for any other event
// once.
func (e Event) Each(yield func(Event)) {
	if e.Kind != CommandRun {
		yield(e)
		return
	}
	for _, b := range e.Data {
		yield(Event{Kind: kindOf(b), Command: Command(b), At: e.At})
	}
}

// kindOf says what b is after IAC, outside of a subnegotiation, if it has no operand.
func kindOf(b byte) EventKind {
	switch {
	case b == cmdSE:
		return StraySE
	case b >= cmdEOF:
		return CommandReceived
	default:
		return NotACommand
	}
}
