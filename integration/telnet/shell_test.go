package telnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	reiver "github.com/reiver/go-telnet"

	"ptyctl/internal/lab"
	"ptyctl/telnet"
	"ptyctl/telnet/gotelnet"
	"ptyctl/term"
)

// telnetUTF8 types text beyond ASCII, and reads it back. inetutils clears the eighth bit of all input unless the client
// performs BINARY.
func telnetUTF8(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		s := start(t)
		_, k := openTelnet(t, s.Target())
		k.login(s)
		k.ask("echo 'héllo wörld, 日本 🙂'", `\nhéllo wörld, 日本 🙂\r\ndemo\$ $`)
		if shown := k.ask("printf é | od -An -tx1", `\n c3 a9\r\ndemo\$ $`); !strings.HasPrefix(shown, "printf é |") {
			t.Errorf("%s echoes %q", s.Name, shown)
		}
		if shown := k.ask(`printf '<\377\376\377>'`, `>demo\$ $`); !strings.Contains(shown, "<\xff\xfe\xff>") { // IAC as data
			t.Errorf("%s shows %q", s.Name, shown)
		}
	}
}

// telnetBulk reads and types much at a time, with IAC in it, while the window is dragged.
func telnetBulk(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		s := start(t)
		terminal, k := openTelnet(t, s.Target())
		k.login(s)
		const lines = 20000
		shown := k.ask(
			fmt.Sprintf(
				`i=0; while [ $i -lt %d ]; do printf '%%d \377\376 text text text text text text\n' $i; i=$((i+1)); done; echo d''one`,
				lines,
			),
			`\ndone\r\ndemo\$ $`,
		)
		_, shown, _ = strings.Cut(shown, "\r\n") // the echo of the typed line
		var want strings.Builder
		for i := range lines {
			fmt.Fprintf(&want, "%d \xff\xfe text text text text text text\r\n", i)
		}
		want.WriteString("done\r\ndemo$ ")
		if shown != want.String() {
			t.Errorf("%s: the output differs from the printed text: %d bytes, want %d", s.Name, len(shown), want.Len())
		}

		var pasted strings.Builder
		for i := range 500 {
			fmt.Fprintf(&pasted, "line %d, é, %s\n", i, strings.Repeat("x", i%70))
		}
		k.send("cat >pasted <<'end'\r")
		for i, line := range strings.Split(pasted.String(), "\n") {
			if err := terminal.Resize(80+i%200, 24+i%100); err != nil {
				t.Fatal(err)
			}
			if line == "" {
				line = "end"
			}
			k.send(line + "\r")
		}
		k.wait(`demo\$ $`)
		k.ask("cksum <pasted", fmt.Sprintf(`\n%d %d\r\ndemo\$ $`, cksum(pasted.String()), pasted.Len()))
	}
}

