package setup

import "path/filepath"

// The clients, after their documentation; docs/clients.md has the same entries by hand.
var clients = []Client{
	{
		Name: "claude-code", Title: "Claude Code", After: "start Claude Code again, and allow the project's server when it asks",
		project: inProject(".mcp.json"), user: atHome(".claude.json"),
		path: []string{"mcpServers"}, format: jsonFormat{}, entry: typedStdio,
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop", After: "quit Claude Desktop and start it again",
		user: func(m Machine) string {
			if m.System != "darwin" && m.System != "windows" {
				return ""
			}
			return filepath.Join(m.Config, "Claude", "claude_desktop_config.json")
		},
		path: []string{"mcpServers"}, format: jsonFormat{}, entry: plain, passes: sdkPasses,
	},
	{
		Name: "codex", Title: "Codex", After: "start Codex again; it reads a project's file only once the project is trusted",
		project: inProject(".codex", "config.toml"),
		user:    func(m Machine) string { return filepath.Join(m.Codex, "config.toml") },
		path:    []string{"mcp_servers"}, format: tomlFormat{}, entry: codex, passes: codexPasses,
	},
	{
		Name: "cursor", Title: "Cursor", After: "turn ptyctl on in Cursor's settings, under MCP",
		project: inProject(".cursor", "mcp.json"), user: atHome(".cursor", "mcp.json"),
		path: []string{"mcpServers"}, format: jsonFormat{}, entry: plain,
	},
	{
		Name: "vscode", Title: "VS Code", After: `press "Start" above the entry, or run "MCP: List Servers"`,
		project: inProject(".vscode", "mcp.json"), user: atConfig("Code", "User", "mcp.json"),
		path: []string{"servers"}, format: jsonFormat{}, entry: typedStdio,
	},
	{
		Name: "gemini-cli", Title: "Gemini CLI", After: "start gemini again; /mcp lists the servers",
		project: inProject(".gemini", "settings.json"), user: atHome(".gemini", "settings.json"),
		path: []string{"mcpServers"}, format: jsonFormat{}, entry: plain,
	},
	{
		Name: "opencode", Title: "OpenCode", After: "start opencode again",
		project: firstOf(inProject("opencode.json"), inProject("opencode.jsonc")),
		user: firstOf(
			func(m Machine) string { return filepath.Join(openCodeFolder(m), "opencode.json") },
			func(m Machine) string { return filepath.Join(openCodeFolder(m), "opencode.jsonc") },
		),
		path: []string{"mcp"}, format: jsonFormat{}, entry: openCode,
	},
	{
		Name: "windsurf", Title: "Windsurf", After: "press the refresh button of Cascade's MCP servers",
		user: atHome(".codeium", "windsurf", "mcp_config.json"),
		path: []string{"mcpServers"}, format: jsonFormat{}, entry: plain,
	},
	{
		Name: "zed", Title: "Zed", After: "Zed reads the file at once; the agent panel's settings show the server",
		project: inProject(".zed", "settings.json"),
		user: func(m Machine) string {
			if m.System == "windows" {
				return filepath.Join(m.Config, "Zed", "settings.json")
			}
			return filepath.Join(m.dotConfig(), "zed", "settings.json")
		},
		path: []string{"context_servers"}, format: jsonFormat{}, entry: plain,
	},
	{
		Name: "goose", Title: "goose", After: "start goose again",
		user: func(m Machine) string {
			if m.System == "windows" {
				return filepath.Join(m.Config, "Block", "goose", "config", "config.yaml")
			}
			return filepath.Join(m.dotConfig(), "goose", "config.yaml")
		},
		path: []string{"extensions"}, format: yamlFormat{}, entry: goose,
	},
}

func openCodeFolder(m Machine) string {
	if m.System == "windows" {
		return filepath.Join(m.Home, ".config", "opencode")
	}
	return filepath.Join(m.dotConfig(), "opencode")
}

// firstOf returns the path of the first file that exists, or else the first path.
func firstOf(paths ...func(Machine) string) func(Machine) string {
	return func(m Machine) string {
		for _, path := range paths {
			if exists(path(m)) {
				return path(m)
			}
		}
		return paths[0](m)
	}
}

// sdkPasses are the variables that the MCP SDK for TypeScript passes on to a server.
func sdkPasses(m Machine) []string {
	if m.System == "windows" {
		return []string{
			"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT",
			"TEMP", "USERNAME", "USERPROFILE", "PROGRAMFILES",
		}
	}
	return []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
}

// codexPasses are the variables that Codex passes on; env_vars of an entry names more.
func codexPasses(m Machine) []string {
	if m.System == "windows" {
		return append(sdkPasses(m), "PATHEXT", "COMSPEC", "TMP", "USERDOMAIN", "PROGRAMDATA", "PROGRAMFILES(X86)", "PROGRAMW6432")
	}
	return []string{
		"HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ",
	}
}
