package telnet

// An EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events: everything that the peer sends besides data.
const (
	CommandReceived        EventKind = iota // Command only, for example DM, GA or EOR
	OptionReceived                          // Command is WILL, WONT, DO or DONT; Option is its operand
	SubnegotiationReceived                  // Option and Data
	SubnegotiationCut                       // the same, ended by Command instead of SE
	SubnegotiationOverflow                  // Option; dropped because longer than 4 KiB or 10 s
	SubnegotiationLost                      // Option; not ended within 64 KiB, so data resumes
	StraySE                                 // SE outside of a subnegotiation
	NotACommand                             // Command is the byte after IAC, below EOF in the list of commands
	TruncatedAtEOF                          // the stream ended inside a command
	CommandRun                              // from a Decoder: Data is the codes of adjacent commands; see Event.Each
)

// An Event is an element of the stream that is not data.
type Event struct {
	Kind    EventKind
	Command Command
	Option  Option
	Data    []byte // of a subnegotiation; valid only during the call
	Size    int    // length of the subnegotiation, including dropped bytes
	At      int64  // number of data bytes before it in the stream
}

// Each calls yield for each command of a CommandRun, as CommandReceived, StraySE or
// NotACommand. For any other event it calls yield once.
func (e Event) Each(yield func(Event)) {
	if e.Kind != CommandRun {
		yield(e)
		return
	}
	for _, b := range e.Data {
		yield(Event{Kind: kindOf(b), Command: Command(b), At: e.At})
	}
}

// kindOf returns the kind of the byte b after IAC, outside of a subnegotiation, for a command
// without an operand.
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
