package prompt

import (
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
	"ptyctl/session/shell"
)

// runsCommand is an option of a shell that is to run a command, and not to read any: -c, -lc.
var runsCommand = lazyregexp.New(`^-[a-z]*c$`)

// takesValue are the options of shells behind which a word is not the name of a script.
var takesValue = strings.Fields("--rcfile --init-file -o +o -O +O -C --init-command")

// withTerminal are the options by which a program runs another one in a container, with a terminal.
var withTerminal = lazyregexp.New(`(?:^|\s)(?:-[a-z]*t[a-z]*|--tty|--pty)(?:\s|=true|$)`)

// Starts says whether a command line starts a shell that reads the terminal, as "bash", "sudo -i" and
// "docker exec -it web sh" do, and returns the class of the shell; empty: not known.
func Starts(command string) (class shell.Class, ok bool) {
	words, open, sure := shellWords(command)
	if open || !sure && len(words) == 0 {
		return "", false
	}
	for i, w := range slices.Backward(words) { // the last command of the line
		if slices.Contains(openers, w) && i < len(words)-1 {
			if w == "|" { // its input is no terminal
				return "", false
			}
			words = words[i+1:]
			break
		}
	}
	if slices.ContainsFunc(words, runsCommand.MatchString) || slices.Contains(words, "<") || slices.Contains(words, ">") {
		return "", false
	}
	for i, w := range slices.Backward(words) {
		if sh := shell.Named(base(w)); sh.Class != shell.Unknown {
			return sh.Class, isInteractive(words[i+1:])
		}
	}
	return "", startsSome(words)
}

func base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// isInteractive reports whether a shell with these arguments reads the terminal: none names a script.
func isInteractive(args []string) bool {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-"), strings.HasPrefix(a, "+"):
		case i > 0 && slices.Contains(takesValue, args[i-1]):
		default:
			return false
		}
	}
	return true
}

// startsSome reports whether a command starts a shell without naming it: su, "sudo -i", "ssh web1", "docker exec -it".
func startsSome(words []string) bool {
	line := strings.Join(words, " ")
	for i, w := range words {
		args := words[i+1:]
		switch base(w) {
		case "su", "login", "newgrp":
			return true
		case "sudo", "doas":
			if slices.ContainsFunc(args, func(a string) bool {
				return a == "--login" || a == "--shell" || loginOption.MatchString(a)
			}) {
				return true
			}
		case "ssh", "slogin", "mosh", "telnet":
			return len(args) > 0
		case "docker", "podman", "nerdctl", "kubectl", "oc", "crictl", "runc", "crun", "lxc", "incus", "docker-compose":
			return withTerminal.MatchString(line)
		case "chroot", "nsenter", "unshare", "machinectl", "lxc-attach", "toolbox", "distrobox", "screen", "tmux", "script":
			return true
		}
	}
	return false
}

// loginOption is an option of sudo and doas that starts a shell.
var loginOption = lazyregexp.New(`^-[A-Za-z]*[is]$`)
