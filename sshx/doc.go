// Package sshx opens SSH terminals and runs SSH commands in the way OpenSSH does, without an
// ssh binary: with ssh_config(5), known_hosts, the agent, identity files,
// keyboard-interactive and ProxyJump.
//
//	client, err := sshx.Dial(ctx, term.Target{Host: "web1"}, sshx.Options{}, nil)
//	defer client.Close()
//	shell, err := client.Shell(ctx, term.PTY{}) // a term.Transport
//
// A connection passes these stages, hop by hop (the steps are those of term.Hop):
//
//	sshx/plan   host, port, user, keys, host key policy, jumps: from ssh_config and the call
//	sshx/reach  dns, tcp (or a channel through the hop before)
//	handshake   banner, kex, hostkey, auth: under one watchdog, which pauses while a person is asked;
//	            sshx/hostkeys decides about the server's key, sshx/auth about credentials
//	sshx/mux    the connection and its channels: keepalive, commands, subsystems
//	Client      one connection with its jump hosts: Shell, Exec, Subsystem
//	Shell       a terminal on it: implements every interface of package term for a Transport
//	Network     the connections to jump hosts that sessions share, also for targets without SSH (Tunnel)
//
// The package guarantees:
//
//   - On every hop the host key is decided before any credential is sent.
//   - Every wait for a server ends at a deadline; the remedy is to close the connection.
//   - The record of a login has the names and fingerprints of credentials, never a secret.
//     Every failure has the steps so far (term.ConnectFailure).
package sshx
