package telnet

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
	"ptyctl/internal/transcript"
	"ptyctl/telnet"
	"ptyctl/term"
)

var update = flag.Bool("update", false, "record connections to Telnet servers into ../telnet/testdata")

// TestTelnetRecord has one conversation with each server and, with -update, writes down the bytes that passed over the
// wire. The tests of package telnet play the server from that.
//
//	go test -run TestTelnetRecord ./integration/telnet -update
func TestTelnetRecord(t *testing.T) {
	for _, test := range []struct {
		name    string
		about   string
		start   func(testing.TB) *lab.TelnetServer
		config  telnet.Config
		talk    func(*recording)
		carries []string // text that the data must contain
	}{
		{
			name: "inetutils", about: "GNU inetutils telnetd, started as telnetd -h -E login", start: lab.StartInetutils,
			talk: func(r *recording) { r.shell() }, carries: []string{"xterm-256color 40 120", "héllo", "^C"},
		},
		{
			name: "inetutils-nvt", about: "GNU inetutils telnetd, whose client refuses BINARY", start: lab.StartInetutils,
			config: telnet.Config{Binary: telnet.BinaryNever}, talk: func(r *recording) { r.shell() },
			carries: []string{"xterm-256color 40 120", "^C"},
		},
		{
			name: "inetutils-nowindow", about: "GNU inetutils telnetd, whose client tells neither terminal nor window",
			start:   lab.StartInetutils,
			config:  telnet.Config{NoWindow: true},
			talk:    func(r *recording) { r.login(r.server); r.do("echo done", `\ndone\r\ndemo\$ $`) },
			carries: []string{"\ndone"},
		},
		{
			name: "inetutils-keys", about: "GNU inetutils telnetd, the keys that are commands of the protocol",
			start:  lab.StartInetutils,
			config: telnet.Config{Cols: 80, Rows: 24}, talk: (*recording).keys, carries: []string{"24 80", "[Yes]", "^C"},
		},
		{
			name: "inetutils-binary", about: "GNU inetutils telnetd, whose client asks for BINARY in both directions",
			start:  lab.StartInetutils,
			config: telnet.Config{Binary: telnet.BinaryAlways}, talk: func(r *recording) { r.shell() },
			carries: []string{"xterm-256color 40 120", "héllo", "^C"},
		},
		{
			name: "busybox", about: "busybox telnetd, started as busybox telnetd -F -l login", start: lab.StartBusybox,
			talk: func(r *recording) { r.shell() }, carries: []string{"xterm 40 120", "héllo", "^C"},
		},
		{
			name: "frr", about: "FRRouting bgpd, a window of 12 rows", start: lab.StartRouter,
			config: telnet.Config{Rows: 12}, talk: (*recording).router, carries: []string{
				" --More-- ", "edge(config)# ", "% [BGP] Unknown command",
			},
		},
		{
			name: "frr-endless", about: "FRRouting bgpd, a window that is told to have no rows", start: lab.StartRouter,
			config:  telnet.Config{Cols: -1, Rows: -1},
			talk:    func(r *recording) { r.login(r.server); r.do("list", `( --More-- |\nr1> )$`) },
			carries: []string{"show version"},
		},
		{
			name: "frr-passwords", about: "FRRouting bgpd, three wrong passwords", start: lab.StartRouter,
			talk: (*recording).passwords, carries: []string{"too many failures"},
		},
		{
			name: "ser2net", about: "ser2net, accepter telnet(rfc2217), with a shell on the serial line",
			start:   func(tb testing.TB) *lab.TelnetServer { return lab.StartSerial(tb).TelnetServer },
			talk:    func(r *recording) { r.login(r.server); r.do("echo done", `\ndone\r\ndevice\$ $`) },
			carries: []string{"\ndone"},
		},
		{
			name: "ser2net-break", about: "ser2net, accepter telnet(rfc2217), a BREAK",
			start: func(tb testing.TB) *lab.TelnetServer { s, _ := lab.StartSerialDevice(tb); return s },
			talk:  (*recording).breakLine, carries: []string{"before", "after"},
		},
		{
			name: "go-telnet", about: "go-telnet's shell server, which never negotiates", start: lab.StartGoTelnet,
			config: telnet.Config{Enter: telnet.EnterCRLF}, talk: func(r *recording) {
				r.login(r.server)
				r.do("show", `not found\r\ngo-telnet> $`)
				r.do("exit", `Goodbye!\r\n$`)
				r.end()
			}, carries: []string{"Goodbye!"},
		},
		{
			name: "raw-echo", about: "a TCP port that sends back what it gets",
			start: func(tb testing.TB) *lab.TelnetServer { s, _ := lab.StartRaw(tb); return s },
			talk:  func(r *recording) { r.login(r.server); r.do("hello", `hello\r$`) }, carries: []string{"hello"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := record(t, test.start(t), test.config, test.about)
			test.talk(r)
			text := r.wire.Bytes()
			recorded, err := transcript.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			var data []byte
			for _, e := range recorded.Events {
				if e.Dir == '=' {
					data = append(data, e.Data...)
				}
			}
			for _, want := range test.carries {
				if !bytes.Contains(data, []byte(want)) {
					t.Errorf("the data is without %q: %q", want, data)
				}
			}
			file := filepath.Join("..", "..", "telnet", "testdata", test.name+".transcript")
			if *update {
				replaceFile(t, file, text)
			} else if _, err := os.Stat(file); err != nil {
				t.Errorf("%v: record it with go test -run TestTelnetRecord ./integration/telnet -update", err)
			}
		})
	}
}

