package telnet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"ptyctl/term"
)

// The times in which a server must confirm a setting of its serial line. One that has not confirmed the first is not
// likely to confirm the next.
const (
	confirmTime  = 3 * time.Second
	confirmAgain = 500 * time.Millisecond
)

// mostShown is how many bytes of a wrong answer are shown.
const mostShown = 16

// The values of SET-PARITY, SET-CONTROL and SET-STOPSIZE (RFC 2217), by name.
var (
	parities = map[string]Parity{
		"none": ParityNone, "odd": ParityOdd, "even": ParityEven, "mark": ParityMark, "space": ParitySpace,
	}
	flows    = map[string]FlowMode{"none": FlowNone, "xonxoff": FlowXonXoff, "rtscts": FlowHardware}
	stopBits = map[int]StopBits{1: OneStopBit, 2: TwoStopBits}
)

// A setting is one request about the server's line.
type setting struct {
	name  string
	value any // as the caller gave it
	code  byte
	data  []byte
	is    func() // notes the confirmed value
}

// settingsOf returns the requests for the fields of o that are set. is gets the values that the server confirms.
func settingsOf(o term.SerialOptions, is *term.Serial) (list []setting, err error) {
	add := func(name string, value any, code byte, data []byte, done func()) {
		list = append(list, setting{name, value, code, data, done})
	}
	if o.Baud != 0 {
		add("speed", o.Baud, comSetBaudRate, binary.BigEndian.AppendUint32(nil, uint32(o.Baud)), func() { is.Baud = o.Baud })
	}
	if o.DataBits != 0 {
		add("data bits", o.DataBits, comSetDataSize, []byte{byte(o.DataBits)}, func() { is.DataBits = o.DataBits })
	}
	wrong := ""
	if o.Parity != "" {
		p, ok := parities[o.Parity]
		if !ok {
			wrong = "parity " + o.Parity
		}
		add("parity", o.Parity, comSetParity, []byte{byte(p)}, func() { is.Parity = o.Parity })
	}
	if o.StopBits != 0 {
		s, ok := stopBits[o.StopBits]
		if !ok {
			wrong = fmt.Sprintf("number of stop bits %d", o.StopBits)
		}
		add("stop bits", o.StopBits, comSetStopSize, []byte{byte(s)}, func() { is.StopBits = o.StopBits })
	}
	if o.Flow != "" {
		f, ok := flows[o.Flow]
		if !ok {
			wrong = "flow control " + o.Flow
		}
		add("flow control", o.Flow, comSetControl, []byte{byte(f)}, func() { is.Flow = o.Flow })
	}
	for _, s := range []struct {
		name, want string
		on         Signal
	}{{"DTR", o.DTR, DTR}, {"RTS", o.RTS, RTS}} {
		switch s.want {
		case "", "keep":
		case "on":
			add(s.name, s.want, comSetControl, []byte{byte(s.on)}, func() {})
		case "off":
			add(s.name, s.want, comSetControl, []byte{byte(s.on) + 1}, func() {})
		default:
			wrong = s.name + " " + s.want
		}
	}
	if wrong != "" || o.Path != "" || o.Baud < 0 || o.DataBits < 0 || o.DataBits > 255 {
		return nil, invalid(term.FieldSerial, "this is no setting of a server's serial line: %s", wrong)
	}
	return list, nil
}

// setLine sets the server's serial line to o, before the first Read. It gives the server time to confirm each
// setting. If the server confirms nothing, or another value, doubts names the unconfirmed settings. The error is
// about o or from ctx.
func setLine(ctx context.Context, c *Conn, o term.SerialOptions) (is *term.Serial, doubts []string, err error) {
	is = new(term.Serial)
	list, err := settingsOf(o, is)
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	// The offer of Config.Offer is answered, or is not.
	pump(ctx, c, confirmTime, nil, func() bool { return c.e.states[us][ComPort] != qWantYes })
	c.mu.Lock()
	agreed := c.e.on(us, ComPort)
	c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case !agreed:
		return nil, []string{"the server offers no control of its serial line (RFC 2217), so none of its settings was " +
			"made; set the line on the server itself"}, nil
	}
	l := lineSetter{c, confirmTime}
	for _, s := range list {
		doubt := l.confirm(ctx, s)
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case doubt != "":
			doubts = append(doubts, fmt.Sprintf("the server did not confirm the %s %v: %s", s.name, s.value, doubt))
		default:
			s.is()
		}
	}
	return is, doubts, nil
}

// A lineSetter sends the requests of one setLine.
type lineSetter struct {
	c    *Conn
	wait time.Duration // how long the next answer is waited for
}

// confirm sends one request and says why it was not confirmed; empty: it was.
func (l *lineSetter) confirm(ctx context.Context, s setting) (doubt string) {
	asking, stop := context.WithTimeout(ctx, l.wait)
	defer stop()
	var got []byte
	var err error
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		got, err = l.c.com.ask(asking, s.code, s.data...)
	}()
	pump(asking, l.c, l.wait, asked, func() bool { return false })
	stop() // the stream may have ended, so that no answer comes
	<-asked
	switch {
	case errors.Is(err, term.ExecTimeout), errors.Is(err, term.Canceled):
		l.wait = confirmAgain
		return "no answer"
	case err != nil:
		return term.RootCause(err).Error()
	}
	// Some servers put a NUL behind their values.
	if n := len(s.data); len(got) > n && len(bytes.Trim(got[n:], "\x00")) == 0 {
		got = got[:n]
	}
	switch {
	case bytes.Equal(got, s.data):
		return ""
	case s.code == comSetBaudRate && len(got) == 4:
		return fmt.Sprintf("it says %d", binary.BigEndian.Uint32(got))
	}
	return fmt.Sprintf("it says % x, not % x", got[:min(len(got), mostShown)], s.data)
}

// pump reads ahead until stop is closed, met returns true (it is called with c.mu held), or limit has passed. It is
// for the time before the first Read, which otherwise answers the server.
func pump(ctx context.Context, c *Conn, limit time.Duration, stop <-chan struct{}, met func() bool) {
	c.reading.Lock()
	defer c.reading.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		c.mu.Lock()
		done := met()
		c.mu.Unlock()
		// A line that sends without end fills the memory that a reader has: the rest is for the first Read.
		if done || c.readErr != nil || len(c.ahead) >= settleAhead {
			return
		}
		f := c.fill()
		select {
		case <-f.done:
			c.filling = nil
			n, _ := c.received(f.p[:f.n], f.err)
			c.ahead = append(c.ahead, f.p[:n]...)
		case <-stop:
			return
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// offering returns the options to offer with that of RFC 2217, for which some servers wait.
func offering(offer []Option) []Option {
	if slices.Contains(offer, ComPort) {
		return offer
	}
	return append(slices.Clone(offer), ComPort)
}
