package telnet

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/telnet"
	"ptyctl/term"
)

// telnetSerialSettings reads and sets the serial line (RFC 2217), and looks at the line itself.
func telnetSerialSettings(t *testing.T) {
	s := lab.StartSerial(t)
	terminal, k := openTelnet(t, s.Target())
	k.login(s.TelnetServer)
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	conn := terminal.Conn()
	if name, err := conn.SerialServer(ctx); err != nil || name != "ser2net" {
		t.Errorf("the server calls itself %q, %v", name, err)
	}
	was, err := conn.SetSerial(ctx, telnet.SerialLine{})
	if want := (telnet.SerialLine{
		Speed: 9600, DataBits: 8, Parity: telnet.ParityNone, StopBits: telnet.OneStopBit, Flow: telnet.FlowNone,
	}); err != nil ||
		was != want {
		t.Errorf("the line is %+v, %v; want %+v", was, err, want)
	}
	want := telnet.SerialLine{
		Speed:    115200,
		DataBits: 8,
		Parity:   telnet.ParityNone,
		StopBits: telnet.TwoStopBits,
		Flow:     telnet.FlowXonXoff,
	}
	if is, err := conn.SetSerial(ctx, want); err != nil || is != want {
		t.Errorf("the line became %+v, %v; want %+v", is, err, want)
	}
	for _, setting := range []string{`speed 115200 baud`, `\scstopb\s`, `\sixon\s`} {
		if is := s.Settings(t); !regexp.MustCompile(setting).MatchString(is) {
			t.Errorf("the line is not set to %q:\n%s", setting, is)
		}
	}
	if err := conn.Purge(ctx, telnet.PurgeReceived); err != nil {
		t.Error(err)
	}
	if err := conn.WatchSerial(ctx, telnet.LineBreak, telnet.ModemCTS|telnet.ModemDCD); err != nil {
		t.Error(err)
	}
	if err := terminal.Resize(80, 24); term.KindOf(err) != term.Unsupported {
		t.Errorf("a serial line has a window: %v", err)
	}
	k.ask("echo $((6*7))", `\n42\r\n`)
}

// telnetSerialBreak sends a BREAK through ser2net, and the device must see it begin and end. Bytes typed before and
// after it must keep their order.
func telnetSerialBreak(t *testing.T) {
	s, device := lab.StartSerialDevice(t)
	terminal, k := openTelnet(t, s.Target())
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	k.send("before")
	k.wait("before$")
	if err := terminal.SendKey(ctx, term.KeyBreak); err != nil {
		t.Fatal(err)
	}
	k.send("after")
	k.wait("after$")
	on, off := device.Breaks()
	if got := device.Received.String(); !inOrder(got, "before", on, off, "after") {
		t.Errorf("the device received %q", got)
	}
	if is, err := terminal.Conn().SetSignal(ctx, telnet.DTR, false); err != nil || is {
		t.Errorf("DTR: %t, %v", is, err)
	}
	if is, err := terminal.Conn().SetSerial(
		ctx, telnet.SerialLine{Speed: 300, DataBits: 7, Parity: telnet.ParityEven},
	); err != nil ||
		is.Speed != 300 ||
		is.DataBits != 7 ||
		is.Parity != telnet.ParityEven {
		t.Errorf("300 7E: %+v, %v", is, err)
	}
}

// inOrder reports whether the parts are in text, one after the other.
func inOrder(text string, parts ...string) bool {
	for _, p := range parts {
		_, rest, ok := strings.Cut(text, p)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// telnetSerialBytes sends every byte through ser2net, which passes them on, and must get each one back.
func telnetSerialBytes(t *testing.T) {
	s, _ := lab.StartSerialDevice(t)
	_, k := openTelnet(t, s.Target())
	k.send("begin")
	k.wait("begin$")
	var all strings.Builder
	for b := range 256 {
		all.WriteByte(byte(b))
	}
	k.send(all.String() + "end")
	if got, _ := strings.CutSuffix(k.wait("end$"), "end"); got != all.String() {
		t.Errorf("the device echoes %q", got)
	}
}
