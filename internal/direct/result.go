package direct

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"unicode/utf8"

	"ptyctl/control"
	"ptyctl/term"
)

// maxKept is the most bytes of each stream that Result keeps.
const maxKept = 16 << 20

// Result runs a command as Exec does, and returns its result as an agent gets it: one JSON object. Both streams are
// whole in it, however long the command ran.
func Result(ctx context.Context, on *control.Client, session string, c Command) (End, json.RawMessage, error) {
	return resultWithin(ctx, on, session, c, maxKept)
}

// resultWithin is Result with a limit on the bytes of each stream.
func resultWithin(
	ctx context.Context,
	on *control.Client,
	session string,
	c Command,
	most int,
) (End, json.RawMessage, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out, errs := &kept{stop: stop, most: most}, &kept{stop: stop, most: most}
	end, err := Exec(ctx, on, session, c, out, errs)
	if full, ok := context.Cause(ctx).(*term.Error); ok { //nolint:errorlint // ours is not wrapped
		return end, nil, full
	}
	if err != nil {
		return end, nil, err
	}
	// The remarks of a result that was cut and then continued are not true of this one.
	for _, name := range []string{"exec_id", "remaining_ms", "truncated"} {
		delete(end.members, name)
	}
	for name, stream := range map[string]*kept{"stdout": out, "stderr": errs} {
		for _, about := range []string{"_cursor", "_bytes", "_omitted", "_encoding"} {
			delete(end.members, name+about)
		}
		text := stream.Bytes()
		if !utf8.Valid(text) {
			text = []byte(base64.StdEncoding.EncodeToString(text))
			end.members[name+"_encoding"] = json.RawMessage(`"base64"`)
		}
		if end.members[name], err = json.Marshal(string(text)); err != nil {
			return end, nil, err
		}
	}
	result, err := json.Marshal(end.members)
	return end, result, err
}

// kept is a stream that is kept in memory. One that grows too large stops the command.
type kept struct {
	stop context.CancelCauseFunc
	most int // bytes

	mu sync.Mutex // guards the following
	bytes.Buffer
}

// Write implements io.Writer.
func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Len()+len(p) > k.most {
		err := &term.Error{Kind: term.LimitExceeded, Msg: fmt.Sprintf(
			"the command was stopped: its output is larger than the %d MiB that one JSON object holds; "+
				"leave --json out, or let it print less", k.most>>20,
		)}
		k.stop(err)
		return 0, err
	}
	return k.Buffer.Write(p)
}
