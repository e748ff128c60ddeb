package mux

import (
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// negotiated returns the algorithms of an established connection.
func negotiated(c ssh.ConnMetadata) term.Algorithms {
	// Only a connection of x/crypto/ssh itself reports its algorithms.
	m, ok := c.(ssh.AlgorithmsConnMetadata)
	if !ok {
		return term.Algorithms{}
	}
	a := m.Algorithms()
	return term.Algorithms{Kex: a.KeyExchange, HostKey: a.HostKey, Cipher: a.Write.Cipher, MAC: a.Write.MAC}
}

// weakWarnings returns a warning for each negotiated algorithm that should no
// longer be used.
func weakWarnings(a term.Algorithms) []string {
	weak := ssh.InsecureAlgorithms()
	var out []string
	for _, n := range []struct {
		what, name string
		list       []string
	}{
		{"key exchange", a.Kex, weak.KeyExchanges},
		{"host key", a.HostKey, weak.HostKeys},
		{"cipher", a.Cipher, weak.Ciphers},
		{"MAC", a.MAC, weak.MACs},
	} {
		if slices.Contains(n.list, n.name) {
			out = append(out, fmt.Sprintf("the %s algorithm %s is weak; the server should be updated", n.what, n.name))
		}
	}
	return out
}
