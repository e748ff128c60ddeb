// Package policy decides whether an action is allowed, from the operator's rules.
//
//	p, err := policy.New(policy.Rules{Deny: []policy.Rule{{Text: "rm *", Name: "policy.deny"}}})
//	manager := session.NewManager(session.Config{Gate: p.Gate()})
//
// Without rules the Gate is nil, and nothing is asked. With rules every action of a caller passes it: open, exec and the
// programs of local sessions, what is typed, and files.
//
// Where a command has to be allowed, a line must lie in a closed grammar. It is read into a tree, the tree is judged, and what
// runs is the tree printed again for the shell of the far side (Ruling.Command): the caller's text is never sent. Under deny
// alone, the text is read as a POSIX shell reads it, each command in it is judged, and it runs as it was given.
//
//	grammar.go, token.go, tree.go  a line becomes a tree      print.go    the tree becomes a line again
//	closed.go    the rules for a tree                strict.go   the forms of programs that run others
//	builtins.go  words that a shell itself evaluates preset.go   ready-made lists
//	hosts.go     where a connection leads            grant.go    which credentials may be used
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
