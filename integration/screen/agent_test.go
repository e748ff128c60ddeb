package screen

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// An agent works with full-screen programs and knows them from the answers alone. It asks for the changes after each
// key, and keeps the rows that it has got.
type agent struct {
	t    *testing.T
	c    *lab.Client
	id   string
	seen string // the version of rows
	head string
	rows []string // from 1, with their marks

	keys, changes, whole int // bytes of the answers to keys, and of the whole screens at the same moments
	late                 int // looks that came too early
}

// run starts a program in the shell. The screen is then another, and its cost no concern.
func (a *agent) run(line string) {
	a.t.Helper()
	keys, changes, whole := a.keys, a.changes, a.whole
	a.press(fmt.Sprintf(`"data":%q`, line+"\r"))
	a.keys, a.changes, a.whole = keys, changes, whole
}

// press types something and reads the changes. input are members of the call.
func (a *agent) press(input string) {
	a.t.Helper()
	r := a.c.Call(a.t, lab.ToolIO, `{"action":"write","session_id":%s,"format":"screen","since":%s,"timeout_ms":20000,`+input+`}`, a.id, a.seen)
	a.apply(r)
	now := a.c.Call(a.t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen"}`, a.id)
	if now.Version == r.Version { // nothing came in between
		a.keys, a.changes, a.whole = a.keys+1, a.changes+len(r.Chunk), a.whole+len(now.Chunk)
		kept := slices.Clone(a.rows)
		a.look(now)
		if !slices.Equal(kept, a.rows) {
			a.t.Errorf("after %s the changes %q lead to\n%s\nand the screen is\n%s", input, r.Chunk, strings.Join(kept, "\n"), now.Chunk)
		}
	}
	a.look(now)
}

// look takes the screen as a whole.
func (a *agent) look(r lab.Result) {
	a.rows = nil
	a.apply(r)
}

var (
	header = regexp.MustCompile(`^screen v\d+ \d+x(\d+)(?: alt)? cursor (\d+),(\d+)`)
	row    = regexp.MustCompile(`^ *(\d+)\| ?(.*)$`)
	moved  = regexp.MustCompile(`^\(rows (\d+)-(\d+) were rows (\d+)-(\d+)\)$`)
	empty  = regexp.MustCompile(`^\((\d+) empty\)$`)
	like   = regexp.MustCompile(`^\((\d+) rows? like it\)$`)
)

// apply takes the rows of an answer.
func (a *agent) apply(r lab.Result) {
	a.t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.Chunk, "\n"), "\n")
	h := header.FindStringSubmatch(lines[0])
	if h == nil {
		a.t.Fatalf("the answer has no screen: %s", r.Text)
	}
	a.seen, a.head = r.Version, lines[0]
	if n := number(h[1]); len(a.rows) != n+1 || !strings.Contains(lines[0], " since v") {
		a.rows = make([]string, n+1)
	}
	next := 1
	for _, line := range lines[1:] {
		switch m := row.FindStringSubmatch(line); {
		case m != nil:
			a.rows[number(m[1])] = m[2]
			next = number(m[1]) + 1
		case strings.HasPrefix(line, "<- ") && next > 1:
			a.rows[next-1] += "  " + line
		case empty.MatchString(line):
			for range number(empty.FindStringSubmatch(line)[1]) {
				a.rows[next] = ""
				next++
			}
		case like.MatchString(line):
			for range number(like.FindStringSubmatch(line)[1]) {
				a.rows[next] = a.rows[next-1]
				next++
			}
		case moved.MatchString(line):
			m := moved.FindStringSubmatch(line)
			old := slices.Clone(a.rows)
			copy(a.rows[number(m[1]):number(m[2])+1], old[number(m[3]):number(m[4])+1])
		case strings.HasSuffix(line, " left the top)"):
		default:
			a.t.Fatalf("the line %q of the screen is unknown: %s", line, r.Text)
		}
	}
}

// number is the value of digits.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// find returns the number of the first row that matches, or 0.
func (a *agent) find(pattern string) int {
	return max(0, slices.IndexFunc(a.rows, regexp.MustCompile(pattern).MatchString))
}

