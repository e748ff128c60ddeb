// Package modem tests files moved over the terminal with XMODEM and YMODEM.
//
// The far side is lrzsz, over local, SSH and Telnet sessions, with a program between that spoils bytes. Package lab
// starts the servers and clients.
package modem
