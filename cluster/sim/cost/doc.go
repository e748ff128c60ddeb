// Package cost measures the cost of a cluster's requests to the servers of NATS, one kind of request at a time.
// docs/cluster-scale.md has the figures, and package load calculates with them.
//
//	cd cluster && go test -run '^$' -bench . -benchtime 20000x ./sim/cost
//
// The processor time of the servers (us/op-leader, us/op-others) differs little from run to run. The latency and the
// number of requests in a second depend on the other programs of the machine, among them the clients of the benchmark.
package cost
