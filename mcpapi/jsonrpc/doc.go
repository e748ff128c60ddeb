// Package jsonrpc cuts JSON-RPC messages up without reading all of them, and writes answers. It is also the one place
// of what exists only because mcp-go reads and writes messages in another way than ptyctl needs: ids in their own
// digits, answers that are not read and copied three times, and the URI in the error of a resource that does not
// exist.
package jsonrpc
