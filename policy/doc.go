// Package policy decides whether an action is allowed by the operator's rules.
//
//	p, err := policy.New(policy.Rules{Deny: []policy.Rule{{Text: "rm *", Name: "policy.deny"}}})
//	manager := session.NewManager(session.Config{Gate: p.Gate()})
//
// Without rules the Gate is nil, and nothing is judged. With rules every action
// of a caller must pass it: open, exec, the programs of local sessions, typed
// input, and files.
//
// If commands need permission, a line must fit a closed grammar. It is parsed
// into a tree and the tree is judged. The tree is then printed for the shell of
// the far side (Ruling.Command), and this text runs: the caller's text is never
// sent. If there are only deny rules, the text is parsed as a POSIX shell
// would, each command in it is judged, and the line runs unchanged.
//
// The packages below it read and find; this one decides:
//
//   - grammar: reads a line into a tree and prints it; words with unknown parts.
//   - unwrap: finds the commands of a line, and those that they run in turn.
//   - preset: the built-in lists of commands.
//
// The files:
//
//	judge.go    rules for one command            closed.go   lines that need permission
//	gate.go     the rules for each verb          typing.go   typed input
//	open.go     protocols, folders, programs     startvars.go variables and programs of a line
//	hosts.go    hosts of a connection            grant.go    credentials of a login
//	permissions.go PTY_PERMISSIONS               consent.go  consent of a person
//	credential.go entries about credentials      report.go   trial of rules
//
// A list of denied commands is only advice, because there is always another
// program that can run a denied one. The boundary is a list of allowed
// commands, together with the rights of the account and the limits of the
// system. Typed input cannot be judged at all; see Typing.
package policy
