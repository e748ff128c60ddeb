// Package fleetrun runs a command on many hosts for a person: by the tool that an agent has, with a line of progress.
//
//	end, err := fleetrun.Run(ctx, on, fleetrun.Call{Action: "run", Hosts: hosts, Cmd: "uptime"}, fleetrun.Options{Out: os.Stdout})
//
// When ctx ends, the commands are stopped, and the answers so far are shown.
package fleetrun
