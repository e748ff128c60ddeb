package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// readyWait is how long a daemon may take to start. A process that takes longer was stopped.
const readyWait = 20 * time.Second

// ready is the line of a daemon that has bound its socket. Any other is the reason why it has not.
const ready = "ready"

// StartProgram returns a Starter that runs a program apart from this process: in a session of its own, in the root
// folder, and without this process's stdin, stdout and stderr. The program gets the number of a descriptor appended to
// its arguments, and must pass it to ReadinessAt. Its last words on stderr go to the place's log.
func StartProgram(program string, arguments func(Place) []string, environment []string) Starter {
	return func(ctx context.Context, p Place) error {
		read, write, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("the daemon was not started: %w", err)
		}
		defer read.Close()
		log, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			_ = write.Close()
			return p.unusable(err)
		}
		defer log.Close()
		cmd := exec.Command(program, append(arguments(p), "3")...)
		cmd.Env, cmd.Dir, cmd.Stderr = environment, apartFolder, log
		cmd.ExtraFiles = []*os.File{write}
		apart(cmd)
		err = cmd.Start()
		_ = write.Close()
		if err != nil {
			return fmt.Errorf("the daemon was not started: %w", err)
		}
		// It lives on; this waits only so that, should it end before this process, no zombie is left. No goroutine can wait
		// for this one: it ends with this process, or with the daemon.
		go func() { _ = cmd.Wait() }()
		return awaitReady(ctx, read, p)
	}
}

// awaitReady waits for the line of the new daemon.
func awaitReady(ctx context.Context, read *os.File, p Place) error {
	_ = read.SetReadDeadline(time.Now().Add(readyWait))
	defer context.AfterFunc(ctx, func() { _ = read.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := io.ReadAll(io.LimitReader(read, 4096))
	said := strings.TrimSpace(string(text))
	switch {
	case said == ready:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the daemon was not ready after %v; its log is %s", readyWait, p.Log())
	case said != "":
		return fmt.Errorf("the daemon was not started: %s", plainText(said))
	}
	return fmt.Errorf("the daemon has ended before it was ready; its log is %s", p.Log())
}

// A Readiness tells the program that has started this daemon when it is ready. The zero value tells nobody.
type Readiness struct{ to *os.File }

// ReadinessAt is the Readiness for the descriptor that StartProgram has given.
func ReadinessAt(descriptor int) *Readiness {
	keepFromPrograms(descriptor)
	return &Readiness{os.NewFile(uintptr(descriptor), "ready")} //nolint:gosec // it is not negative
}

// Tell says that the socket is bound, or why it is not. Only the first call counts.
func (r *Readiness) Tell(err error) {
	f := r.to
	if f == nil {
		return
	}
	r.to = nil
	said := ready
	if err != nil {
		said = err.Error()
	}
	_, _ = io.WriteString(f, said+"\n") // the one that waited may have ended
	_ = f.Close()
}
