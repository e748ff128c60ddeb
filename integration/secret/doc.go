// Package secret tests the operator's named secrets in terminals: which secret is typed where, and which is refused.
//
// The questions are those of real programs: sudo, su, ssh-keygen, a database client, a login over Telnet and a router.
// Package lab starts the servers and clients.
package secret
