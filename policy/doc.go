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
//	grammar.go, token.go, tree.go  parse a line into a tree  print.go    print the tree as a line
//	closed.go    judge a tree                        strict.go   safe forms of programs that run others
//	builtins.go  words that shells evaluate          preset.go   built-in lists
//	hosts.go     hosts of a connection               grant.go    credentials of a login
//
//	shell.go    split a line into commands       words.go    words with unknown parts
//	programs.go programs that run others         runoptions.go, git.go programs that do so with some options
//	carriers.go programs that do so anywhere in their arguments
//	search.go   find commands in arguments       variables.go variables that make programs run others
//	presetoptions.go, presetparse.go  options of the built-in lists, and their file format
//	wrap.go     a command that runs another      wildcard.go patterns against unknown text
//	judge.go    rules for one command            permissions.go PTY_PERMISSIONS
//	open.go     protocols, folders, programs     gate.go     the rules for each verb
//	credential.go entries about credentials      report.go   trial of rules
//
// A list of denied commands is only advice, because there is always another
// program that can run a denied one. The boundary is a list of allowed
// commands, together with the rights of the account and the limits of the
// system. Typed input cannot be judged at all; see Typing.
package policy
