// Package jsonrpc cuts JSON-RPC messages up without reading all of them, and writes their parts.
//
//	method := jsonrpc.Want{Name: "method"}
//	err := jsonrpc.Pick(message, &method)
//
// Its functions that cut take valid JSON.
package jsonrpc
