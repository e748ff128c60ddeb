// Package sim simulates a cluster in virtual time: nodes, the servers of NATS JetStream, consoles, agents, and faults,
// jumps of clocks among them. One goroutine carries out one event after the other. The same Config and seed give the
// same history.
//
//	r := sim.Run(sim.Config{Seed: 7, Faults: []sim.Fault{sim.KillLeader, sim.Suspend}})
//	if len(r.Violations) != 0 { ...
//
// The judge sees true time, which no machine of the cluster does. It demands:
//
//   - At most one lease of a console passes its check at any true time, on a process that runs.
//   - No node acquires a console before its former owner takes its own lease to have ended, on the owner's clock.
//   - A later lease has a greater token.
//   - Each call is answered once, and within its deadline if its node runs.
//   - When the faults are over, each console has an owner or can be acquired.
//
// The rules of leases are those of package rules, which package lease follows, too. The following is modelled here, and
// may therefore differ from the real programs:
//
//   - devlock.Lease: its check is a comparison with the end of the lease, and a lease that has ended stays so.
//   - Store.Acquire, Release and the renewer: the order of their requests, without goroutines.
//   - The servers: Raft with the timers of nats-server 2.15 (elections after 4 to 9 s, a leader without a majority leaves
//     after 10 to 20 s), compare-and-set against the applied log, error 10164 while a write of the key is under way,
//     the stamp of a write and its age by the wall clock of the current leader, markers of expired keys as
//     unconditional writes of their own, reads by a leader that may have been replaced.
//   - The network: each message has its own delay, some are slow, some are lost; messages that a cut holds back may
//     come later.
package sim
