package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/internal/lab/system"
)

// The possible fates of a session in its cycle.
const (
	fateNone       = "nothing"    // it is used, and closed
	fateShell      = "shell"      // the process in its terminal is killed
	fateConnection = "connection" // the process of the server that holds its connection is killed
	fateReader     = "reader"     // a waiting read is canceled by its caller
	fateExec       = "exec"       // a running command's call is canceled by its caller
	fateFrozen     = "frozen"     // the server stops, and the session is closed by force
	fateServer     = "server"     // all of the server is killed
)

var soakFates = []string{fateNone, fateShell, fateConnection, fateReader, fateExec, fateFrozen, fateServer}

// A soakWorker goes through one cycle after another, with servers of its own.
type soakWorker struct {
	*lab.Client
	number int
	random *rand.Rand
	ssh    *lab.SSHD
	telnet *lab.TelnetServer

	cycles                  int
	met                     map[string]int // protocol and fate
	killedSSH, killedTelnet bool
}

// A soakSession is one that a worker has open.
type soakSession struct {
	id                string
	exec              string // the arguments of a command, without the command
	shell, connection int    // processes of the server
}

// round goes through some cycles. The server may be killed in the last one only.
func (w *soakWorker) round(ctx context.Context, fate string) error {
	for i := range soakRound {
		f, last := fate, i == soakRound-1
		if f == "" || f == fateServer && !last {
			f = soakFates[w.random.IntN(len(soakFates)-1)]
			if w.random.IntN(3) == 0 {
				f = fateNone
			}
			if last && w.random.IntN(4) == 0 {
				f = fateServer
			}
		}
		cycle, protocol := w.cycleSSH, "ssh"
		// A telnetd holds all of its connections itself.
		if f != fateConnection && w.random.IntN(2) == 0 {
			cycle, protocol = w.cycleTelnet, "telnet"
		}
		w.cycles++
		w.met[protocol+" "+f]++
		if err := cycle(ctx, f); err != nil {
			return fmt.Errorf("%s, %s: %w", protocol, f, err)
		}
	}
	return nil
}

// must calls a tool that must succeed.
func (w *soakWorker) must(ctx context.Context, tool, arguments string, values ...any) (lab.Result, error) {
	r, err := w.Try(ctx, tool, arguments, values...)
	if err == nil && r.ErrorCode != "" {
		err = fmt.Errorf("%s %s: %s", tool, arguments, r.Text)
	}
	return r, err
}

// cycleSSH opens a session on the worker's sshd, and sees to its end.
func (w *soakWorker) cycleSSH(ctx context.Context, fate string) error {
	r, err := w.must(ctx, lab.ToolSession, lab.OpenSSH, w.ssh.Port, w.ssh.User)
	if err != nil {
		return err
	}
	s := soakSession{id: r.SessionID, exec: `"lane":"channel","timeout_ms":20000`}
	// The parent of a command's shell is the connection's process.
	if s.connection, err = w.execPID(ctx, s, "echo $PPID"); err != nil {
		return err
	}
	r, err = w.must(
		ctx,
		lab.ToolIO,
		`{"action":"write","session_id":%s,"data":"echo pid'-'$$-\r","until_regex":"pid-\\d+-","timeout_ms":20000}`,
		s.id,
	)
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`pid-(\d+)-`).FindStringSubmatch(r.Chunk)
	if found == nil {
		return fmt.Errorf("no answer of the terminal's shell: %s", r.Text)
	}
	if s.shell, err = strconv.Atoi(found[1]); err != nil {
		return err
	}
	return w.meet(ctx, s, fate, w.ssh.PID, &w.killedSSH)
}

// cycleTelnet opens a session on the worker's telnetd, logs in, and sees to its end.
func (w *soakWorker) cycleTelnet(ctx context.Context, fate string) error {
	r, err := w.must(
		ctx,
		lab.ToolSession,
		`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%s}`,
		w.telnet.Port,
	)
	if err != nil {
		return err
	}
	s := soakSession{
		id: r.SessionID, connection: w.telnet.Process.PID,
		exec: `"class":"posix","expect":{"prompt_regex":"demo\\$ $"},"timeout_ms":20000`,
	}
	cursor := "0"
	for _, step := range []struct{ asked, answer string }{
		{w.telnet.Login, lab.TelnetUser}, {`Password: $`, lab.TelnetPassword}, {w.telnet.Prompt, ""},
	} {
		r, err = w.must(
			ctx,
			lab.ToolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"until_regex":%s,"timeout_ms":20000}`,
			s.id,
			cursor,
			step.asked,
		)
		if err != nil {
			return err
		}
		if !r.Matched {
			return fmt.Errorf("telnetd does not show %s: %s", step.asked, r.Text)
		}
		cursor = r.NextCursor
		if step.answer == "" {
			break
		}
		if _, err = w.must(
			ctx, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"sensitive":%s}`, s.id, step.answer+"\r",
			step.answer == lab.TelnetPassword,
		); err != nil {
			return err
		}
	}
	if s.shell, err = w.execPID(ctx, s, "echo $$"); err != nil {
		return err
	}
	return w.meet(ctx, s, fate, w.telnet.Process.PID, &w.killedTelnet)
}