// want ends the test unless a row matches. On a machine with much else to do a program may draw after the screen has
// rested: then it looks again, as an agent would.
func (a *agent) want(pattern string) {
	a.t.Helper()
	for again := 0; a.find(pattern) == 0; again++ {
		if again == 20 {
			a.t.Fatalf("no row matches %q:\n%s\n%s", pattern, a.head, strings.Join(a.rows, "\n"))
		}
		a.late++
		a.look(a.c.Call(a.t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen","until_stable_ms":500}`, a.id))
	}
}

// cursor returns the row of the cursor.
func (a *agent) cursor() int { return number(header.FindStringSubmatch(a.head)[2]) }

// chooses picks the third entry of a menu: it looks at the last one and goes down from the first.
func chooses(a *agent) {
	a.run("x=$(dialog --stdout --menu 'Which one?' 15 40 5 1 first 2 second 3 third 4 fourth); clear; echo chose $x")
	a.want(`Which one\?`)
	a.press(`"key":"end"`)
	a.want(`fourth.*<-`)
	a.press(`"key":"home"`)
	a.want(`first.*<-`)
	for range 5 {
		if a.find(`third.*<-`) > 0 {
			break
		}
		a.press(`"key":"down"`)
	}
	a.want(`third.*<-`)
	a.press(`"key":"enter"`)
	a.want(`^chose 3$`)
}

// edits changes a word in an editor and looks at the result in the file.
func edits(a *agent) {
	path := filepath.Join(a.t.TempDir(), "settings")
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "option_%02d = %d\n", i+1, 10*i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		a.t.Fatal(err)
	}
	a.run("clear; vim -u NONE -N " + path)
	a.want(`^option_01 = 0`)
	a.press(`"data":"/option_42\r"`)
	if got := a.rows[a.cursor()]; !strings.HasPrefix(got, "option_42 = 410") {
		a.t.Fatalf("the cursor is in %q, want option_42", got)
	}
	a.press(`"data":"2f4C"`)
	a.press(`"data":"8080"`)
	a.press(`"key":"esc"`)
	a.press(`"data":":w\r"`)
	a.want(`\d+ bytes written|\d+B written`)
	a.want(`^option_42 = 8080$`)
	a.press(`"data":":q\r"`)
	a.run("clear; grep -c = " + path + "; grep 8080 " + path)
	a.want(`^option_42 = 8080$`)
	got, err := os.ReadFile(path)
	if want := strings.Replace(text.String(), "option_42 = 410", "option_42 = 8080", 1); err != nil || string(got) != want {
		a.t.Errorf("the file has %q (%v), want option_42 = 8080 in it and nothing else changed", got, err)
	}
}

// kills finds a process in a list and ends it there.
func kills(a *agent) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		a.t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		a.t.Fatal(err)
	}
	name := filepath.Join(a.t.TempDir(), "runaway")
	if err := os.WriteFile(name, program, 0o700); err != nil {
		a.t.Fatal(err)
	}
	victim := exec.Command(name, "600")
	if err := victim.Start(); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = victim.Wait(); close(ended) }()
	a.t.Cleanup(func() { _ = victim.Process.Kill(); <-ended })
	a.run("clear; htop -d 100 --no-mouse")
	a.want(`F10`)
	a.press(`"key":"f4"`)
	a.press(`"data":"` + name[max(0, len(name)-40):] + `\r"`)
	a.want(fmt.Sprintf(`^ *%d .*<-`, victim.Process.Pid))
	a.press(`"key":"f9"`)
	a.want(`15 SIGTERM.*<-`)
	a.press(`"key":"enter"`)
	select {
	case <-ended:
	case <-time.After(lab.Patience):
		a.t.Fatalf("the process still runs:\n%s", strings.Join(a.rows, "\n"))
	}
	a.press(`"key":"q"`)
}

