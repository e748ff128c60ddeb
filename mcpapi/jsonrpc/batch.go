package jsonrpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// BatchRevision is the only protocol revision of MCP that has batches.
const BatchRevision = "2025-03-26"

// MayBatch reports whether a request of that method may be part of a batch: the handshake may not, nor a request that
// is answered only when its connection ends.
func MayBatch(method string) bool { return method != "initialize" && method != "subscriptions/listen" }

// A Batch collects the answers to the messages of a JSON array (section 6 of the JSON-RPC specification). Its methods
// may be called from any goroutine.
type Batch struct {
	mu      sync.Mutex
	open    int // messages that are not settled
	answers [][]byte
}

// ReadBatch returns the messages of an array, which must be valid JSON, and the Batch that takes their answers. Its
// error says why the array is refused as a whole. revision is the client's current one; empty: none yet.
func ReadBatch(array json.RawMessage, revision string, most int) ([]json.RawMessage, *Batch, error) {
	if revision != BatchRevision {
		return nil, nil, fmt.Errorf(
			"batches exist only in protocol revision %s, and the one in effect is %s; send each message by itself",
			BatchRevision, cmp.Or(revision, "not settled yet"),
		)
	}
	var messages []json.RawMessage
	for message := range eachElement(array) {
		if len(messages) == most {
			return nil, nil, fmt.Errorf("a batch may have at most %d messages (limits.max_in_flight); send several", most)
		}
		messages = append(messages, message)
	}
	if len(messages) == 0 {
		return nil, nil, errors.New("the batch is empty; send at least one message in it")
	}
	return messages, &Batch{open: len(messages)}, nil
}

// Settle adds the answer to one of the messages. answer is nil if there is none, for example to a notification. After
// the last message it returns the answer to the batch, a line. It returns nil before, and if no message has an answer.
func (b *Batch) Settle(answer []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer = bytes.TrimSpace(answer); len(answer) > 0 {
		b.answers = append(b.answers, answer)
	}
	if b.open--; b.open != 0 || len(b.answers) == 0 {
		return nil
	}
	return append(append([]byte("["), bytes.Join(b.answers, []byte(","))...), "]\n"...)
}
