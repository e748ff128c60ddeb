package operator

import (
	"fmt"
	"slices"

	"ptyctl/audit"
	"ptyctl/cluster/anchors"
	"ptyctl/internal/cli"
	"ptyctl/internal/commands"
)

func anchorsCommand() *cli.Command {
	return &cli.Command{
		Name: "anchors",
		Usage: "compare an audit log with the ends of it that the cluster has kept; status 1 if it was cut or written anew. " +
			"Give the rotated files too",
		ArgsUsage: "FILE...",
		Flags: []cli.Flag{
			commands.ConfigFlag(), credentialsFlag(),
			&cli.StringFlag{Name: "node", Usage: "whose log it is; default the configuration's own `NODE`"},
		},
		Action: compare,
	}
}

func compare(c *cli.Context) error {
	files, err := commands.Arguments(c, 1, -1)
	if err != nil {
		return err
	}
	s, err := reach(c)
	if err != nil {
		return err
	}
	defer s.nc.Close()
	node := c.String("node")
	if node == "" {
		if node, err = s.cfg.Cluster.NodeName(); err != nil {
			return err
		}
	}
	ctx, cancel := within(c)
	defer cancel()
	book, err := anchors.Read(ctx, s.nc, s.cfg.Cluster.Group, s.prover)
	if err != nil {
		return err
	}
	kept, err := book.List(ctx, node)
	if err != nil {
		return s.explained(err)
	}
	all := len(kept)
	kept = slices.DeleteFunc(kept, func(a anchors.Anchor) bool { return a.Doubt != "" })
	doubts := all - len(kept)
	switch {
	case all == 0:
		return fmt.Errorf("no end of the audit log of node %s is kept", node)
	case len(kept) == 0:
		return fmt.Errorf("no end of the audit log of node %s is kept that it has signed, and %d that may be another node's words", node, doubts)
	}
	heads := make([]string, len(kept))
	for i, a := range kept {
		heads[i] = a.Hash
	}
	r, missing, err := audit.VerifyHeads(heads, files...)
	if err != nil {
		return err
	}
	// Those in files that rotation has removed cannot be compared.
	before := 0
	for _, a := range kept {
		switch {
		case a.File < r.First:
			before++
		case slices.Contains(missing, a.Hash):
			return fmt.Errorf("the log had a line with the hash %s in file %d at byte %d (kept %s, %s), and has it no more: it was cut, "+
				"written anew, or is another node's", a.Hash, a.File, a.Bytes, at(a.Stored), a.Why)
		}
	}
	_, err = fmt.Fprintf(c.App.Writer, "ok: %d lines have all %d ends that are kept of node %s, the last of %s\n",
		r.Lines, len(kept)-before, node, at(kept[len(kept)-1].Stored))
	if err == nil && before > 0 {
		_, err = fmt.Fprintf(c.App.Writer, "note: %d more are of files before file %d, which were not given\n", before, r.First)
	}
	if err == nil && doubts > 0 {
		_, err = fmt.Fprintf(c.App.Writer, "warning: %d more may be another node's words, and were left out: look for the node that has "+
			"written them\n", doubts)
	}
	return err
}
