package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// EncodeLine returns v as one line of JSON, with the line end. It escapes < > and & only where a MarshalJSON of
// mcp-go already did.
func EncodeLine(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}
