package commands

import (
	"fmt"
	"io"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/config"
)

func manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page, for man -l - or a folder of man(1)'s",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "markdown", Usage: "print the part about the commands as Markdown"}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			text := manual(c.App)
			if c.Bool("markdown") {
				text = reference(c.App)
			}
			_, err := io.WriteString(c.App.Writer, text)
			return err
		},
	}
}

// manual renders ptyctl(1) from the program's own tables, in the macros of man(7).
func manual(app *cli.App) string {
	m := &manWriter{}
	m.macro("TH", strings.ToUpper(app.Name), "1", "", app.Name+" "+app.Version, "User Commands")
	m.macro("SH", "NAME")
	m.text(app.Name + " - " + app.Usage)
	m.macro("SH", "SYNOPSIS")
	for _, c := range leaves(app.Commands, app.Name) {
		m.macro("br")
		m.usage(c)
	}
	m.macro("SH", "DESCRIPTION")
	m.text(
		"ptyctl is an MCP server that gives AI agents terminals over SSH and Telnet. " +
			"An MCP client starts it as ptyctl mcp. The other commands are for the person who runs it: " +
			"they watch sessions, step in, " +
			"show how hosts are reached, and say what is wrong.",
	)
	m.text(
		"No ssh or telnet program is started. ssh_config(5), known_hosts and the agent are used as ssh(1) uses them.",
	)
	m.macro("SH", "COMMANDS")
	for _, c := range leaves(app.Commands, app.Name) {
		m.macro("SS", c.name)
		m.usage(c)
		m.macro("PP")
		m.text(summary(c))
		if c.Description != "" {
			m.macro("PP")
			m.macro("nf")
			for line := range strings.SplitSeq(c.Description, "\n") {
				m.text(line)
			}
			m.macro("fi")
		}
		for _, f := range ownFlags(c.Flags) {
			head, usage := describeFlag(f)
			m.macro("TP")
			m.bold(head)
			m.text(usage)
		}
	}
	m.macro("SH", "CONFIGURATION")
	m.text(
		"A value is decided by the last of these that names it: its default, the file, the environment, a flag. " +
			"Paths are absolute or begin with ~/. ptyctl config example prints a file with all of them.",
	)
	for _, k := range config.Keys() {
		m.macro("TP")
		m.bold(k.Path)
		m.text(fmt.Sprintf("%s Default %s; %s. Environment: %s.", k.Doc, k.Default, k.Form, k.Env))
	}
	for _, t := range config.Tables() {
		m.macro("TP")
		m.bold(t.Header())
		m.text(t.Doc + " In the file alone, any number of times.")
		for _, f := range t.Fields {
			m.macro("TP")
			m.bold(t.Path + "." + f.Path)
			what := "Default " + f.Default
			if f.Required {
				what = "Must be given"
			}
			m.text(fmt.Sprintf("%s %s; %s.", f.Doc, what, f.Form))
		}
	}
	m.macro("SH", "EXIT STATUS")
	for _, e := range exitStatuses {
		m.macro("TP")
		m.bold(e.status)
		m.text(sentence(e.meaning))
	}
	m.macro("SH", "FILES")
	m.macro("TP")
	m.bold("~/.config/ptyctl/ptyctl.toml")
	m.text("The configuration; below $XDG_CONFIG_HOME if that is set, and on Windows in %APPDATA%. It need not exist.")
	m.macro("TP")
	m.bold("~/.ssh/config, ~/.ssh/known_hosts, /etc/ssh/ssh_config")
	m.text("As for ssh(1).")
	m.macro("SH", "SIGNALS")
	m.text(
		"ptyctl mcp reads its configuration again on SIGHUP: the table policy and groups of hosts count at once, " +
			"ssh, telnet and logging for sessions opened from then on, " +
			"and the log names what counts only after a restart. SIGINT and SIGTERM close every session and end it.",
	)
	m.macro("SH", "SEE ALSO")
	m.text("ssh(1), ssh_config(5), telnet(1)")
	return m.String()
}

// exitStatuses are those of all commands (failure.go).
var exitStatuses = []struct{ status, meaning string }{
	{"0", "all went well; for mcp, the client has closed the input or a signal has ended it"},
	{"1", "something failed; for doctor and explain, a check or the way to the host"},
	{"2", "the call or the configuration is wrong"},
	{"254", "exec and open: it has ended, and the far side does not tell with which status"},
	{"255", "exec, open and reopen: the host was not reached, or the command could not be run"},
	{"any other", "exec and open: the status of the command on the host"},
}

// A namedCommand is a command that does something, with the words that call it.
type namedCommand struct {
	*cli.Command
	name string
}

// leaves returns the visible commands that do something themselves, in the order of the help.
func leaves(commands []*cli.Command, prefix string) []namedCommand {
	var list []namedCommand
	for _, c := range commands {
		name := prefix + " " + c.Name
		switch {
		case c.Hidden || c.Name == "help":
		case len(c.Subcommands) > 0:
			if len(c.Flags) > 0 { // only a group that does something has flags
				list = append(list, namedCommand{c, name})
			}
			list = append(list, leaves(c.Subcommands, name)...)
		default:
			list = append(list, namedCommand{c, name})
		}
	}
	return list
}

// summary describes a command in one or two lines.
func summary(c namedCommand) string {
	text := sentence(c.Usage)
	if len(c.Aliases) > 0 {
		text += " Also called " + strings.Join(c.Aliases, ", ") + "."
	}
	return text
}

// A manWriter writes the macros of man(7).
type manWriter struct{ strings.Builder }

func (m *manWriter) macro(name string, args ...string) {
	m.WriteString("." + name)
	for _, a := range args {
		m.WriteString(` "` + strings.ReplaceAll(roff(a), `"`, `\(dq`) + `"`)
	}
	m.WriteByte('\n')
}

// text is a line of running text.
func (m *manWriter) text(line string) {
	line = roff(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	m.WriteString(line + "\n")
}

func (m *manWriter) bold(text string) { m.WriteString(`\fB` + roff(text) + "\\fR\n") }

func (m *manWriter) usage(c namedCommand) {
	line := `\fB` + roff(c.name) + `\fR`
	if len(ownFlags(c.Flags)) > 0 {
		line += ` [\fIflags\fR]`
	}
	if c.ArgsUsage != "" {
		line += ` \fI` + roff(c.ArgsUsage) + `\fR`
	}
	m.WriteString(line + "\n")
}

// unquoteUsage takes the name of a flag's value out of its usage: the word in back quotes, as the flag library has it.
func unquoteUsage(usage string) (value, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	value, after, closed := strings.Cut(rest, "`")
	if !ok || !closed {
		return "", usage
	}
	return value, before + value + after
}

// sentence makes one of a usage text.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// roff keeps text from being read as requests and escapes of roff(7).
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).Replace(text)
}
