// Package destination reads the forms in which people and models write a host: HOST, USER@HOST, HOST:PORT, [IPV6]:PORT
// and the URLs ssh://USER@HOST:PORT and telnet://HOST:PORT.
//
//	d, err := destination.Parse("alice@web1:2222")
//
// It does no I/O, and no error repeats a text that may hold a password.
package destination
