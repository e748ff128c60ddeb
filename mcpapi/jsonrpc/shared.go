package jsonrpc

import "unsafe"

// The content of a file changes between a string and bytes on its way to a message and from one. Each conversion would
// copy it into new memory. Without these copies, reads take 6 to 12 % less processor time (BenchmarkContent, two
// alternated runs on a busy machine).

// Text returns text as a string that shares its memory. No one may change text after that.
func Text(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// Bytes returns the bytes of text, which share its memory. No one may change them.
func Bytes(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
