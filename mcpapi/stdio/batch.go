package stdio

import (
	"bytes"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/jsonrpc"
)

// isBatch reports whether a line is a JSON array, which is valid.
func isBatch(line []byte) bool {
	line = bytes.TrimLeft(line, jsonrpc.Space)
	return len(line) > 0 && line[0] == '[' && utf8.Valid(line) && jsonrpc.Valid(line)
}

// dispatchBatch handles the messages of a batch as if each had a line of its own. Their answers are one line, which is
// written after the last of them.
func (l *loop) dispatchBatch(line []byte) {
	line = bytes.TrimLeft(line, jsonrpc.Space)
	messages, b, err := jsonrpc.ReadBatch(line, l.session.ProtocolVersion(), l.opts.MaxInFlight)
	if err != nil {
		l.refuse(rpcMessage{}, mcpgo.Error(mcp.INVALID_REQUEST, err.Error()))
		return
	}
	for _, text := range messages {
		m, bad := parseMessage(text)
		if bad == nil && m.Method != nil && !jsonrpc.MayBatch(*m.Method) {
			e := mcpgo.Error(mcp.INVALID_REQUEST, *m.Method+" must not be part of a batch; send it by itself")
			bad = &e
		}
		m.batch = b
		l.dispatchMessage(m, bad)
	}
}

// settle writes the answer to a message, or keeps it for the answer to its batch. A nil line is no answer.
func (l *loop) settle(m rpcMessage, line []byte) {
	if m.batch != nil {
		line = m.batch.Settle(line)
	}
	if line != nil { // nil would write the queue of notifications
		l.out.send(line)
	}
}
