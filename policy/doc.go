// Package policy decides whether an action is allowed, from the operator's rules.
//
//	p, err := policy.New(policy.Rules{Deny: []policy.Rule{{Text: "rm *", Name: "policy.deny"}}})
//	manager := session.NewManager(session.Config{Gate: p.Gate()})
//
// Without rules the Gate is nil, and nothing is asked. With rules every action of a caller passes it: open, exec and the
// programs of local sessions, what is typed, and files.
//
// A command is read as a POSIX shell reads it, with mvdan.cc/sh, and every command in it is judged: behind && and |, in
// substitutions, here-documents and functions, and behind the programs that run others (sh -c, env, sudo, xargs, ssh). What
// cannot be read, what is not known before it runs (the command word $x), and what shells read in different ways is denied.
//
//	shell.go    a line becomes commands          words.go    a word becomes text with holes
//	programs.go the programs that run others     runoptions.go, git.go those that do with some options
//	carriers.go those that do somewhere in their arguments
//	search.go   where in their arguments         variables.go variables that make others do it
//	preset.go   the ready-made lists             presetoptions.go, presetparse.go their options, and how they are read
//	wrap.go     a command that runs another      wildcard.go patterns against such text
//	judge.go    the rules for one command        permissions.go PTY_PERMISSIONS
//	open.go     hosts, protocols, folders        gate.go     which rule is for which verb
//	credential.go what a login may use          report.go   rules that are tried out
//
// A list of what is denied is advice: there is always one more program that can run others. A list of what is allowed, the
// rights of the account, and the limits of the system are the boundary. What is typed into a terminal cannot be judged at
// all; see Typing.
package policy
