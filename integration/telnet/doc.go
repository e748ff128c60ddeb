// Package telnet tests the program and its Telnet transport against real Telnet servers.
//
// These are telnetd of inetutils and busybox, a router, serial lines behind ser2net, servers behind TLS, and ports that
// do not speak Telnet. Package lab starts the servers and clients.
package telnet
