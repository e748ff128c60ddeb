package lab

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A SerialServer is ser2net with one serial line. One client at a time can have it.
type SerialServer struct {
	*TelnetServer
	line string // the terminal of its serial line; empty if the line is behind another RFC 2217 server
}

// StartSerial starts ser2net on a pair of pseudo-terminals, with a shell as the device at the other end. Such a line
// has a speed and stop bits, which settings reads, but no parity in effect and no BREAK.
func StartSerial(tb testing.TB) *SerialServer {
	tb.Helper()
	// socat(1) takes a path up to the first comma, and a test's own folder is named after the test.
	dir, err := os.MkdirTemp("", "ptyctl-serial-") //nolint:usetesting // see above
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	line := filepath.Join(dir, "line")
	device := writeScript(
		tb,
		dir,
		"device",
		"exec env -i PATH=/usr/bin:/bin TERM=dumb HOME='"+dir+"' PS1='device$ ' /bin/sh -i\n",
	)
	startTelnetProcess(
		tb,
		[]string{"/usr/bin/socat", "pty,raw,echo=0,link=" + line, "exec:" + device + ",pty,setsid,ctty,stderr"},
	)
	Eventually(tb, "the serial line", func() bool { _, err := os.Stat(line); return err == nil })
	s := startSer2net(tb, "serialdev,"+line+",9600n81,local")
	s.Prompt = `device\$ $`
	return &SerialServer{s, line}
}

// Settings are those of the serial line, as stty(1) shows them.
func (s *SerialServer) Settings(tb testing.TB) string {
	tb.Helper()
	out, err := exec.Command("/usr/bin/stty", "-F", s.line, "-a").CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// startSer2net starts ser2net with a connector in its configuration's terms.
func startSer2net(tb testing.TB, connector string) *TelnetServer {
	tb.Helper()
	dir := tb.TempDir()
	s := &TelnetServer{Name: "ser2net"}
	s.Process, s.Port = startTelnet(tb, func(port int) []string {
		config := filepath.Join(dir, fmt.Sprintf("%d.yaml", port))
		text := fmt.Sprintf(
			"connection: &line\n  accepter: telnet(rfc2217),tcp,127.0.0.1,%d\n  connector: %s\n",
			port,
			connector,
		)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		// -n -d: in the foreground; -u: no lock file in /var/lock.
		return []string{"/usr/sbin/ser2net", "-n", "-d", "-u", "-c", config, "-P", filepath.Join(dir, "pid")}
	})
	return s
}

// A SerialDevice is a serial line that shows BREAKs: the test's own RFC 2217 server, with ser2net as its client, which
// passes on the requests of its own client. It grants every request, and echoes all data.
type SerialDevice struct {
	Received *Capture // all bytes from ser2net
}

// RFC 2217 section 3, and RFC 854.
const (
	comPort         = 44
	setControl      = 5
	controlBreakOn  = 5
	controlBreakOff = 6
)

// Breaks returns the device's output when a BREAK begins and when it ends.
func (*SerialDevice) Breaks() (on, off string) {
	return "\xff\xfa" + string([]byte{comPort, setControl, controlBreakOn}) + "\xff\xf0",
		"\xff\xfa" + string([]byte{comPort, setControl, controlBreakOff}) + "\xff\xf0"
}

// StartSerialDevice starts ser2net on such a line.
func StartSerialDevice(tb testing.TB) (*TelnetServer, *SerialDevice) {
	tb.Helper()
	d := &SerialDevice{Received: NewCapture()}
	port := StartListener(tb, d.serve)
	return startSer2net(tb, fmt.Sprintf("telnet(rfc2217),tcp,127.0.0.1,%d", port)), d
}

func (d *SerialDevice) serve(conn net.Conn) {
	var in []byte
	for {
		p := make([]byte, 512)
		n, err := conn.Read(p)
		if err != nil {
			return
		}
		_, _ = d.Received.Write(p[:n])
		in = append(in, p[:n]...)
		var out []byte
		out, in = serialAnswer(in)
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// serialAnswer returns the device's answer to in, and the incomplete rest of in.
func serialAnswer(in []byte) (out, rest []byte) {
	const iac, sb, do, will = 0xff, 0xfa, 0xfd, 0xfb
	end := []byte{iac, 0xf0}
	for len(in) > 0 {
		switch {
		case in[0] != iac:
			out, in = append(out, in[0]), in[1:]
		case len(in) < 2:
			return out, in
		case in[1] == sb:
			text, after, complete := bytes.Cut(in, end)
			if !complete || len(text) < 4 {
				return out, in
			}
			const reply = 100 // the server answers a request with its code plus this
			out = append(append(append(out, iac, sb, comPort, text[3]+reply), text[4:]...), end...)
			in = after
		case in[1] > sb && in[1] != iac && len(in) < 3:
			return out, in
		case in[1] == will && in[2] == comPort:
			out, in = append(out, iac, do, comPort), in[3:]
		case in[1] == iac:
			out, in = append(out, iac, iac), in[2:]
		case in[1] > sb:
			in = in[3:]
		default:
			in = in[2:]
		}
	}
	return out, nil
}
