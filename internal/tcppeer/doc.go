// Package tcppeer finds the process of this machine that has the other end of a TCP connection (Linux).
package tcppeer
