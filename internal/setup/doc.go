// Package setup writes into an MCP client's own file the entry that has the client start ptyctl.
//
//	client, err := setup.Find("cursor")
//	file, err := client.File(setup.ThisMachine(), setup.Project)
//	change, err := file.Add(setup.Entry{Command: "/usr/local/bin/ptyctl", Args: setup.Args(false)})
//	fmt.Print(change.Diff()) // nothing is written yet
//	backup, err := change.Write()
//
// The clients' files are JSON with comments, TOML or YAML. All bytes outside the entry stay as they are: the file is
// never rewritten from its parsed values. Each change is parsed again before it is shown, and refused if any other
// value would differ.
//
// Check starts the entry of a file as the client does, with the environment that the client passes on.
package setup
