package lab

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
)

// The questions of the login program of the shells' servers. It replaces login(1) and needs no account.
const (
	TelnetUser     = "demo"
	TelnetPassword = "the password of demo-1138"
)

// TelnetSleep is a command that runs until it is interrupted. It says so when it is the terminal's foreground process:
// a key pressed before that would reach the shell, which ignores it.
const TelnetSleep = "sh -c 'echo begun; exec sleep 1000'"

// telnetLogin writes the login program. The shell that it starts is this system's /bin/sh without a startup file.
func telnetLogin(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	return writeScript(tb, dir, "login", `
printf 'login: '
read -r user || exit 1
stty -echo
printf 'Password: '
read -r password || exit 1
stty echo
echo
if [ "$user" != '`+TelnetUser+`' ] || [ "$password" != '`+TelnetPassword+`' ]; then
	echo 'Login incorrect'
	sleep 0.3 # telnetd may not send what a program says as it ends
	exit 1
fi
cd '`+dir+`'
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME='`+dir+`' TERM="$TERM" LC_ALL=C.UTF-8 PS1='demo$ ' /bin/sh -i
`)
}

// telnetShell returns a server that sends its clients through the login program.
func telnetShell(name string, port int) *TelnetServer {
	return &TelnetServer{
		Name:     name,
		Port:     port,
		Login:    `login: $`,
		User:     TelnetUser,
		Password: TelnetPassword,
		Prompt:   `demo\$ $`,
	}
}

// StartInetutils starts GNU inetutils' telnetd. It says nothing until each of its offers is answered, and knows more
// options than the others.
func StartInetutils(tb testing.TB) *TelnetServer {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	d := &inetd{
		command: []string{Unpacked(tb, "inetutils-telnetd", "usr/sbin/telnetd"), "-h", "-E", telnetLogin(tb)},
		serving: make(map[int]bool),
	}
	d.running.Go(func() { d.serve(tb, l) })
	tb.Cleanup(func() {
		l.Close()
		d.stop(tb)
	})
	return telnetShell("inetutils", portOf(tb, l.Addr().String()))
}

// An inetd starts a program for each connection, as inetd(8) does: the socket is its standard input and output.
type inetd struct {
	command []string
	running sync.WaitGroup // the accepting goroutine, and one for each program

	mu      sync.Mutex // guards the following
	serving map[int]bool
}

func (d *inetd) serve(tb testing.TB, l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			err = d.start(conn.(*net.TCPConn))
			conn.Close()
		}
		if err != nil {
			tb.Error(err)
			return
		}
	}
}

func (d *inetd) start(conn *net.TCPConn) error {
	socket, err := conn.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	cmd := telnetCommand(d.command)
	cmd.Stdin, cmd.Stdout = socket, socket
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	d.serving[cmd.Process.Pid] = true
	d.running.Go(func() {
		_ = cmd.Wait() // its status is that of the login program
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.serving, cmd.Process.Pid)
	})
	return nil
}

// stop ends the programs, and all that was started through them. The listener must be closed.
func (d *inetd) stop(tb testing.TB) {
	tb.Helper()
	d.mu.Lock()
	for pid := range d.serving {
		Kill(tb, append(Descendants(tb, pid), Process{PID: pid}))
	}
	d.mu.Unlock()
	d.running.Wait()
}

// StartBusybox starts busybox's telnetd. It waits for no answer, and does not know BINARY.
func StartBusybox(tb testing.TB) *TelnetServer {
	tb.Helper()
	program, login := Unpacked(tb, "busybox-static", "bin/busybox"), telnetLogin(tb)
	p, port := startTelnet(tb, func(port int) []string {
		return []string{program, "telnetd", "-F", "-b", "127.0.0.1", "-p", strconv.Itoa(port), "-f", "/dev/null", "-l", login}
	})
	s := telnetShell("busybox", port)
	s.Process = p
	return s
}
