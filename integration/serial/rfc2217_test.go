package serial

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/term"
)

// TestSer2net sets the line of ser2net when the session is opened. The line is a pseudo-terminal, which has no parity.
func TestSer2net(t *testing.T) {
	t.Parallel()
	s := lab.StartSerial(t)
	c := lab.NewHome(t, "[server]", `results = "full"`).Connect(t)
	id, r := c.OpenTelnet(t, s.TelnetServer, `,"serial":{"baud":115200,"stop_bits":2,"flow":"xonxoff"}`)
	if got, want := lineOf(t, r), (term.Serial{Baud: 115200, StopBits: 2, Flow: "xonxoff"}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server has confirmed %+v, want %+v: %s", got, want, r.Text)
	}
	for _, setting := range []string{`speed 115200 baud`, `\scstopb\s`, `\sixon\s`} {
		if is := s.Settings(t); !regexp.MustCompile(setting).MatchString(is) {
			t.Errorf("the line is not set to %q:\n%s", setting, is)
		}
	}
	c.Close(t, id)
}

// TestPySerial sets everything that there is, and sends a break, which the line sees begin and end.
func TestPySerial(t *testing.T) {
	t.Parallel()
	s, settings := lab.StartPySerial(t)
	c := lab.NewHome(t, "[server]", `results = "full"`).Connect(t)
	id, r := c.OpenTelnet(t, s,
		`,"serial":{"baud":19200,"data_bits":7,"parity":"even","stop_bits":2,"flow":"rtscts","dtr":"off","rts":"keep"}`)
	settings(`\n19200 7E2 flow=rtscts dtr=0 rts=1 break=0\n`)
	want := term.Serial{Baud: 19200, DataBits: 7, Parity: "even", StopBits: 2, Flow: "rtscts"}
	if got := lineOf(t, r); fmt.Sprint(got) != fmt.Sprint(want) || strings.Contains(r.Text, "did not confirm") {
		t.Errorf("the server has confirmed %+v, want %+v: %s", got, want, r.Text)
	}
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"keys":["break"]}`, id)
	settings(`break=1\n(?s:.*)break=0\n`)
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"returned\r","until_regex":"returned","include_echo":true}`, id)
	if !r.Matched {
		t.Errorf("the line: %s", r.Text)
	}
	c.Close(t, id)
}

// TestNoRFC2217: a session opens at a server without it, too, and the result says so.
func TestNoRFC2217(t *testing.T) {
	t.Parallel()
	s := lab.StartBusybox(t)
	c := lab.NewHome(t).Connect(t)
	id, r := c.OpenTelnet(t, s, `,"serial":["baud=9600"]`)
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "RFC 2217") {
		t.Errorf("open: %s", r.Text)
	}
	c.LoginTelnet(t, s, id)
	c.Close(t, id)
}
