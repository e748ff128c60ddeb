package telnet

import "strconv"

// Commands (RFC 854, RFC 885, RFC 1184).
const (
	cmdEOF   byte = 236 // end of file
	cmdSUSP  byte = 237 // suspend process
	cmdABORT byte = 238 // abort process
	cmdEOR   byte = 239 // end of record
	cmdSE    byte = 240 // end of subnegotiation
	cmdNOP   byte = 241
	cmdDM    byte = 242 // data mark
	cmdBRK   byte = 243 // break
	cmdIP    byte = 244 // interrupt process
	cmdAO    byte = 245 // abort output
	cmdAYT   byte = 246 // are you there
	cmdEC    byte = 247 // erase character
	cmdEL    byte = 248 // erase line
	cmdGA    byte = 249 // go ahead
	cmdSB    byte = 250 // subnegotiation
	cmdWILL  byte = 251
	cmdWONT  byte = 252
	cmdDO    byte = 253
	cmdDONT  byte = 254
	cmdIAC   byte = 255 // interpret as command
)

// A Command is a command without an operand (RFC 854; EOF, SUSP and ABORT: RFC 1184; EOR: RFC 885).
type Command byte

// The commands that Conn.Send accepts.
const (
	EOF   = Command(cmdEOF)
	SUSP  = Command(cmdSUSP)
	ABORT = Command(cmdABORT)
	EOR   = Command(cmdEOR)
	NOP   = Command(cmdNOP)
	DM    = Command(cmdDM)
	BRK   = Command(cmdBRK)
	IP    = Command(cmdIP)
	AO    = Command(cmdAO)
	AYT   = Command(cmdAYT)
	EC    = Command(cmdEC)
	EL    = Command(cmdEL)
	GA    = Command(cmdGA)
)

// commandNames holds the names from EOF (236) to IAC (255), in the order of their codes.
var commandNames = [...]string{
	"EOF", "SUSP", "ABORT", "EOR", "SE", "NOP", "DM", "BRK", "IP", "AO",
	"AYT", "EC", "EL", "GA", "SB", "WILL", "WONT", "DO", "DONT", "IAC",
}

// String returns the RFC's abbreviation, for example "AYT", or the number of an unnamed
// command.
func (c Command) String() string {
	if byte(c) >= cmdEOF {
		return commandNames[byte(c)-cmdEOF]
	}
	return strconv.Itoa(int(c))
}

// An Option is a Telnet option's code.
type Option byte

// The options that this package knows, with their RFCs. Config says which of them it accepts.
const (
	Binary         Option = 0  // RFC 856
	Echo           Option = 1  // RFC 857
	SGA            Option = 3  // suppress go ahead, RFC 858
	Status         Option = 5  // RFC 859
	TimingMark     Option = 6  // RFC 860
	Logout         Option = 18 // RFC 727
	TerminalType   Option = 24 // RFC 1091
	EndOfRecord    Option = 25 // RFC 885
	NAWS           Option = 31 // negotiate about window size, RFC 1073
	TerminalSpeed  Option = 32 // RFC 1079
	FlowControl    Option = 33 // RFC 1372; refused
	Linemode       Option = 34 // RFC 1184; refused
	XDisplay       Option = 35 // RFC 1096; refused: it would reveal the local machine
	OldEnviron     Option = 36 // RFC 1408; refused: a BSD telnetd hangs with both this and NewEnviron
	Authentication Option = 37 // RFC 2941; refused
	Encryption     Option = 38 // RFC 2946; refused
	NewEnviron     Option = 39 // RFC 1572
	Charset        Option = 42 // RFC 2066
	ComPort        Option = 44 // RFC 2217
)

// optionNames holds the names of the known options in the IANA registry of Telnet options.
var optionNames = map[Option]string{
	Binary: "binary", Echo: "echo", SGA: "suppress_go_ahead", Status: "status", TimingMark: "timing_mark",
	Logout: "logout", TerminalType: "terminal_type", EndOfRecord: "end_of_record", NAWS: "naws",
	TerminalSpeed: "terminal_speed", FlowControl: "remote_flow_control", Linemode: "linemode",
	XDisplay: "x_display_location", OldEnviron: "environment", Authentication: "authentication",
	Encryption: "encryption", NewEnviron: "new_environment", Charset: "charset", ComPort: "com_port_control",
}

// String returns the option's name in the IANA registry of Telnet options, in lower case, or
// "option_N" for an unknown one.
func (o Option) String() string {
	if name, ok := optionNames[o]; ok {
		return name
	}
	return "option_" + strconv.Itoa(int(o))
}
