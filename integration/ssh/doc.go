// Package ssh tests the program and its SSH transport against OpenSSH and Dropbear.
//
// It covers logins, keys, host keys, jump hosts, files and limits, and sessions with servers that freeze or die.
// Package lab starts the servers and clients.
package ssh
