// Package fleet runs one command on many hosts.
//
//	fleets := fleet.New(fleet.Config{Dial: network.OpenShell, Judge: network.Judge})
//	run, err := fleets.Run(ctx, fleet.Request{Hosts: hosts, Command: "uptime", Rules: batch.Rules{Canary: 1}})
//	if err != nil {
//		return err // no host was connected to
//	}
//	<-run.Done()
//	fmt.Print(run.Report(groups.Limits{}).Text())
//
// A host of a run is a connection and a command on a channel of it. It is not a session: it has no terminal, and is
// not listed.
//
//	judge     every host, by the operator's rules and the host keys on record (judge.go)
//	agree     a person, once, with the command and all hosts (agree.go)
//	schedule  canaries, batches, failures that stop the rest (package batch; run.go)
//	run       connect, run the command, end the connection (host.go)
//	report    equal answers are one group (package groups)
//
// Promises:
//   - No host is connected to before all hosts have been judged. A rule of the operator that names a person's consent
//     asks once, for all hosts of the run.
//   - Each host begins at most once. Hosts that did not begin are listed apart from hosts that failed, with the
//     reason.
//   - A login that asks a question is ended and counted. No person is asked.
//   - The output of a host takes bounded memory: its start and its end are kept, and the rest is counted.
//   - Every action is authorized, recorded and observed like those of a session, with the id of the run.
package fleet
