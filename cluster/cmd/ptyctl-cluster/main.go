// Command ptyctl-cluster is ptyctl, and one node of several if its configuration has cluster.servers: see
// docs/cluster.md. Without them it is ptyctl.
package main

import (
	"os"

	"ptyctl/cluster/fence"
	"ptyctl/cluster/join"
	"ptyctl/cluster/operator"
	"ptyctl/internal/commands"
)

// release is set by the build of a release: -ldflags "-X main.release=v1.2.3".
var release string

func main() {
	fence.Enable()
	os.Exit(commands.Main(commands.Program{
		Name: "ptyctl-cluster", Usage: "real terminals for AI agents, over MCP, on several machines", Release: release,
		Cluster: join.Cluster, Commands: operator.Commands(),
	}))
}
