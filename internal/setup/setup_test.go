package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine returns a Linux machine with its own folders.
func machine(t *testing.T) Machine {
	home := t.TempDir()
	return Machine{"linux", home, filepath.Join(home, ".config"), filepath.Join(home, ".codex"), t.TempDir()}
}

var entry = Entry{Command: "/opt/ptyctl", Args: Args(false)}

// open returns the client's file with that text.
func open(t *testing.T, m Machine, name, text string) *File {
	t.Helper()
	c, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	path, err := c.Path(m, Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := c.File(m, Default)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The lines of an entry in each format, at the usual place.
const (
	jsonEntry = `"ptyctl": {
      "command": "/opt/ptyctl",
      "args": [
        "mcp",
        "--transport",
        "stdio"
      ]
    }`
	tomlEntry = `[mcp_servers.ptyctl]
command = '/opt/ptyctl'
args = ['mcp', '--transport', 'stdio']
env_vars = ['SSH_AUTH_SOCK']
`
	yamlEntry = `  ptyctl:
    name: ptyctl
    type: stdio
    cmd: /opt/ptyctl
    args:
      - mcp
      - --transport
      - stdio
    enabled: true
    timeout: 300
`
)

// TestAdd adds an entry to files of each format, and takes it out again.
func TestAdd(t *testing.T) {
	for _, tt := range []struct {
		name, client string
		was, is      string
		left         string // after the removal; empty: the same as was
	}{
		{"empty", "cursor", "", "{\n  \"mcpServers\": {\n    " + jsonEntry + "\n  }\n}\n", "{\n  \"mcpServers\": {}\n}\n"},
		{"blank", "cursor", " \n", "{\n  \"mcpServers\": {\n    " + jsonEntry + "\n  }\n}\n", "{\n  \"mcpServers\": {}\n}\n"},
		{"no servers", "cursor", "{\n  \"a\": 1.50\n}\n", "{\n  \"a\": 1.50,\n  \"mcpServers\": {\n    " + jsonEntry + "\n  }\n}\n", "{\n  \"a\": 1.50,\n  \"mcpServers\": {}\n}\n"},
		{"empty servers", "cursor", "{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {\n    " + jsonEntry + "\n  }\n}\n", ""},
		{"another", "cursor", "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}", "{\n  \"mcpServers\": {\n    \"x\": {},\n    " + jsonEntry + "\n  }\n}", ""},
		{
			"comments", "cursor", "// mine\n{\n  \"mcpServers\": {\n    \"x\": {} // the first\n    // the end\n  }, /* b */\n}\n",
			"// mine\n{\n  \"mcpServers\": {\n    \"x\": {}, // the first\n    " + jsonEntry + "\n    // the end\n  }, /* b */\n}\n", "",
		},
		{
			"a comma at the end", "cursor", "{\n  \"mcpServers\": {\n    \"x\": {}, // the first\n  },\n}\n",
			"{\n  \"mcpServers\": {\n    \"x\": {}, // the first\n    " + jsonEntry + ",\n  },\n}\n", "",
		},
		{"a comment alone", "cursor", "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n", "{\n  \"mcpServers\": {\n    // none yet\n    " + jsonEntry + "\n  }\n}\n", ""},
		{"one line", "cursor", `{"mcpServers":{"x":{}}}`, `{"mcpServers":{"x":{}, "ptyctl": {"command":"/opt/ptyctl","args":["mcp","--transport","stdio"]}}}`, ""},
		{
			"tabs and CRLF", "cursor", "\xef\xbb\xbf{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}\r\n",
			"\xef\xbb\xbf{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {},\r\n\t\t" + strings.NewReplacer("\n        ", "\r\n\t\t\t\t", "\n      ", "\r\n\t\t\t", "\n    }", "\r\n\t\t}").Replace(jsonEntry) + "\r\n\t}\r\n}\r\n", "",
		},
		{
			"what a person has added stays", "cursor",
			"{\n  \"mcpServers\": {\n    \"ptyctl\": {\n      \"env\": {\"A\": \"b\"}, // mine\n      \"command\": \"/old\", \"timeout\": 5\n    },\n    \"x\": {}\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"ptyctl\": {\n      \"env\": {\"A\": \"b\"}, // mine\n      \"command\": \"/opt/ptyctl\", \"timeout\": 5,\n      \"args\": [\n        \"mcp\",\n        \"--transport\",\n        \"stdio\"\n      ]\n    },\n    \"x\": {}\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n",
		},

		{"empty", "codex", "", tomlEntry, " "},
		{"others", "codex", "model = \"o\" # mine\n[mcp_servers.x]\ncommand = \"y\"", "model = \"o\" # mine\n[mcp_servers.x]\ncommand = \"y\"\n\n" + tomlEntry, "model = \"o\" # mine\n[mcp_servers.x]\ncommand = \"y\"\n"},
		{
			"what a person has added stays", "codex",
			"[mcp_servers.ptyctl] # mine\nstartup_timeout_sec = 5\nenv_vars = [\"A\"]\ncommand = \"/old\"\nargs = [\n  \"x\", # y\n]\n# of tools\n[mcp_servers.ptyctl.tools.read]\napproval_mode = \"auto\"\n\n[tui]\n",
			"[mcp_servers.ptyctl] # mine\nstartup_timeout_sec = 5\nenv_vars = [\"A\"]\ncommand = '/opt/ptyctl'\nargs = ['mcp', '--transport', 'stdio']\n# of tools\n[mcp_servers.ptyctl.tools.read]\napproval_mode = \"auto\"\n\n[tui]\n",
			"# of tools\n\n[tui]\n",
		},
		{"in the middle", "codex", tomlEntry + "\n[tui]\nx = 1\n", tomlEntry + "\n[tui]\nx = 1\n", "\n[tui]\nx = 1\n"},

		{"empty", "goose", "", "extensions:\n" + yamlEntry, "extensions: {}\n"},
		{"no extensions", "goose", "GOOSE_MODEL: x # mine", "GOOSE_MODEL: x # mine\nextensions:\n" + yamlEntry, "GOOSE_MODEL: x # mine\nextensions: {}\n"},
		{"no value", "goose", "extensions:\nA: b\n", "extensions:\n" + yamlEntry + "A: b\n", "extensions: {}\nA: b\n"},
		{
			"others", "goose", "extensions: # mine\n  x:\n    enabled: true\n    note: |\n      a\n\n# of a\nA: b\n",
			"extensions: # mine\n  x:\n    enabled: true\n    note: |\n      a\n" + yamlEntry + "\n# of a\nA: b\n", "",
		},
		{
			"what a person has added stays", "goose",
			"extensions:\n  ptyctl:\n    enabled: false\n    timeout: 9 # mine\n    cmd: /old\n    args: [a]\n    envs:\n      A: b\n  x: {}\n",
			"extensions:\n  ptyctl:\n    type: stdio\n    name: ptyctl\n    enabled: true\n    timeout: 9 # mine\n    cmd: /opt/ptyctl\n    args:\n      - mcp\n      - --transport\n      - stdio\n    envs:\n      A: b\n  x: {}\n",
			"extensions:\n  x: {}\n",
		},
	} {
		t.Run(tt.client+"/"+tt.name, func(t *testing.T) {
			m := machine(t)
			f := open(t, m, tt.client, tt.was)
			c, err := f.Add(entry)
			if err != nil {
				t.Fatal(err)
			}
			if string(c.text) != tt.is {
				t.Fatalf("after it was added:\n%s\nwant:\n%s", c.text, tt.is)
			}
			f = open(t, m, tt.client, tt.is)
			if again, err := f.Add(entry); err != nil || !again.None() {
				t.Errorf("a second time: %v\n%s", err, again.text)
			}
			want := tt.left
			switch want {
			case "":
				want = tt.was
			case " ":
				want = ""
			}
			if c, err = f.Remove(); err != nil || string(c.text) != want {
				t.Errorf("after it was removed (%v):\n%q\nwant:\n%q", err, c.text, want)
			}
		})
	}
}
