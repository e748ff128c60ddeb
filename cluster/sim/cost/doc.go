// Package cost measures what a cluster asks of the servers of NATS, one kind of request at a time. docs/cluster-scale.md
// has the figures, and package load calculates with them.
//
//	cd cluster && go test -run '^$' -bench . -benchtime 20000x ./sim/cost
//
// The processor time of the servers (us/op-leader, us/op-others) differs little from run to run. How long a request takes
// and how many are done in a second depend on what else the machine does, the clients of the benchmark among it.
package cost
