// Package join makes a ptyctl one node of a cluster, as the table [cluster] of its configuration says.
//
//	os.Exit(commands.Main(commands.Program{Name: "ptyctl-cluster", Cluster: join.Cluster}))
package join
