//go:build unix && !linux

package reach

import "os/exec"

// await waits for the leader.
func (g *group) await(cmd *exec.Cmd) { cmd.ProcessState, _ = cmd.Process.Wait() }

// reap does nothing: await has waited for the leader, and init adopts the others.
func (g *group) reap(*exec.Cmd) {}