// replaceFile writes a file that others may read meanwhile.
func replaceFile(tb testing.TB, file string, text []byte) {
	tb.Helper()
	whole := file + ".new"
	if err := os.WriteFile(whole, text, 0o644); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(whole, file); err != nil {
		tb.Fatal(err)
	}
}

// A recording is a talk with a record of its wire.
type recording struct {
	*talk
	server *lab.TelnetServer
	conn   *telnet.Conn
	wire   *transcript.Recorder
}

// record connects to the server.
func record(tb testing.TB, s *lab.TelnetServer, c telnet.Config, about string) *recording {
	tb.Helper()
	r := &recording{server: s}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
			var failed error // the recorder hides the connection from those who would do this
			err := raw.Control(func(fd uintptr) { failed = system.UrgentInLine(fd) })
			if err == nil {
				err = failed
			}
			return err
		}}
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		r.wire = transcript.Record(conn)
		r.wire.Comment(about)
		for _, setting := range []struct{ name, value string }{
			{"binary", string(c.Binary)}, {"enter", string(c.Enter)}, {"mode", string(c.Mode)},
		} {
			if setting.value != "" {
				r.wire.Set(setting.name, setting.value)
			}
		}
		if c.NoWindow {
			r.wire.Set("nowindow")
		}
		if size := (term.PTY{Cols: c.Cols, Rows: c.Rows}).OrDefault(); c.Cols != 0 || c.Rows != 0 {
			r.wire.Set("size", strconv.Itoa(size.Cols), strconv.Itoa(size.Rows))
		}
		return r.wire, nil
	}
	hook := func(ctx context.Context, network, address string, _ term.Approve) (net.Conn, error) {
		return dial(ctx, network, address)
	}
	conn, err := telnet.Dialer{Config: c, Dial: hook}.DialContext(tb.Context(), "tcp", s.Address())
	if err != nil {
		tb.Fatal(err)
	}
	r.conn = conn
	r.talk = newTalk(tb, &recordedConn{conn, r.wire})
	return r
}

// A recordedConn records the bytes that its user sends and receives.
type recordedConn struct {
	*telnet.Conn
	wire *transcript.Recorder
}

func (c *recordedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.wire.Got(p[:n])
	}
	return n, err
}

func (c *recordedConn) Write(p []byte) (int, error) {
	c.wire.Did("write", string(p))
	return c.Conn.Write(p)
}

// do types a line, and waits.
func (r *recording) do(line, pattern string) { r.tb.Helper(); r.ask(line, pattern) }

// key presses a key of the protocol.
func (r *recording) key(name string) {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(r.tb.Context(), lab.Patience)
	defer cancel()
	r.wire.Did("key", name)
	if err := r.conn.SendKey(ctx, name); err != nil {
		r.tb.Fatal(err)
	}
}

// end waits until the server has closed.
func (r *recording) end() {
	r.tb.Helper()
	r.waitEnd()
	r.wire.Did("eof")
}

// window sends another size. The client sends a size at most every 50 ms, and the recording must not depend on that.
func (r *recording) window(cols, rows int) {
	r.tb.Helper()
	time.Sleep(100 * time.Millisecond)
	r.wire.Did("resize", strconv.Itoa(cols), strconv.Itoa(rows))
	if err := r.conn.Resize(cols, rows); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *recording) shell() {
	r.login(r.server)
	r.do("", r.server.Prompt)
	r.do("echo $TERM $(stty size)", `\n\S+ \d+ \d+\r\ndemo\$ $`)
	r.do("echo 'héllo€'", `\nh.*\r\ndemo\$ $`)
	r.do(`printf '<\377\376>\n'`, `>\r\ndemo\$ $`)
	r.window(100, 30)
	r.do("stty size", `\n30 100\r\ndemo\$ $`)
	r.do(lab.TelnetSleep, `\nbegun\r\n$`)
	r.send("\x03")
	r.wait(r.server.Prompt)
	r.do("echo $?", `\n130\r\ndemo\$ $`)
	r.send("exit\r")
	r.end()
}

func (r *recording) keys() {
	r.login(r.server)
	r.do("stty size", `\n24 80\r\ndemo\$ $`)
	r.key(term.KeyAreYouThere)
	r.wait(`\[Yes\]`)
	r.do(lab.TelnetSleep, `\nbegun\r\n$`)
	r.key(term.KeyInterruptProcess)
	r.wait(r.server.Prompt)
	r.send("exit\r")
	r.end()
}

func (r *recording) router() {
	r.login(r.server)
	r.do("", `r1> $`)
	r.do("enable", `Password: $`)
	r.do(r.server.Enable, `r1# $`)
	r.do("list", ` --More-- $`)
	r.send(" ")
	r.wait(` --More-- $`)
	r.send("q")
	r.wait(`r1# $`)
	r.window(100, 20)
	r.do("list", ` --More-- $`)
	r.send("q")
	r.wait(`r1# $`)
	r.do("configure terminal", `\(config\)# $`)
	r.do("hostname edge", `edge\(config\)# $`)
	r.do("end", `edge# $`)
	r.do("bogus", `command: bogus\r\nedge# $`)
	r.send("show vers")
	r.wait(`show vers$`)
	r.send("\x03")
	r.wait(`edge# $`)
	r.send("exit\r")
	r.end()
}

func (r *recording) passwords() {
	for range 3 {
		r.wait(`Password: $`)
		r.send("wrong\r")
	}
	r.end()
}

func (r *recording) breakLine() {
	r.send("before")
	r.wait("before$")
	r.key(term.KeyBreak)
	r.send("after é\xff\x00\r\n")
	r.wait("\x00\r\n$")
}
