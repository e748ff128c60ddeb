package commands

import (
	"fmt"
	"strings"

	"ptyctl/internal/cli"
)

// reference returns the manual page's text about the commands as Markdown, for docs/commands.md.
func reference(app *cli.App) string {
	var b strings.Builder
	for _, c := range leaves(app.Commands, app.Name) {
		fmt.Fprintf(&b, "### `%s`\n\n", c.name)
		line := c.name
		if len(ownFlags(c.Flags)) > 0 {
			line += " [flags]"
		}
		if c.ArgsUsage != "" {
			line += " " + c.ArgsUsage
		}
		fmt.Fprintf(&b, "```text\n%s\n```\n\n%s\n", line, markdown(summary(c)))
		if c.Description != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", c.Description)
		}
		if flags := ownFlags(c.Flags); len(flags) > 0 {
			b.WriteString("\n| flag | effect |\n|---|---|\n")
			for _, f := range flags {
				head, usage := describeFlag(f)
				fmt.Fprintf(&b, "| `%s` | %s |\n", head, markdown(usage))
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("### Exit status\n\n| status | meaning |\n|---|---|\n")
	for _, e := range exitStatuses {
		fmt.Fprintf(&b, "| %s | %s |\n", e.status, markdown(sentence(e.meaning)))
	}
	return b.String()
}

// ownFlags leaves out --help, which every command has.
func ownFlags(flags []cli.Flag) []cli.Flag {
	var own []cli.Flag
	for _, f := range flags {
		if f.Names()[0] != "help" {
			own = append(own, f)
		}
	}
	return own
}

// describeFlag returns a flag as one types it, with its short names, and its effect.
func describeFlag(f cli.Flag) (head, usage string) {
	value, text := unquoteUsage(f.GetUsage())
	names := make([]string, 0, 2)
	for _, n := range f.Names() {
		if len(n) == 1 {
			names = append(names, "-"+n)
		} else {
			names = append(names, "--"+n)
		}
	}
	head = strings.Join(names, ", ")
	if f.TakesValue() {
		if value == "" {
			value = "VALUE"
		}
		head += " " + value
	}
	return head, sentence(text)
}

// markdown keeps text from being read as Markdown.
func markdown(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}
