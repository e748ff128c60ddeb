//go:build !(linux || darwin || freebsd)

package sshserver

import "context"

const haveProcesses = false

// runProcess is never called: New refuses a Config without a Handler here.
func (s *Server) runProcess(context.Context, *Request) Exit { return Exit{Status: 127} }
