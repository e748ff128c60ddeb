package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// readyWait is how long a daemon may take to start. A process that takes longer was stopped.
const readyWait = 20 * time.Second

// ready is the line of a daemon that has bound its socket. Any other is the reason why it has not: an OtherError behind
// isOther, or text.
const (
	ready   = "ready"
	isOther = "other "
)

// An OtherError is a daemon's that would serve another place than the one it was started for: it has read another
// configuration than the client, or is another version. It ends, and has bound nothing.
type OtherError struct {
	Protocol int    `json:"ptyctl_daemon"`
	Build    string `json:"build"`
	Engine   Engine `json:"engine"`
}

func (e *OtherError) Error() string {
	return "the daemon has another configuration, or is another version"
}

// Fits returns an *OtherError if a daemon with this build and configuration was started for another place, by its name;
// empty: for whichever it has.
func Fits(place, build string, e Engine) error {
	if place == "" || place == prefix(Protocol)+e.Name() {
		return nil
	}
	return &OtherError{Protocol, build, e}
}

// StartProgram returns a Starter that runs a program apart from this process: in a session of its own (on Windows without
// a console, and outside of this process's job if that allows it), in the root folder, and without this process's stdin,
// stdout and stderr. The program gets the number of a descriptor appended to
// its arguments. It must start itself again by Again, and end: then the daemon is no child of this process, and a host
// that kills all descendants of this process does not find it. The second one passes the descriptor to ReadinessAt. The
// stderr of both goes to the place's log.
func StartProgram(program string, arguments func(Place) []string, environment []string) Starter {
	return func(ctx context.Context, p Place) error {
		read, write, err := pair()
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
		cmd := exec.Command(program, arguments(p)...)
		cmd.Env, cmd.Dir, cmd.Stderr = environment, apartFolder(), log
		apart(cmd)
		cmd.Args = append(cmd.Args, strconv.Itoa(pass(cmd, write)))
		if err = launch(cmd); err == nil {
			err = cmd.Wait()
		}
		_ = write.Close()
		if err != nil {
			return fmt.Errorf("the daemon was not started: %w; its log is %s", err, p.Log())
		}
		return awaitReady(ctx, read, p)
	}
}

// Again starts this program once more with other arguments, and leaves it alone. It has the descriptor of StartProgram,
// under the same number.
func Again(arguments, environment []string, descriptor int) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the program of the daemon is not known: %w", err)
	}
	f := os.NewFile(uintptr(descriptor), "ready") //nolint:gosec // it is not negative
	if f == nil || !passed(descriptor) {
		return fmt.Errorf("descriptor %d is not the one of the program that starts this", descriptor)
	}
	defer f.Close()
	cmd := exec.Command(program, arguments...)
	cmd.Env, cmd.Dir, cmd.Stderr = environment, apartFolder(), os.Stderr
	alone(cmd)
	pass(cmd, f)
	if err := launch(cmd); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// awaitReady waits for the line of the new daemon.
func awaitReady(ctx context.Context, read *os.File, p Place) error {
	_ = read.SetReadDeadline(time.Now().Add(readyWait))
	defer context.AfterFunc(ctx, func() { _ = read.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := io.ReadAll(io.LimitReader(read, maxLine))
	said := strings.TrimSpace(string(text))
	switch {
	case said == ready:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the daemon was not ready after %v; its log is %s", readyWait, p.Log())
	case strings.HasPrefix(said, isOther):
		other := new(OtherError)
		if err := json.Unmarshal([]byte(said[len(isOther):]), other); err != nil {
			return fmt.Errorf("the daemon was not started: its configuration is another, and not known: %w", err)
		}
		other.Build = plainText(other.Build)
		return other
	case said != "":
		return fmt.Errorf("the daemon was not started: %s", plainText(said))
	}
	return fmt.Errorf("the daemon has ended before it was ready; its log is %s", p.Log())
}

// A Readiness tells the program that has started this daemon when it is ready. The zero value has nothing to tell.
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
	if other, ok := errors.AsType[*OtherError](err); ok {
		if text, err := json.Marshal(other); err == nil {
			said = isOther + string(text)
		}
	}
	_, _ = io.WriteString(f, said+"\n") // the one that waited may have ended
	_ = f.Close()
}
