package commands

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/client"
	"ptyctl/internal/lazyregexp"
	"ptyctl/internal/setup"
	"ptyctl/internal/tty"
	"ptyctl/profile"
)

func completionCommand() *cli.Command {
	shells := strings.Join(sortedKeys(completionScripts), "|")
	return &cli.Command{
		Name: "completion", Usage: "print a script that teaches a shell to complete command lines of ptyctl",
		ArgsUsage: shells,
		Description: "bash:  source <(ptyctl completion bash)                      in ~/.bashrc\n" +
			"zsh:   source <(ptyctl completion zsh)                       in ~/.zshrc, after compinit\n" +
			"       ptyctl completion zsh >DIR/_ptyctl                   for a DIR of fpath, before compinit\n" +
			"fish:  ptyctl completion fish | source                       in ~/.config/fish/config.fish\n" +
			"Hosts are those that ssh_config names; sessions are those that run at the moment.",
		Action: func(c *cli.Context) error {
			words, err := arguments(c, 1, 1)
			if err != nil {
				return err
			}
			script, ok := completionScripts[words[0]]
			if !ok {
				return usageError{
					fmt.Errorf(
						"there is no completion for the shell %q; the shells are %s",
						words[0],
						strings.Join(sortedKeys(completionScripts), ", "),
					),
				}
			}
			_, err = io.WriteString(c.App.Writer, strings.ReplaceAll(script, "ptyctl", c.App.Name))
			return err
		},
	}
}

// completionScripts hand the words of a command line to ptyctl complete, by shell. Another program has its own name in
// place of ptyctl.
var completionScripts = map[string]string{
	// Bash also splits COMP_WORDS at colons and equals signs (COMP_WORDBREAKS). So the script splits the line at blanks
	// itself, and drops the part of each candidate that bash takes for a separate word.
	"bash": `_ptyctl() {
	local line=${COMP_LINE:0:COMP_POINT} words reply cut
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	local last=${words[-1]} cur=${COMP_WORDS[COMP_CWORD]}
	mapfile -t reply < <(ptyctl complete "${words[@]:1}" 2>/dev/null)
	if [[ ${reply[0]} == :files ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	[[ $cur == [=:] ]] && cur=
	cut=${last%"$cur"}
	COMPREPLY=("${reply[@]#"$cut"}")
}
complete -F _ptyctl ptyctl
`,
	"fish": `function __ptyctl_complete
	set -l words (commandline -opc) (commandline -ct)
	set -l reply (command ptyctl complete $words[2..] 2>/dev/null)
	if test "$reply[1]" = :files
		__fish_complete_path (commandline -ct)
	else
		printf '%s\n' $reply
	end
end
complete -c ptyctl -f -a '(__ptyctl_complete)'
`,
	// The first line and the last ones let compinit load it as the file _ptyctl of a folder in fpath.
	"zsh": `#compdef ptyctl
_ptyctl() {
	local -a reply
	reply=("${(@f)$(command ptyctl complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ $reply[1] == :files ]]; then
		_files
	else
		compadd -- $reply
	fi
}
if [[ $funcstack[1] == _ptyctl ]]; then
	_ptyctl "$@"
else
	compdef _ptyctl ptyctl
fi
`,
}

// completeFiles is the one candidate that asks the shell to complete the name of a file.
const completeFiles = ":files"

// completeLimit bounds the wait for the list of sessions after a person has pressed tab.
const completeLimit = 2 * time.Second

// completeCommand makes the command that the shells' scripts call (completion.go). Its arguments are the words so far,
// and the last one is completed: it prints the candidates that begin with that word, one per line.
func completeCommand() *cli.Command {
	return &cli.Command{
		Name: "complete", Usage: "print what may come next on a command line: for the scripts of ptyctl completion",
		Hidden: true, SkipFlagParsing: true, ArgsUsage: "[WORD...]",
		Action: func(c *cli.Context) error {
			words := c.Args()
			if len(words) == 0 {
				words = []string{""}
			}
			ctx, cancel := context.WithTimeout(c.Context, completeLimit)
			defer cancel()
			last := words[len(words)-1]
			for _, word := range candidates(ctx, c.App, words) {
				if strings.HasPrefix(word, last) || word == completeFiles {
					fmt.Fprintln(c.App.Writer, tty.Printable(word))
				}
			}
			return nil
		},
	}
}

