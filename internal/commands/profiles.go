package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"ptyctl/internal/cli"

	"ptyctl/profile"
)

func profilesCommand() *cli.Command {
	return &cli.Command{
		Name: "profiles", Usage: "list the device families that --profile and expect.profile know, or show one",
		ArgsUsage: "[NAME]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print JSON: everything about all of them, or about one"},
		},
		Action: func(c *cli.Context) error {
			names, err := arguments(c, 0, 1)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				return listProfiles(c.App.Writer, c.Bool("json"))
			}
			name := names[0]
			p, ok := profile.Get(name)
			if !ok {
				return usageError{
					fmt.Errorf(
						"there is no profile %q; the profiles are %s",
						name,
						strings.Join(profile.Names(), ", "),
					),
				}
			}
			if c.Bool("json") {
				return printJSON(c.App.Writer, p)
			}
			_, err = io.WriteString(c.App.Writer, profileText(p))
			return err
		},
	}
}

func listProfiles(w io.Writer, asJSON bool) error {
	all := make([]profile.Profile, 0, len(profile.Names()))
	for _, name := range profile.Names() {
		p, _ := profile.Get(name)
		all = append(all, p)
	}
	if asJSON {
		return printJSON(w, all)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tFOR\tPAGING OFF")
	for _, p := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", p.Name, p.About, strings.Join(p.PagingOff, "; "))
	}
	return table.Flush()
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// profileText shows one profile: its description, its commands, and each pattern with its samples.
func profileText(p profile.Profile) string {
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-14s %s\n", label, value)
		}
	}
	line("name", p.Name)
	line("for", p.About)
	line("class", p.Class)
	line("enter", p.Enter)
	line("paging off", strings.Join(p.PagingOff, "; "))
	line("enable", p.Enable)
	line("configure", p.ConfigEnter)
	line("leave", p.ConfigLeave)
	line("show config", p.ShowConfig)
	line("reload", p.Reload)
	line("note", p.Note)
	line("sources", strings.Join(p.Sources, "; "))
	pattern := func(label string, x *profile.Pattern) {
		if x == nil {
			return
		}
		fmt.Fprintf(&b, "\n%-14s %s\n", label, x.Regex)
		line("  matches", quoted(x.Matches))
		line("  rejects", quoted(x.Rejects))
	}
	pattern("prompt", p.Prompt)
	pattern("config prompt", p.ConfigPrompt)
	for i := range p.Pagers {
		pattern("pager", &p.Pagers[i])
	}
	for i := range p.Errors {
		pattern("error", &p.Errors[i])
	}
	for i := range p.Volatile {
		pattern("volatile", &p.Volatile[i])
	}
	for _, t := range p.Trials {
		fmt.Fprintf(&b, "\n%-14s %s\n", "undoes itself", t.Name)
		line("  needs", t.Needs)
		line("  begin", strings.Join(t.Begin, "; "))
		line("  apply", strings.Join(t.Apply, "; "))
		line("  confirm", strings.Join(t.Confirm, "; "))
		line("  cancel", strings.Join(t.Cancel, "; "))
		line("  pending", t.Pending)
		line("  note", t.Note)
		line("  source", t.Source)
	}
	if p.Batch != nil {
		b.WriteString("\none transaction\n")
		line("  begin", p.Batch.Begin)
		line("  end", p.Batch.End)
		line("  note", p.Batch.Note)
		line("  source", p.Batch.Source)
	}
	for i, q := range p.Questions {
		if i == 0 {
			b.WriteByte('\n')
		}
		line("asks", quoted([]string{q.Asks})+" ("+q.Source+")")
	}
	return b.String()
}

// quoted shows lines with their blanks.
func quoted(lines []string) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "‘" + l + "’"
	}
	return strings.Join(out, "  ")
}
