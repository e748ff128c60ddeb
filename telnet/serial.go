package telnet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"ptyctl/term"
)

// The requests of COM-PORT-CONTROL, client to server (RFC 2217 section 3). The answer's code is 100 more.
const (
	comSignature       = 0
	comSetBaudRate     = 1
	comSetDataSize     = 2
	comSetParity       = 3
	comSetStopSize     = 4
	comSetControl      = 5
	comNotifyLine      = 6 // from the server only
	comNotifyModem     = 7 // from the server only
	comSetLineMask     = 10
	comSetModemMask    = 11
	comPurgeData       = 12
	comAnswer          = 100
	comControlBreakOn  = 5
	comControlBreakOff = 6
)

// signature is the client's name for a server that asks (RFC 2217, SIGNATURE).
const signature = "ptyctl"

// serial is the engine's part of COM-PORT-CONTROL: one request at a time.
type serial struct {
	code   byte          // of the request in progress
	value  byte          // its first byte
	answer chan<- []byte // nil without a request in progress
	line   LineState     // last reported
	modem  ModemState    // last reported
	asked  bool          // the server asks for our signature
}

// hear handles a subnegotiation of COM-PORT-CONTROL.
func (s *serial) hear(code byte, data []byte) {
	notice := len(data) == 1 && (code == comAnswer+comNotifyLine || code == comAnswer+comNotifyModem)
	switch {
	case notice && code == comAnswer+comNotifyLine:
		s.line = LineState(data[0])
	case notice:
		s.modem = ModemState(data[0])
	}
	// A mask request may get the wrong answer code:
	// for example, ser2net 4.3 answers a mask with the state instead of the mask.
	if notice && s.answer != nil && code == comAnswer+s.code-comSetLineMask+comNotifyLine {
		code = comAnswer + s.code
	}
	// SET-CONTROL is for several settings. A late answer about another setting does not answer the request.
	if code == comAnswer+comSetControl && len(data) > 0 && controlOf(data[0]) != controlOf(s.value) {
		return
	}
	switch {
	case s.answer != nil && code == comAnswer+s.code:
		s.answer <- append([]byte(nil), data...)
		s.answer = nil
	case code == comAnswer+comSignature && len(data) == 0:
		s.asked = true
	}
}

// controlOf returns the setting that a value of SET-CONTROL is about: its first value (RFC 2217). A value of none may be
// about any.
func controlOf(value byte) byte {
	switch {
	case value <= 3, value >= 17 && value <= 19: // flow control of both directions, or by DCD, DTR and DSR
		return 0
	case value <= 6:
		return 4 // the break
	case value <= 9:
		return 7 // DTR
	case value <= 12:
		return 10 // RTS
	}
	return 13 // flow control of the other direction
}

// lost ends the wait for an answer when the server gives the option up.
func (s *serial) lost() {
	if s.answer != nil {
		close(s.answer)
		s.answer = nil
	}
}

// Parity is the parity of a serial line (RFC 2217, SET-PARITY).
type Parity byte

// The parities.
const (
	ParityNone  Parity = 1
	ParityOdd   Parity = 2
	ParityEven  Parity = 3
	ParityMark  Parity = 4
	ParitySpace Parity = 5
)

// StopBits is the number of stop bits of a serial line (RFC 2217, SET-STOPSIZE).
type StopBits byte

// The numbers of stop bits.
const (
	OneStopBit         StopBits = 1
	TwoStopBits        StopBits = 2
	OneAndHalfStopBits StopBits = 3
)

// FlowMode is the flow control of a serial line (RFC 2217, SET-CONTROL 1 to 3).
type FlowMode byte

// The modes of flow control.
const (
	FlowNone     FlowMode = 1
	FlowXonXoff  FlowMode = 2
	FlowHardware FlowMode = 3
)

// SerialLine is the settings of a serial line. A zero field leaves the setting unchanged and
// asks for its value.
type SerialLine struct {
	Speed    uint32 // bits a second
	DataBits byte   // 5 to 8
	Parity   Parity
	StopBits StopBits
	Flow     FlowMode
}

// A Signal is a control line of a serial line (RFC 2217, SET-CONTROL 8 to 12).
type Signal byte

// The signals that SetSignal sets.
const (
	DTR Signal = 8  // and 9 for off
	RTS Signal = 11 // and 12
)

// Purge selects the server's buffers to empty (RFC 2217, PURGE-DATA).
type Purge byte

// The buffers.
const (
	PurgeReceived Purge = 1 // data from the device
	PurgeWaiting  Purge = 2 // data to the device
	PurgeBoth     Purge = 3
)

// LineState is the value of NOTIFY-LINESTATE: the line status register of a 16550 (RFC 2217).
type LineState byte

