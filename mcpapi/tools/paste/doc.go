// Package paste is the part of the tools that types many lines into a terminal, each when the far side has answered the
// one before: the arguments lines and pace, and the member pasted of the results.
package paste
