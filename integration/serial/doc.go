// Package serial tests serial lines of this machine, and those of servers of RFC 2217.
//
// The lines are pairs of pseudo-terminals of socat, with agetty and a shell at the other end. The servers are ser2net and
// pyserial's. Package lab starts them.
package serial
