// Package mask replaces what differs between hosts that are alike: their names, addresses and clocks.
//
//	m := mask.New([]string{"web1.example.net", "192.0.2.7"})
//	m.Line([]byte("web1 up 3 days, sshd[812] on 192.0.2.7")) // <host> up <uptime>, sshd[<pid>] on <address>
//
// Every replacement is visible: <host>, <address>, <time>, <pid>, <uptime>, <load>. Nothing else is changed, except
// that in the table of ps(1) a replaced column has no padding.
package mask
