package sshserver

import (
	"os"
	"os/user"
	"strings"
)

// defaultShell returns the shell of the user who runs the server.
func defaultShell() string {
	if shell := os.Getenv("SHELL"); shell != "" {
		return shell
	}
	return "/bin/sh"
}

// defaultEnv returns the environment of a login by the user who runs the server.
func defaultEnv(shell string) []string {
	name := "user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return []string{
		"PATH=" + getenv("PATH", "/usr/local/bin:/usr/bin:/bin"),
		"HOME=" + home,
		"USER=" + name,
		"LOGNAME=" + name,
		"SHELL=" + shell,
		"LANG=" + getenv("LANG", "C.UTF-8"),
		"PS1=$ ",
	}
}

// getenv returns a variable, or otherwise if it is unset or empty.
func getenv(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// startDir returns Config.Dir, else the HOME of env if it is a folder, else the root.
func startDir(dir string, env []string) string {
	if dir != "" {
		return dir
	}
	for _, e := range env {
		if home, ok := strings.CutPrefix(e, "HOME="); ok {
			if info, err := os.Stat(home); err == nil && info.IsDir() {
				return home
			}
		}
	}
	return "/"
}
