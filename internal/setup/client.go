package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Client is an MCP client with a file that names the servers it starts.
type Client struct {
	Name  string // as on the command line, for example "claude-code"
	Title string
	After string // the person's next step after a change, so that the client sees it

	project func(m Machine) string // the file in the project's folder; nil: the client has none
	user    func(m Machine) string // the user's file; "": the client has no build for the system
	path    []string               // the keys of the object that holds the servers
	format  format
	entry   func(e Entry) any // as the client writes it
	passes  func(m Machine) []string
}

// A Machine is the system that a client runs on, as far as it decides where files are.
type Machine struct {
	System string // as GOOS
	Home   string
	Config string // $XDG_CONFIG_HOME, %APPDATA%, or ~/Library/Application Support
	Codex  string // $CODEX_HOME
	Folder string // the project
}

// ThisMachine returns the machine of this process; the project is the current folder.
func ThisMachine() (Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Machine{}, fmt.Errorf("no home folder: %w", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return Machine{}, fmt.Errorf("no current folder: %w", err)
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return Machine{}, fmt.Errorf("no folder for configuration: %w", err)
	}
	codex := os.Getenv("CODEX_HOME")
	if codex == "" {
		codex = filepath.Join(home, ".codex")
	}
	return Machine{runtime.GOOS, home, config, codex, folder}, nil
}

// dotConfig is the folder of clients that use ~/.config on macOS, too.
func (m Machine) dotConfig() string {
	if m.System == "darwin" {
		return filepath.Join(m.Home, ".config")
	}
	return m.Config
}

// Scope says which of a client's files is meant.
type Scope int

// The scopes.
const (
	Default Scope = iota // Project, if the client has files of projects
	Project              // the file in the project's folder, which others may share
	User                 // the user's own, for all projects
)

// Clients are all known clients, by name.
func Clients() []Client { return slices.Clone(clients) }

// Find returns the client of that name.
func Find(name string) (Client, error) {
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, fmt.Errorf("there is no client %q; known are %s. Any other client starts \"%s\": see docs/clients.md",
			name, strings.Join(Names(), ", "), "ptyctl mcp --transport stdio")
	}
	return clients[i], nil
}

// Names returns the names of all clients.
func Names() []string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = c.Name
	}
	return names
}

// Scope returns the scope that Default means for the client.
func (c Client) Scope(s Scope) Scope {
	switch {
	case s != Default:
		return s
	case c.project != nil:
		return Project
	}
	return User
}

// Path returns the path of the client's file.
func (c Client) Path(m Machine, s Scope) (string, error) {
	if c.Scope(s) == Project {
		if c.project == nil {
			return "", fmt.Errorf("%s has no file of a project; leave --project out", c.Title)
		}
		return c.project(m), nil
	}
	path := c.user(m)
	if path == "" {
		return "", fmt.Errorf("there is no official %s for %s, so there is no file to write; `ptyctl setup` lists the other clients",
			c.Title, systems[m.System])
	}
	return path, nil
}

var systems = map[string]string{
	"linux": "Linux", "darwin": "macOS", "windows": "Windows", "freebsd": "FreeBSD", "openbsd": "OpenBSD", "netbsd": "NetBSD",
}

// inProject, atHome and atConfig make the functions of paths.
func inProject(names ...string) func(Machine) string {
	return func(m Machine) string { return filepath.Join(append([]string{m.Folder}, names...)...) }
}

func atHome(names ...string) func(Machine) string {
	return func(m Machine) string { return filepath.Join(append([]string{m.Home}, names...)...) }
}

func atConfig(names ...string) func(Machine) string {
	return func(m Machine) string { return filepath.Join(append([]string{m.Config}, names...)...) }
}
