// Package secret has the named secrets of an operator: where each comes from, where it may go, and how often.
//
//	store := secret.NewStore([]secret.Definition{{
//		Name: "web-login", Source: s, Hosts: []string{"web*.example.net"}, Users: []string{"deploy"},
//	}}, secret.Options{Journal: journal})
//	options.Answerer = store // of package sshx: logins are answered from the store
//
// A store keeps no value. A login gets one only at a host with a key that was on the operator's record before, so
// that a host behind the same name gets nothing. Neither an error nor a record holds a value.
package secret
