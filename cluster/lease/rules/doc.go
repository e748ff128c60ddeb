// Package rules has the rules of leases that need no connection: when a lease ends, when it is renewed, and what the
// answers of the servers mean. Package lease follows them with real servers, package sim in virtual time, where it
// judges them. Nothing here reads a clock.
package rules