// work does one thing after the other in a shell, and checks the cost of the answers.
func (a *agent) work() {
	a.look(a.c.Call(a.t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen","until_stable_ms":100}`, a.id))
	for _, do := range []func(*agent){chooses, edits, kills} {
		keys, changes, whole := a.keys, a.changes, a.whole
		do(a)
		a.t.Logf("%d keys: %d bytes of changes, whole screens %d", a.keys-keys, a.changes-changes, a.whole-whole)
	}
	share := 100 * a.changes / a.whole
	a.t.Logf("%d keys: %d bytes of changes are %d %% of the whole screens", a.keys, a.changes, share)
	if share > 35 {
		a.t.Errorf("the changes after a key cost %d %% of the whole screens, want at most 35 %%", share)
	}
	a.c.Close(a.t, a.id)
}

// plain are commands that start a shell with an environment of its own.
func (a *agent) plain() {
	home := a.t.TempDir()
	a.c.Enter(a.t, a.id, fmt.Sprintf("exec env -i PATH=\"$PATH\" TERM=\"$TERM\" LC_ALL=C.UTF-8 HOME=%s PS1='$ ' sh\r", home), `(?:[\r\n]|# )\$ $`)
}

// TestAgent has an agent that sees only the answers choose from a menu, edit a file and end a process: here, over SSH
// and over Telnet.
func TestAgent(t *testing.T) {
	const size = `,"pty":{"cols":80,"rows":24}`
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		a := agent{t: t, c: lab.ConnectLocal(t)}
		a.id = a.c.OpenLocal(t, []string{"sh"}, size)
		a.plain()
		a.work()
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		s := lab.StartSSHD(t)
		a := agent{t: t, c: lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)}
		a.id = a.c.Call(t, lab.ToolSession, strings.TrimSuffix(lab.OpenSSH, "}")+size+"}", s.Port, s.User).SessionID
		a.plain()
		a.work()
	})
	t.Run("telnet", func(t *testing.T) {
		t.Parallel()
		s := lab.StartInetutils(t)
		a := agent{t: t, c: lab.HomeFor(t, nil).Connect(t)}
		a.id, _ = a.c.OpenTelnet(t, s, size)
		a.c.LoginTelnet(t, s, a.id)
		a.plain()
		a.work()
	})
}

// TestSettles has one call return the effect of a key, over a connection on which each byte takes its time.
func TestSettles(t *testing.T) {
	t.Parallel()
	const delay = 200 * time.Millisecond // each way
	s := lab.StartSSHD(t)
	near := s.Port
	s.Port = delayed(t, near, delay)
	a := agent{t: t, c: lab.HomeFor(t, []*lab.SSHD{s}).Connect(t)}
	a.id = a.c.Call(t, lab.ToolSession, strings.TrimSuffix(lab.OpenSSH, "}")+`,"pty":{"cols":80,"rows":24}}`, s.Port, s.User).SessionID
	a.plain()
	a.look(a.c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen"}`, a.id))
	for _, step := range []struct{ input, shows string }{
		{`"data":"clear; dialog --menu 'Which one?' 15 40 5 1 first 2 second 3 third\r"`, `first.*<-`},
		{`"key":"down"`, `second.*<-`},
		{`"keys":["down","up","down"]`, `third.*<-`},
		{`"key":"esc"`, `\$$`},
		{`"data":"clear; vim -u NONE -N -n /etc/passwd\r"`, `^root:`},
		{`"steps":[{"data":"ocarried"},{"key":"esc"}]`, `^carried$`},
		{`"data":":q!\r"`, `^\$ clear; vim|^\$$`},
		{`"data":"clear; htop -d 100\r"`, `F10`},
		{`"key":"f2"`, `Categories`},
		{`"key":"f10"`, `F10Quit`},
		{`"key":"q"`, `^\$$`},
	} {
		a.press(step.input)
		a.want(step.shows)
	}
	t.Logf("%d more looks at the screen", a.late)
}

// delayed returns a port of this machine that leads to another, and passes each byte on after a delay.
func delayed(t *testing.T, to int, delay time.Duration) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(to)))
			if err != nil {
				from.Close()
				continue
			}
			go relay(far, from, delay)
			go relay(from, far, delay)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// relay copies each piece after the delay, and then closes the other end.
func relay(to, from net.Conn, delay time.Duration) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- piece{b[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	to.Close()
	_, _ = io.Copy(io.Discard, from)
	for range pieces { // the reader may wait for room
	}
}
