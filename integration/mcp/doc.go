// Package mcp tests how the program speaks MCP.
//
// The conformance suite, the official clients for TypeScript and Go, and the Inspector judge it. Further tests check
// stdio and HTTP, every error code, the tool sets and the bundle. Package lab starts the servers and clients.
package mcp
