package toolset

import (
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/schema"
)

// Content decodes text as Decode does, for callers that do not change the data: it may share the memory of text.
func Content(ch *schema.Checker, path, text, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return jsonrpc.Bytes(text), nil
	}
	return Decode(ch, path, text, encoding)
}

// Decode decodes text in one of the encodings of the wire.
func Decode(ch *schema.Checker, path, text, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return []byte(text), nil
	}
	b, err := jsonrpc.FromBase64(text)
	if err != nil {
		return nil, ch.Invalid(
			path,
			nil,
			"%s is not valid base64 (%v); encode it with the standard alphabet and padding, or leave encoding out",
			path,
			err,
		)
	}
	return b, nil
}
