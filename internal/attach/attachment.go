package attach

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

const (
	leaseTime = 30 * time.Second // how long a taken terminal stays taken if this process dies
	beat      = leaseTime / 3    // how often the lock is renewed
	parting   = 3 * time.Second  // how long giving back may take
)

// An Attachment is a person at the terminal of a session.
type Attachment struct {
	Client *control.Client
	ID     string // of the session

	task string // the name of the lock's holder for others; empty: the person holds none. The proof is in Client

	// asked is the cursor from which on the queries of the output are for this person's terminal; earlier queries were for
	// another terminal.
	asked int64
}

// Status returns the present status of the session.
func (a *Attachment) Status(ctx context.Context) (now client.StatusResult, err error) {
	err = a.Client.Call(ctx, client.ToolSession, client.SessionCall{Action: "status", SessionID: a.ID}, &now)
	return now, err
}

// MayTake finds out whether a person may type into the session, before a window is made that could only show the
// refusal.
func (a *Attachment) MayTake(ctx context.Context) error {
	err := client.MayType(ctx, a.Client, a.ID, personName())
	if _, refused := errors.AsType[*control.ToolError](err); refused {
		return client.ReadOnlyHint(err)
	}
	return err
}

// take makes this person the only one to type. previous names the holder that lost the terminal.
func (a *Attachment) take(ctx context.Context) (previous string, err error) {
	task := personName()
	if err := a.Client.Attach(ctx, task); err != nil {
		return "", err
	}
	now, err := a.Status(ctx) // as the person, whom the rules may leave more
	if err != nil {
		return "", err
	}
	if err := client.TypingDenied(&now); err != nil { // before the holder loses the lock for nothing
		return "", err
	}
	var out struct {
		Previous string `json:"previous_holder"`
		Cursor   string `json:"cursor"`
	}
	err = a.Client.Call(
		ctx,
		client.ToolSession,
		client.SessionCall{
			Action:    "lock",
			SessionID: a.ID,
			TaskID:    task,
			LockTTL:   leaseTime.Milliseconds(),
			TakeOver:  true,
		},
		&out,
	)
	if err != nil {
		return "", client.ReadOnlyHint(err)
	}
	a.task = task
	if a.asked, err = strconv.ParseInt(out.Cursor, 10, 64); err != nil { // of an older server
		a.asked = math.MaxInt64
	}
	switch {
	case strings.HasPrefix(out.Previous, "person "):
		previous = " from " + tty.Printable(out.Previous)
	case out.Previous != "":
		previous = " from task " + tty.Printable(out.Previous)
	}
	return previous, nil
}

// lingering returns a context that ends a time d after ctx.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, func() {
		detach()
		cancel()
	}
}

// personName names the person here for the others at the session.
func personName() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("%s (ptyctl attach, process %d)", name, os.Getpid())
}

// renew renews the lock.
func (a *Attachment) renew(ctx context.Context) error {
	if a.task == "" {
		return nil
	}
	return a.Client.Call(
		ctx,
		client.ToolSession,
		client.SessionCall{Action: "heartbeat", SessionID: a.ID, TaskID: a.task, LockTTL: leaseTime.Milliseconds()},
		nil,
	)
}

// resize gives the terminal of the session a size. A session without a terminal ignores it.
func (a *Attachment) resize(ctx context.Context, cols, rows int) {
	if cols > 0 && rows > 0 {
		_ = a.Client.Call(
			ctx,
			client.ToolConfig,
			client.ConfigCall{Action: "resize", SessionID: a.ID, TaskID: a.task, Cols: cols, Rows: rows},
			nil,
		)
	}
}

// write types data.
func (a *Attachment) write(ctx context.Context, data []byte) error {
	return a.Client.Call(
		ctx,
		client.ToolIO,
		client.IOCall{
			Action:    "write",
			SessionID: a.ID,
			TaskID:    a.task,
			Data:      base64.StdEncoding.EncodeToString(data),
			Encoding:  "base64",
		},
		nil,
	)
}

// giveBack releases the lock, with which the server gives the terminal the size that it had. The agent learns of it when
// it types.
func (a *Attachment) giveBack() error {
	ctx, stop := context.WithTimeout(context.Background(), parting)
	defer stop()
	unlock := client.SessionCall{Action: "unlock", SessionID: a.ID, TaskID: a.task}
	err := a.Client.Call(ctx, client.ToolSession, unlock, nil)
	for _, gone := range []string{"ALREADY_CLOSED", "NOT_FOUND", "LOCK_REQUIRED", "LOCKED"} {
		if client.IsCode(err, gone) {
			return nil // nothing is left to give back
		}
	}
	return err
}