// The bits of a LineState: overrun, parity and framing errors, and a break from the device.
const (
	LineOverrun LineState = 1 << 1
	LineParity  LineState = 1 << 2
	LineFraming LineState = 1 << 3
	LineBreak   LineState = 1 << 4
)

// ModemState is the value of NOTIFY-MODEMSTATE: the modem status register of a 16550 (RFC
// 2217).
type ModemState byte

// The bits of a ModemState.
const (
	ModemCTS ModemState = 1 << 4
	ModemDSR ModemState = 1 << 5
	ModemRI  ModemState = 1 << 6
	ModemDCD ModemState = 1 << 7
)

// SetSerial sets the server's serial line (RFC 2217) and returns the resulting settings,
// which may differ from the requested ones.
func (c *Conn) SetSerial(ctx context.Context, want SerialLine) (is SerialLine, err error) {
	speed, err := c.com.ask(ctx, comSetBaudRate, binary.BigEndian.AppendUint32(nil, want.Speed)...)
	if err != nil {
		return is, err
	}
	if len(speed) != 4 {
		return is, errComPort(comSetBaudRate, speed)
	}
	is.Speed = binary.BigEndian.Uint32(speed)
	for _, f := range []struct {
		code, want byte
		is         *byte
	}{
		{comSetDataSize, want.DataBits, &is.DataBits},
		{comSetParity, byte(want.Parity), (*byte)(&is.Parity)},
		{comSetStopSize, byte(want.StopBits), (*byte)(&is.StopBits)},
		{comSetControl, byte(want.Flow), (*byte)(&is.Flow)},
	} {
		if *f.is, err = c.com.askByte(ctx, f.code, f.want); err != nil {
			return is, err
		}
	}
	return is, nil
}

// SetSignal raises or lowers DTR or RTS, and returns the resulting state.
func (c *Conn) SetSignal(ctx context.Context, s Signal, on bool) (bool, error) {
	want := byte(s)
	if !on {
		want++
	}
	is, err := c.com.askByte(ctx, comSetControl, want)
	return is == byte(s), err
}

// Purge empties the server's buffers.
func (c *Conn) Purge(ctx context.Context, what Purge) error {
	_, err := c.com.askByte(ctx, comPurgeData, byte(what))
	return err
}

// WatchSerial selects the changes of line and modem that the server should report.
// SerialState returns them.
func (c *Conn) WatchSerial(ctx context.Context, line LineState, modem ModemState) error {
	if _, err := c.com.ask(ctx, comSetLineMask, byte(line)); err != nil {
		return err
	}
	_, err := c.com.ask(ctx, comSetModemMask, byte(modem))
	return err
}

// SerialState returns the states that the server reported last, or zero.
func (c *Conn) SerialState() (LineState, ModemState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.e.serial.line, c.e.serial.modem
}

// SerialServer returns the server's signature: its name, in a form of its own.
func (c *Conn) SerialServer(ctx context.Context) (string, error) {
	name, err := c.com.ask(ctx, comSignature)
	return string(name), err
}

// breakTime is the length of a break: longer than a character at 50 bits a second.
const breakTime = 300 * time.Millisecond

// Break sends a break: on the serial line if the server controls one (RFC 2217), else as the
// command BRK, which each server handles in its own way.
func (c *Conn) Break(ctx context.Context) error {
	c.mu.Lock()
	serial := c.e.on(us, ComPort)
	c.mu.Unlock()
	if !serial {
		return c.Send(BRK)
	}
	if err := c.com.lock(ctx); err != nil {
		return err
	}
	defer c.com.unlock()
	// The break must last breakTime even if the server answers late or not at all.
	held := time.NewTimer(breakTime)
	defer held.Stop()
	answering, cancel := context.WithTimeout(ctx, breakTime)
	defer cancel()
	// A server may start the break without an answer.
	if _, err := c.com.request(answering, comSetControl, comControlBreakOn); err != nil &&
		!errors.Is(err, term.ExecTimeout) {
		c.com.breakOff()
		return err
	}
	select {
	case <-held.C:
	case <-ctx.Done():
		c.com.breakOff()
		return unanswered(ctx, "break")
	case <-c.done:
	}
	// It has ended it, without an answer as well.
	ending, cancel := context.WithTimeout(ctx, confirmAgain)
	defer cancel()
	if _, err := c.com.request(ending, comSetControl, comControlBreakOff); !errors.Is(err, term.ExecTimeout) || ctx.Err() != nil {
		return err
	}
	return nil
}

// errComPort returns the error of an answer with a wrong length.
func errComPort(code byte, got []byte) error {
	return &term.Error{
		Op:   "serial",
		Kind: term.IOError,
		Msg:  fmt.Sprintf("invalid answer of the server to request %d: % x", code, got),
	}
}
