package lane_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/session"
	"ptyctl/term"
)

// A waiting is a terminal that knows how its program ended, and runs nothing beside itself.
type waiting struct {
	plain
	exit term.Exit
	lost error
	late time.Duration // how long a Write takes to return once its bytes are out

	front func() term.Front // nil: the programs in front are unknown
}

func (w *waiting) Probe() term.Front {
	if w.front == nil {
		return term.Front{}
	}
	return w.front()
}

func (w *waiting) Write(p []byte) (int, error) {
	n, err := w.plain.Write(p)
	time.Sleep(w.late)
	return n, err
}

func (w *waiting) Wait() (term.Exit, error) { return w.exit, w.lost }

// A fakeShell plays the program behind a terminal: a POSIX shell, or a device with a command line of its own.
type fakeShell struct {
	far      net.Conn
	terminal *waiting
	prompt   string
	keys     chan byte
	ran      []string // the commands, in order
	silent   bool     // no echo
	left     int      // the status with which a sub has ended
	pressed  string   // the keys that its pager took
}

// startShell makes a session on a shell that shows greeting, and then its prompt.
func startShell(tb testing.TB, greeting, prompt string, o session.Options) (*session.Session, *fakeShell) {
	tb.Helper()
	near, far := bufpipe.New(64 << 10)
	f := &fakeShell{
		far:      far,
		prompt:   prompt,
		keys:     make(chan byte, 64<<10),
		terminal: &waiting{plain: plain{ReadWriteCloser: near}},
	}
	watch(tb, &o)
	s := session.New(f.terminal, o)
	tellState(tb, s)
	gone := make(chan struct{}, 2)
	go func() {
		defer func() { gone <- struct{}{} }()
		defer close(f.keys)
		p := make([]byte, 4096)
		for {
			n, err := far.Read(p)
			for _, c := range p[:n] {
				f.keys <- c
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer func() { gone <- struct{}{} }()
		f.print(greeting + prompt)
		for f.line() {
		}
		far.Close()
	}()
	tb.Cleanup(func() {
		s.Close(context.Background(), session.CloseOptions{Force: true})
		far.Close()
		<-gone
		<-gone
	})
	return s, f
}

func (f *fakeShell) print(text string) { io.WriteString(f.far, text) }

// read reads a line of keys; ok is false if it was interrupted, or the keys have ended.
func (f *fakeShell) read(echo bool) (line string, ok bool) {
	for c := range f.keys {
		switch c {
		case '\r':
			f.print("\r\n")
			return line, true
		case 3, 28:
			f.print("^C\r\n")
			return "", false
		}
		if line += string(rune(c)); echo && !f.silent {
			f.print(string(rune(c)))
		}
	}
	return "", false
}

// until waits for one of these keys.
func (f *fakeShell) until(keys string) (key byte, ok bool) {
	for c := range f.keys {
		if strings.IndexByte(keys, c) >= 0 {
			return c, true
		}
	}
	return 0, false
}

var typedForm = regexp.MustCompile(
	`^ printf '\\036S=%s\\037\\n' (\w+); (?:command )?eval "\$\(printf '(.*)'\)"; printf '(.*)' \$\?`,
)

// line reads a line and runs it; false ends the shell.
func (f *fakeShell) line() bool {
	line, ok := f.read(true)
	if !ok {
		select {
		case _, more := <-f.keys:
			if !more {
				return false
			}
		default:
		}
		f.print(f.prompt)
		return true
	}
	m := typedForm.FindStringSubmatch(line)
	if m == nil { // typed by hand, or to a device
		_, goesOn := f.run(line)
		if goesOn || !strings.HasPrefix(line, "leave") {
			f.print(f.prompt)
			goesOn = true
		}
		return goesOn
	}
	nonce, command, end := m[1], strings.ReplaceAll(unescape(m[2]), "%%", "%"), m[3]
	f.print("\x1eS=" + nonce + "\x1f\r\n")
	status, goesOn := f.run(command)
	if status >= 0 && goesOn {
		end = strings.ReplaceAll(unescape(end), "\n", "\r\n")
		if strings.Contains(end, "PTYCTL") {
			end = fmt.Sprintf(end, strconv.Itoa(status), nonce, strconv.Itoa(status), nonce)
		} else {
			end = fmt.Sprintf(end, strconv.Itoa(status))
		}
		f.print(end)
	}
	if goesOn {
		f.print(f.prompt)
	}
	return goesOn
}

// unescape decodes octal escapes and \n as printf(1) does.
func unescape(s string) string {
	s = regexp.MustCompile(`\\[0-7]{3}`).ReplaceAllStringFunc(s, func(o string) string {
		n, _ := strconv.ParseUint(o[1:], 8, 8)
		return string([]byte{byte(n)})
	})
	return strings.ReplaceAll(s, `\n`, "\n")
}

// run runs a command. A status below zero says that the line was given up, and with it the marker.
func (f *fakeShell) run(command string) (status int, goesOn bool) {
	f.ran = append(f.ran, command)
	word, arg, _ := strings.Cut(command, " ")
	interruptible := func(keys string) (int, bool) {
		if _, ok := f.until(keys); !ok {
			return -1, false
		}
		f.print("^C\r\n")
		return -1, true
	}
	switch word {
	case "say":
		f.print(arg + "\r\n")
	case "show":
		f.print("Version 1\r\nuptime 2 days\r\n")
	case "conf":
		f.prompt = "r1(config)#"
	case "cd":
		f.prompt = "me@host:" + arg + "$ "
	case "status":
		status, _ = strconv.Atoi(arg)
	case "enter": // a shell with that prompt
		f.prompt = arg
		return -1, true
	case "sub": // a shell with that prompt, until leave
		outer := f.prompt
		f.prompt = arg
		f.print(arg)
		for f.line() {
		}
		f.prompt = outer
		return f.left, true
	case "leave":
		f.left, _ = strconv.Atoi(arg)
		f.print("exit\r\n")
		return -1, false
	case "ask":
		f.print(arg)
		answer, ok := f.read(true)
		if !ok {
			return -1, true
		}
		f.print("[" + answer + "]\r\n")
	case "grown": // goes on with a line, and never again
		f.print("a")
		time.Sleep(time.Second)
		f.print("b")
		f.until("q")
	case "pieces": // PAUSE TEXT|TEXT|..., with a pause behind each
		pause, pieces, _ := strings.Cut(arg, " ")
		d, _ := time.ParseDuration(pause)
		for piece := range strings.SplitSeq(pieces, "|") {
			f.print(unescape(piece))
			time.Sleep(d)
		}
		f.print("\r\n")
	case "work": // for so many seconds, then status 3
		n, _ := strconv.Atoi(arg)
		f.print("begun\r\n")
		time.Sleep(time.Duration(n) * time.Second)
		f.print("done\r\n")
		return 3, true
	case "tick": // for so many seconds, one line in each
		n, _ := strconv.Atoi(arg)
		for i := range n {
			time.Sleep(time.Second)
			f.print(fmt.Sprintf("tick %d\r\n", i))
		}
	case "hush": // prints a line, and never ends nor shows the prompt
		f.print("wait\r\n")
		f.until("\x03")
		f.print("^C\r\n")
		return -1, true
	case "sleep":
		return interruptible("\x03\x1c")
	case "stubborn":
		return interruptible("\x1c")
	case "trap":
		_, ok := f.until("\x03")
		return 42, ok
	case "immortal":
		f.print("still here")
		_, ok := f.until("q")
		f.print("\r\n")
		return 0, ok
	case "sudo":
		f.print("[sudo] password for me: ")
		secret, ok := f.read(false)
		if !ok {
			return -1, true
		}
		time.Sleep(2 * time.Second)
		f.print(fmt.Sprintf("%d characters\r\n", len(secret)))
	case "more":
		f.print("page 1\r\n--More--")
		f.until(" ")
		f.print("\r        \rpage 2\r\n")
	case "slowpages":
		f.print("page 1\r\n")
		time.Sleep(5 * time.Second)
		f.print("--More--")
		key, ok := f.until(" \rq")
		f.pressed += string(key)
		return 0, ok
	case "wide":
		f.print(strings.Repeat("x", 40) + pagers["frr"].text)
		_, ok := f.until(" ")
		f.print(pagers["frr"].wipe + "yz\r\n")
		return 0, ok
	case "pages":
		return 0, f.pages(arg)
	case "python":
		f.print(">>> ")
		for {
			switch c, ok := f.until("\x03\x04"); {
			case !ok:
				return -1, false
			case c == 3:
				f.print("\r\nKeyboardInterrupt\r\n>>> ")
			default:
				f.print("\r\n")
				return 0, true
			}
		}
	case "vim":
		f.print("\x1b[?1049h\x1b[H~\r\n~")
		f.until("q")
		f.print("\x1b[?1049l")
	case "crash": // as vim, but leaves the alternate screen on
		f.print("\x1b[?1049h\x1b[H~\r\n~\r\n")
	case "nest": // the prompt is back, the marker lost
		return -1, true
	case "flood":
		n, _ := strconv.Atoi(arg)
		text := strings.Repeat("RPRC=1 PTYCTL_RC_ and text to fill a line of this flood\r\n", 1<<14/57)
		f.print("first\r\n")
		for sent := 0; sent < n<<20; sent += len(text) {
			f.print(text)
		}
		f.print("last\r\n")
	case "exit":
		status, _ = strconv.Atoi(arg)
		f.terminal.exit = term.Exit{Known: true, Code: status}
		return -1, false
	case "drop":
		f.terminal.lost = &term.Error{Kind: term.RemoteClosed, Msg: "the connection was lost"}
		f.print("some\x1eRC=1")
		return -1, false
	}
	return status, true
}