// cksum computes the sum of cksum(1).
func cksum(text string) uint32 {
	length := []byte{}
	for n := len(text); n > 0; n >>= 8 {
		length = append(length, byte(n))
	}
	var sum uint32
	for _, b := range append([]byte(text), length...) {
		sum ^= uint32(b) << 24
		for range 8 {
			if sum&(1<<31) != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	return ^sum
}

// telnetWindow sends the size of the window, at first and when it changes.
func telnetWindow(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		s := start(t)
		target := s.Target()
		target.PTY = term.PTY{Cols: 101, Rows: 33}
		terminal, k := openTelnet(t, target)
		k.login(s)
		k.ask("stty size", `\n33 101\r\ndemo\$ $`)
		for _, size := range []struct {
			cols, rows int
			want       string
		}{
			{80, 24, "24 80"},
			{255, 24, "24 254"}, // 255 is IAC, which busybox does not take doubled
			{300, 511, "510 300"},
			{120, 40, "40 120"},
		} {
			if err := terminal.Resize(size.cols, size.rows); err != nil {
				t.Fatal(err)
			}
			// The client may delay a size, for example to skip the positions of a dragged window.
			eventuallyTyped(t, k, "stty size", `\n(\d+ \d+)\r\ndemo\$ $`, `\n`+size.want+`\r\ndemo\$ $`)
		}
		if state := terminal.Conn().State(); state.Cols != 120 || state.Rows != 40 {
			t.Errorf("%s: the agreed window is %d by %d, want 120 by 40", s.Name, state.Cols, state.Rows)
		}
	}
}

// eventuallyTyped types a command until its answer is the wanted one.
func eventuallyTyped(tb testing.TB, k *talk, command, answered, wanted string) {
	tb.Helper()
	re := regexp.MustCompile(wanted)
	var shown string
	for range 20 {
		if shown = k.ask(command, answered); re.MatchString(shown) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	tb.Errorf("%s still shows %q, want %q", command, shown, wanted)
}

// telnetWrongPassword sees the login program refuse, and the server close.
func telnetWrongPassword(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartInetutils, lab.StartBusybox} {
		s := start(t)
		terminal, k := openTelnet(t, s.Target())
		k.wait(s.Login)
		k.ask(s.User, `Password: $`)
		k.ask("nonsense", `Login incorrect`)
		k.waitEnd()
		if exit, err := terminal.Wait(); err != nil || exit.Known {
			t.Errorf("%s: %+v, %v; want no error and no status when the server closes", s.Name, exit, err)
		}
	}
}

// telnetCaller runs a go-telnet Caller, which knows nothing of negotiation, on a server that shows no prompt without.
func telnetCaller(t *testing.T) {
	s := lab.StartInetutils(t)
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	conn, err := telnet.Dialer{}.DialContext(ctx, "tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(lab.Patience))
	var failed error
	var said strings.Builder
	gotelnet.Call(conn, callerFunc(func(_ reiver.Context, w reiver.Writer, r reiver.Reader) {
		expect := func(text string) {
			p := make([]byte, 1) // as go-telnet's own callers read
			for failed == nil && !strings.HasSuffix(said.String(), text) {
				_, failed = r.Read(p)
				said.Write(p)
			}
		}
		send := func(text string) {
			if failed == nil {
				_, failed = io.WriteString(w, text)
			}
		}
		expect("login: ")
		send(s.User + "\r")
		expect("Password: ")
		send(s.Password + "\r")
		expect("demo$ ")
		send("exit 3\r")
	}), nil)
	if failed != nil {
		t.Fatalf("%v after %q", failed, said.String())
	}
	if rest, err := io.ReadAll(conn); err != nil { // its echo is not sent in every case
		t.Errorf("%q, %v", rest, err)
	}
}

type callerFunc func(reiver.Context, reiver.Writer, reiver.Reader)

func (f callerFunc) CallTELNET(c reiver.Context, w reiver.Writer, r reiver.Reader) { f(c, w, r) }

// telnetProbes asks inetutils for its state beside the data.
func telnetProbes(t *testing.T) {
	s := lab.StartInetutils(t)
	terminal, k := openTelnet(t, s.Target())
	k.login(s)
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	if err := terminal.Conn().TimingMark(ctx); err != nil {
		t.Error(err)
	}
	status, err := terminal.Conn().RemoteStatus(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, agreed := range []struct {
		what string
		verb byte // the server's own, or ours as the server reports it: RFC 859
		o    telnet.Option
	}{
		{"WILL ECHO", 251, telnet.Echo},
		{"WILL STATUS", 251, telnet.Status},
		{"DO NAWS", 253, telnet.NAWS},
		{"DO TTYPE", 253, telnet.TerminalType},
		{"DO BINARY", 253, telnet.Binary},
	} {
		if !strings.Contains(string(status), string([]byte{agreed.verb, byte(agreed.o)})) {
			t.Errorf("the server's state % x is without %s", status, agreed.what)
		}
	}
	if err := terminal.SendKey(ctx, term.KeyAreYouThere); err != nil {
		t.Error(err)
	}
	k.wait(`\[Yes\]`)
	k.send(lab.TelnetSleep + "\r")
	k.wait("\nbegun")
	if err := terminal.SendKey(ctx, term.KeyInterruptProcess); err != nil {
		t.Error(err)
	}
	if shown := k.wait(s.Prompt); holdsProtocol(shown) {
		t.Errorf("IP shows %q", shown)
	}
	k.send(lab.TelnetSleep + "\r")
	k.wait("\nbegun")
	if err := terminal.SendKey(ctx, term.KeyBreak); err != nil { // it takes one for SIGQUIT
		t.Error(err)
	}
	k.wait(s.Prompt)
	if err := terminal.SendKey(ctx, "no_such_key"); term.KindOf(err) != term.InvalidArgument {
		t.Errorf("an unknown key: %v", err)
	}
}

// telnetLogout ends the login by option LOGOUT.
func telnetLogout(t *testing.T) {
	s := lab.StartInetutils(t)
	terminal, k := openTelnet(t, s.Target())
	k.login(s)
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	if err := terminal.Conn().Logout(ctx); err != nil {
		t.Error(err)
	}
	k.waitEnd()
	if lost := terminal.Conn().Lost(); !errors.Is(lost, io.EOF) {
		t.Errorf("the stream ended with %v, want %v", lost, io.EOF)
	}
}
