// Package tcppeer finds the processes of this machine that may have the other end of a TCP connection (Linux).
package tcppeer
