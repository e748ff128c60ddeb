package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/jsonrpc"
)

// rpcMessage is the envelope of one JSON-RPC 2.0 message (section 4 of its specification).
type rpcMessage struct {
	ID            json.RawMessage // nil for a notification
	Method        *string
	Params        json.RawMessage
	Result, Error json.RawMessage

	raw   []byte         // the whole message
	key   string         // identifies ID among the requests in flight
	batch *jsonrpc.Batch // the batch of the message; nil: no batch
}

// parseMessage reads one line. Its error is the one to answer, with the returned message's ID.
func parseMessage(line []byte) (rpcMessage, *mcp.JSONRPCError) {
	bad := func(id json.RawMessage, code int, text string) (rpcMessage, *mcp.JSONRPCError) {
		e := mcpgo.Error(code, text)
		return rpcMessage{ID: id}, &e
	}
	line = bytes.Trim(line, " \t\r")
	switch {
	case len(line) == 0:
		return bad(nil, mcp.PARSE_ERROR, "empty line; send one JSON object per line")
	case !utf8.Valid(line):
		return bad(idIn(line), mcp.PARSE_ERROR, "message is not valid UTF-8; send JSON encoded as UTF-8")
	case line[0] != '{' && !jsonrpc.Valid(line):
		if jsonrpc.TooDeep(line) {
			return bad(nil, mcp.PARSE_ERROR, jsonrpc.TooDeepText)
		}
		return bad(nil, mcp.PARSE_ERROR, "message is not valid JSON; send one JSON object per line")
	case line[0] != '{':
		return bad(nil, mcp.INVALID_REQUEST, "message is not a JSON object; send one JSON-RPC object per line")
	}
	if !jsonrpc.Valid(line) {
		if jsonrpc.TooDeep(line) {
			return bad(idIn(line), mcp.PARSE_ERROR, jsonrpc.TooDeepText)
		}
		return bad(
			idIn(line),
			mcp.PARSE_ERROR,
			fmt.Sprintf("message is not valid JSON (at byte %d); send one JSON object per line", syntaxOffset(line)),
		)
	}
	version, id, method, params, result, failure := jsonrpc.Want{
		Name: "jsonrpc",
	}, jsonrpc.Want{
		Name: "id",
	}, jsonrpc.Want{
		Name: "method",
	}, jsonrpc.Want{
		Name: "params",
	}, jsonrpc.Want{
		Name: "result",
	}, jsonrpc.Want{
		Name: "error",
	}
	err := jsonrpc.Pick(line, &version, &id, &method, &params, &result, &failure)
	m := rpcMessage{raw: line, ID: id.Value, Params: params.Value, Result: result.Value, Error: failure.Value}
	var idOK bool
	m.key, idOK = jsonrpc.IDKey(m.ID)
	if err == nil && method.Value != nil && json.Unmarshal(method.Value, &m.Method) != nil {
		version.Value = nil // of the wrong type: reported below, with the id if that is right
	}
	switch {
	case m.ID != nil && !idOK:
		return bad(nil, mcp.INVALID_REQUEST, jsonrpc.WrongID(m.ID))
	case err != nil:
		return bad(m.ID, mcp.INVALID_REQUEST, "not a JSON-RPC 2.0 message: "+err.Error())
	case string(version.Value) != `"`+mcp.JSONRPC_VERSION+`"`:
		return bad(
			m.ID,
			mcp.INVALID_REQUEST,
			`not a JSON-RPC 2.0 message; it needs "jsonrpc":"2.0" and a method that is a string`,
		)
	case m.Method == nil && m.Result == nil && m.Error == nil:
		return bad(m.ID, mcp.INVALID_REQUEST, "neither a request nor an answer; a request needs a method")
	case m.Method != nil && (m.Result != nil || m.Error != nil):
		return bad(m.ID, mcp.INVALID_REQUEST, "both a request and an answer; leave out result and error in a request")
	}
	return m, nil
}

// idIn returns the id of a request that is not valid JSON, or nil if it shows none: a client that gets an error without it
// would wait for the answer.
func idIn(line []byte) json.RawMessage {
	var id jsonrpc.IDFinder
	_, _ = id.Write(line) // it never fails
	if found := id.ID(); utf8.Valid(found) {
		return found
	}
	return nil
}

// syntaxOffset returns the offset of the first byte at which text is not valid JSON.
func syntaxOffset(text []byte) int64 {
	var any json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &any)); ok {
		return syntax.Offset
	}
	return 0
}

// errLineTooLong means that a line was longer than lineReader.max and has been skipped.
var errLineTooLong = errors.New("line too long")

// lineReader reads lines in memory bounded by max.
type lineReader struct {
	br   *bufio.Reader
	max  int              // longest line, in bytes without its line end
	long jsonrpc.IDFinder // has read the line of the last errLineTooLong
	// expected is the size of the last line that br could not hold: a file comes in parts of one size. Such a line takes
	// its size of memory in place of twice that.
	expected int
}

// next returns the next line without its newline; the caller owns it. The last line may lack the newline. After
// errLineTooLong the next line can be read.
func (r *lineReader) next() ([]byte, error) {
	var parts [][]byte // joined at the end; one if the line is no longer than expected
	size, tooLong := 0, false
	for {
		part, err := r.br.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !more && !atEnd || atEnd && len(part) == 0 && size == 0 && !tooLong {
			return nil, err
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		if size += len(part); size > r.max {
			if !tooLong {
				r.long = jsonrpc.IDFinder{}
			}
			for _, p := range append(parts, part) {
				_, _ = r.long.Write(p) // it never fails
			}
			tooLong, parts = true, nil
		} else {
			last := len(parts) - 1
			switch {
			case last >= 0 && cap(parts[last])-len(parts[last]) >= len(part):
				parts[last] = append(parts[last], part...)
			case last < 0 && more:
				parts = append(parts, append(make([]byte, 0, max(r.expected, len(part))), part...))
			default:
				parts = append(parts, bytes.Clone(part))
			}
		}
		switch {
		case more:
		case tooLong:
			return nil, errLineTooLong
		case size < r.br.Size():
			return parts[0], nil
		default:
			r.expected = size
			if len(parts) == 1 && cap(parts[0]) <= 2*size { // more would be memory that no one counts
				return parts[0], nil
			}
			return bytes.Join(parts, nil), nil
		}
	}
}
