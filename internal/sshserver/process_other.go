//go:build !(linux || darwin || freebsd)

package sshserver

import "context"

const haveProcesses = false

// runProcess is never called, because New requires a Handler on this system.
func (s *Server) runProcess(context.Context, *Request) Exit { return Exit{Status: 127} }
