// Package sshx makes SSH terminals and runs SSH commands as OpenSSH would make and run them, without any ssh
// binary: ssh_config(5), known_hosts, the agent, identity files, keyboard-interactive and ProxyJump.
//
//	client, err := sshx.Dial(ctx, term.Target{Host: "web1"}, sshx.Options{}, nil)
//	defer client.Close()
//	shell, err := client.Shell(ctx, term.PTY{}) // a term.Transport
//
// How a connection comes about, hop by hop (the steps are those of term.Hop):
//
//	plan        what ssh_config and the caller say: host, port, user, keys, host key policy, jumps
//	dial        dns, tcp (or a channel through the hop before)
//	handshake   banner, kex, hostkey, auth: one watchdog over all of it, paused while a person is asked
//	Client      the connection: keepalive, Shell, Exec
//	Shell       a terminal on it: implements every interface of package term that a Transport may
//	Network     what many of them share: the connections to jump hosts, which also carry what is not SSH (Tunnel)
//
// What it promises:
//
//   - A host key is decided before any credential is sent, on every hop.
//   - Everything that waits for the far side ends at its deadline; the remedy is to close the connection.
//   - What went out to prove who we are is remembered by name and fingerprint, never by value, and every
//     failure says how far the connection came (term.Details.Ladder).
package sshx
