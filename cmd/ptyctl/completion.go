package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func completionCommand() *cli.Command {
	shells := strings.Join(sortedKeys(completionScripts), "|")
	return &cli.Command{
		Name: "completion", Usage: "print a script that teaches a shell to complete command lines of ptyctl",
		ArgsUsage: shells,
		Description: "bash:  source <(ptyctl completion bash)                      in ~/.bashrc\n" +
			"zsh:   source <(ptyctl completion zsh)                       in ~/.zshrc, after compinit\n" +
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
			_, err = io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// completionScripts hand the words of a command line to ptyctl complete, by shell.
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
	"zsh": `_ptyctl() {
	local -a reply
	reply=("${(@f)$(command ptyctl complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ $reply[1] == :files ]]; then
		_files
	else
		compadd -- $reply
	fi
}
compdef _ptyctl ptyctl
`,
}