// execPID runs a command that prints a process id.
func (w *soakWorker) execPID(ctx context.Context, s soakSession, command string) (int, error) {
	r, err := w.must(ctx, lab.ToolExec, `{"session_id":%s,"cmd":%s,`+s.exec+`}`, s.id, command)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSuffix(r.Stdout, "\n"))
	if err != nil || r.ExitCode == nil || *r.ExitCode != 0 {
		return 0, fmt.Errorf("%s: %s", command, r.Text)
	}
	return pid, nil
}

// meet lets a session meet its fate, and closes it. killed is set if the server, a process, must be started again.
func (w *soakWorker) meet(ctx context.Context, s soakSession, fate string, server int, killed *bool) error {
	force := w.random.IntN(4) == 0
	var err error
	switch fate {
	case fateShell:
		err = w.whileWaiting(ctx, s, false, func() error { return w.strike(server, s.shell) })
	case fateConnection:
		err = w.whileWaiting(ctx, s, w.random.IntN(2) == 0, func() error { return w.strike(server, s.connection) })
	case fateServer:
		*killed = true
		err = w.whileWaiting(ctx, s, w.random.IntN(2) == 0, func() error {
			lab.Kill(w.TB, append([]lab.Process{{PID: server}}, lab.Descendants(w.TB, server)...))
			return nil
		})
	case fateReader, fateExec:
		canceled, cancel := context.WithCancel(ctx)
		err = w.whileWaiting(canceled, s, fate == fateExec, func() error { cancel(); return nil })
		cancel()
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			err = nil
		} else if err == nil {
			err = errors.New("the canceled call was answered")
		}
		if err == nil && fate == fateReader {
			_, err = w.execPID(ctx, s, "echo 1") // the session has not noticed
		}
	case fateFrozen:
		force = true
		if err = system.Kill(s.connection, system.SIGSTOP); err != nil {
			return fmt.Errorf("stop %d: %w", s.connection, err)
		}
		defer func() { // telnetd goes on, for it is the server; sshd's process need not
			_ = system.Kill(s.connection, system.SIGCONT)
		}()
		_, err = w.must(ctx, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo unheard\r"}`, s.id)
	}
	if err != nil {
		return err
	}
	r, err := w.Try(ctx, lab.ToolSession, `{"action":"close","session_id":%s,"force":%s}`, s.id, force)
	if err != nil {
		return err
	}
	if r.State != "closed" && r.State != "error" {
		return fmt.Errorf("close: %s", r.Text)
	}
	return nil
}

// strike kills a process of a server with all that it has started. It must be one, so that no number read from a
// terminal is trusted.
func (w *soakWorker) strike(server, pid int) error {
	all := lab.Descendants(w.TB, server)
	i := slices.IndexFunc(all, func(p lab.Process) bool { return p.PID == pid })
	if i < 0 {
		return fmt.Errorf("process %d is not below the server %d: %v", pid, server, all)
	}
	lab.Kill(w.TB, append(lab.Descendants(w.TB, pid), all[i]))
	return nil
}

// whileWaiting does something while a read, or a command, waits in the session, and returns when that has come to its
// end: with the error of the call if it has one, and one if it has not noticed.
func (w *soakWorker) whileWaiting(ctx context.Context, s soakSession, command bool, do func() error) error {
	type answer struct {
		r   lab.Result
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		if command {
			a.r, a.err = w.Try(ctx, lab.ToolExec, `{"session_id":%s,"cmd":"sleep 5",`+s.exec+`}`, s.id)
		} else {
			a.r, a.err = w.Try(
				ctx, lab.ToolIO, `{"action":"read","session_id":%s,"until_regex":"never-there","timeout_ms":40000}`, s.id,
			)
		}
		answered <- a
	}()
	time.Sleep(time.Duration(w.random.IntN(20)) * time.Millisecond) // before, at and after the call's start
	done := do()
	begin := time.Now()
	a := <-answered
	if done != nil {
		return done
	}
	if a.err != nil {
		return a.err
	}
	if took := time.Since(begin); took > lab.Patience {
		return fmt.Errorf("the waiting call went on for %v: %s", took, a.r.Text)
	}
	if command && a.r.ExitCode != nil && *a.r.ExitCode == 0 {
		return fmt.Errorf("the waiting call went on to the end of its command: %s", a.r.Text)
	}
	if !command && !a.r.EOF && a.r.ErrorCode == "" {
		return fmt.Errorf("the waiting read has no end: %s", a.r.Text)
	}
	return nil
}
