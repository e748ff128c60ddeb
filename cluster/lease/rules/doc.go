// Package rules has the rules of leases that need no connection: when a lease ends, when it is renewed, and how the
// answers of the servers are read. Package lease follows them with real servers. Package sim follows them in virtual
// time, and checks them there. Nothing here reads a clock.
package rules
