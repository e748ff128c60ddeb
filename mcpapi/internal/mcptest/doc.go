// Package mcptest is for the tests of package mcpapi and those below it: a lab with an SSH server, and clients that
// speak to ptyctl as others do.
//
//	l := mcptest.NewLab(t, mcptest.Config{})
//	l.OpenShell()
//	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"true"}`)
package mcptest
