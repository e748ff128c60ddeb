// Package sshtest is a network in memory with SSH servers, proxies, keys and people who answer
// questions, for the tests of sshx and its packages. For example:
//
//	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
//		l.Server(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
//		c := l.Client(sshtest.To(sshtest.Host1, "pass-1138"), nil)
//		out, _, exit := sshtest.Run(t, c, term.ExecRequest{Command: "echo hello"})
//	})
//
// A Lab registers its secrets, logs, errors and questions with internal/leaktest, so a test
// package that uses it must call leaktest.Main in TestMain.
package sshtest