// candidates returns the possible values of the last word, given those before it.
func candidates(ctx context.Context, program *cli.App, words []string) []string {
	commands := program.Commands
	var at *cli.Command // nil: the program itself
	position := 0       // of the last word among the command's arguments
	for i := 0; i < len(words)-1; i++ {
		switch w := words[i]; {
		case isFlag(w):
			if f := flagNamed(at, w); f != nil && f.TakesValue() && !strings.Contains(w, "=") {
				if i++; i == len(words)-1 {
					return flagValues(ctx, w, f)
				}
			}
		default:
			if sub := commandNamed(commands, w); sub != nil && position == 0 {
				at, commands = sub, sub.Subcommands
			} else {
				position++
			}
		}
	}
	if last := words[len(words)-1]; strings.HasPrefix(last, "-") && position == 0 {
		if name, _, ok := strings.Cut(last, "="); ok {
			return withPrefix(name+"=", flagValues(ctx, name, flagNamed(at, name)))
		}
		return flagNames(at)
	}
	if len(commands) > 0 && position == 0 {
		var names []string
		for _, c := range commands {
			if !c.Hidden {
				names = append(names, c.Name)
			}
		}
		return names
	}
	if at == nil {
		return nil
	}
	kinds := strings.Fields(at.ArgsUsage)
	if len(kinds) == 0 || position >= len(kinds) && !strings.HasSuffix(kinds[len(kinds)-1], "...") {
		return nil
	}
	return argumentValues(ctx, program.Version, kinds[min(position, len(kinds)-1)])
}

// argumentValues returns the values of an argument that a usage line calls kind.
func argumentValues(ctx context.Context, version, kind string) []string {
	switch {
	case strings.Contains(kind, "HOST"):
		return hostAliases(ctx)
	case strings.Contains(kind, "ID") || strings.Contains(kind, "SESSION"):
		return sessionIDs(ctx, version)
	case strings.Contains(kind, "FILE"):
		return []string{completeFiles}
	case strings.Contains(kind, "CLIENT"):
		return setup.Names()
	case strings.Contains(kind, "NAME"):
		return profile.Names()
	case strings.Contains(kind, "TOOL"):
		return []string{client.ToolSession, client.ToolExec, client.ToolIO, client.ToolConfig}
	case strings.Contains(kind, "|"):
		return strings.Split(kind, "|")
	}
	return nil
}

// fixedValues finds the values of a flag in its help, which names all of them where they are a fixed set.
var fixedValues = lazyregexp.New(`(?i)\bone (?:or more )?of ([\w-]+(?:, [\w-]+)*)`)

// flagValues returns the values of a flag.
func flagValues(ctx context.Context, word string, f cli.Flag) []string {
	if f != nil {
		if named := fixedValues.FindStringSubmatch(f.GetUsage()); named != nil {
			return strings.Split(named[1], ", ")
		}
	}
	switch strings.TrimLeft(word, "-") {
	case "profile":
		return profile.Names()
	case "J":
		return hostAliases(ctx)
	case "config", "socket":
		return []string{completeFiles}
	}
	if f != nil && strings.Contains(f.GetUsage(), "`FILE`") {
		return []string{completeFiles}
	}
	return nil
}

// hostAliases returns the hosts that ssh_config names.
func hostAliases(ctx context.Context) []string {
	cfg, _, err := config.Load(config.Source{})
	if err != nil {
		cfg = config.Default()
	}
	if !cfg.SSH.UseOpenSSHConfig {
		return nil
	}
	names, _ := app.HostAliases(ctx, cfg) // an unreadable file yields no candidates
	return names
}

// sessionIDs returns the sessions of every ptyctl of this user.
func sessionIDs(ctx context.Context, version string) []string {
	cfg, _, err := config.Load(config.Source{})
	if err != nil {
		return nil
	}
	control := cfg.Server.Control
	o := client.Options{Configured: control.ControlSocketPath}
	o.Token, o.Command, o.Version = control.ControlAuthToken.Reveal(), "complete", version
	all, _, _ := client.Connect(ctx, o) // a process that does not answer has no sessions to offer
	defer all.Close()
	var ids []string
	for _, p := range all {
		sessions, _, _ := p.List(ctx)
		for _, s := range sessions {
			if !slices.Contains(ids, s.SessionID) {
				ids = append(ids, s.SessionID)
			}
		}
	}
	return ids
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// flagNames returns the flags of a command as one types them.
func flagNames(c *cli.Command) []string {
	names := []string{"--help"}
	if c == nil {
		return append(names, "--version")
	}
	for _, f := range c.Flags {
		for _, n := range f.Names() {
			if dashed := "--" + n; len(n) == 1 {
				names = append(names, "-"+n)
			} else if !slices.Contains(names, dashed) {
				names = append(names, dashed)
			}
		}
	}
	return names
}

func withPrefix(prefix string, words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		if w != completeFiles {
			out = append(out, prefix+w)
		}
	}
	return out
}
