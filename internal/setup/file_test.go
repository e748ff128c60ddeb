package setup

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// Each client's file is where its documentation says, on each system.
func TestPaths(t *testing.T) {
	machines := map[string]Machine{
		"linux":   {"linux", "/h", "/h/.config", "/h/.codex", "/p"},
		"darwin":  {"darwin", "/h", "/h/Library/Application Support", "/h/.codex", "/p"},
		"windows": {"windows", "/h", "/h/AppData/Roaming", "/h/.codex", "/p"},
	}
	for _, tt := range []struct{ client, project, linux, darwin, windows string }{
		{"claude-code", "/p/.mcp.json", "/h/.claude.json", "/h/.claude.json", "/h/.claude.json"},
		{
			"claude-desktop", "", "", "/h/Library/Application Support/Claude/claude_desktop_config.json",
			"/h/AppData/Roaming/Claude/claude_desktop_config.json",
		},
		{"codex", "/p/.codex/config.toml", "/h/.codex/config.toml", "/h/.codex/config.toml", "/h/.codex/config.toml"},
		{"cursor", "/p/.cursor/mcp.json", "/h/.cursor/mcp.json", "/h/.cursor/mcp.json", "/h/.cursor/mcp.json"},
		{
			"vscode", "/p/.vscode/mcp.json", "/h/.config/Code/User/mcp.json",
			"/h/Library/Application Support/Code/User/mcp.json", "/h/AppData/Roaming/Code/User/mcp.json",
		},
		{"gemini-cli", "/p/.gemini/settings.json", "/h/.gemini/settings.json", "/h/.gemini/settings.json", "/h/.gemini/settings.json"},
		{"opencode", "/p/opencode.json", "/h/.config/opencode/opencode.json", "/h/.config/opencode/opencode.json", "/h/.config/opencode/opencode.json"},
		{
			"windsurf", "", "/h/.codeium/windsurf/mcp_config.json", "/h/.codeium/windsurf/mcp_config.json",
			"/h/.codeium/windsurf/mcp_config.json",
		},
		{"zed", "/p/.zed/settings.json", "/h/.config/zed/settings.json", "/h/.config/zed/settings.json", "/h/AppData/Roaming/Zed/settings.json"},
		{"goose", "", "/h/.config/goose/config.yaml", "/h/.config/goose/config.yaml", "/h/AppData/Roaming/Block/goose/config/config.yaml"},
	} {
		c, err := Find(tt.client)
		if err != nil {
			t.Fatal(err)
		}
		for system, want := range map[string]string{"linux": tt.linux, "darwin": tt.darwin, "windows": tt.windows} {
			got, err := c.Path(machines[system], User)
			if filepath.ToSlash(got) != want || (want == "") != (err != nil) {
				t.Errorf("%s on %s: %q, %v; want %q", tt.client, system, got, err, want)
			}
		}
		got, err := c.Path(machines["linux"], Project)
		if got != tt.project || (tt.project == "") != (err != nil) {
			t.Errorf("%s in a project: %q, %v; want %q", tt.client, got, err, tt.project)
		}
	}
	if len(clients) != 10 {
		t.Errorf("%d clients, and the table has 10", len(clients))
	}
}

// TestRefused checks files that Add must not change, and its errors about them.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"cursor", "{", "not JSON"},
		{"cursor", `{"a": 1} {}`, "not JSON"},
		{"cursor", "[]", "no object"},
		{"cursor", strings.Repeat("[", 60_000_000), "nested more than 1000 deep"},
		{"cursor", `{"a": "` + strings.Repeat("[", 2000) + `", "mcpServers": 1}`, "is no object"},
		{"cursor", `{"mcpServers": []}`, `"mcpServers" is no object`},
		{"cursor", `{"mcpServers": {}, "mcpServers": {}}`, "is there twice"},
		{"cursor", `{"mcpServers": {"ptyctl": {"command": 1, "command": 2}}}`, "is there twice"},
		{"codex", "a = ", "not TOML"},
		{"codex", "mcp_servers = { x = { command = \"y\" } }\n", "is not written as the table"},
		{"codex", "[mcp_servers]\nptyctl.command = \"y\"\n", "is not written as the table"},
		{"codex", "[mcp_servers.ptyctl.env]\nA = \"b\"\n", "comes before"},
		{"codex", "mcp_servers = 1\n", "is no table"},
		{"goose", "a: [", "not YAML"},
		{"goose", "- a\n", "no mapping"},
		{"goose", "a: 1\n---\nb: 2\n", "more than one YAML document"},
		{"goose", "{extensions: {}}\n", "between braces"},
		{"goose", "extensions: {x: {a: b}}\n", "is not written as a block"},
		{"goose", "x: &a\n  y: {}\nextensions: *a\n", "is not written as a block"},
		{"goose", "extensions: [a]\n", "is not written as a block"},
	} {
		f := open(t, machine(t), tt.client, tt.text)
		c, err := f.Add(entry)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "--print") || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s with %.99q: %v, want an error with %q", tt.client, tt.text, err, tt.want)
		}
		if c != nil {
			t.Errorf("%s with %.99q is changed to %q", tt.client, tt.text, c.text)
		}
	}
}

// An entry is read back from the file that each client gets, and starts the same.
func TestFresh(t *testing.T) {
	want := Entry{Command: `/opt/a "b"\c/ptyctl`, Args: append(Args(true), "--config", "/x: #y.toml"), Env: map[string]string{"A": "b c"}}
	for _, c := range Clients() {
		text, err := c.Fresh(want)
		if err != nil {
			t.Fatal(err)
		}
		m := machine(t)
		m.System = "darwin"
		f := open(t, m, c.Name, text)
		got, err := f.Entry()
		if err != nil || got == nil || !got.same(want) {
			t.Errorf("%s: %v, %v, want %v\n%s", c.Name, got, err, want, text)
		}
	}
}

// TestWrite writes a change: with a backup, the mode that the file had, through a link, and never over a later change
// by the client.
func TestWrite(t *testing.T) {
	m := machine(t)
	const was = "{\n  \"mcpServers\": {}\n}\n"
	f := open(t, m, "cursor", was)
	linked := filepath.Join(m.Home, "real.json")
	if err := errors.Join(os.Rename(f.Path, linked), os.Symlink(linked, f.Path)); err != nil {
		t.Fatal(err)
	}
	c, _ := Find("cursor")
	f, err := c.File(m, Default)
	if err != nil {
		t.Fatal(err)
	}
	change, err := f.Add(entry)
	if err != nil {
		t.Fatal(err)
	}
	backup, err := change.Write()
	if err != nil {
		t.Fatal(err)
	}
	i, err := os.Lstat(linked)
	if err != nil || i.Mode() != 0o640 {
		t.Errorf("the file is %v, %v; want a regular one with its mode 0640", i.Mode(), err)
	}
	if text, err := os.ReadFile(backup); err != nil || string(text) != was {
		t.Errorf("the backup %s has %q, %v", backup, text, err)
	}
	if again, err := c.File(m, Default); err != nil || string(again.text) != string(change.text) {
		t.Errorf("the file has %q, %v; want %q", again.text, err, change.text)
	}
	if _, err := change.Write(); err == nil || !strings.Contains(err.Error(), "has changed since it was read") {
		t.Errorf("a second write over a file that has changed: %v", err)
	}
	names, _ := filepath.Glob(filepath.Join(m.Home, "*"))
	if want := []string{linked, backup}; !reflect.DeepEqual(names, want) {
		t.Errorf("beside the file there are %q, want %q", names, want)
	}

	fresh := machine(t)
	if f, err = c.File(fresh, User); err != nil {
		t.Fatal(err)
	}
	change, _ = f.Add(entry)
	if backup, err := change.Write(); err != nil || backup != "" {
		t.Errorf("a new file: %q, %v", backup, err)
	}
	if i, err := os.Stat(f.Path); err != nil || i.Mode() != 0o600 {
		t.Errorf("a new file of the user's is %v, %v", i.Mode(), err)
	}
}

// A file that cannot be used says why.
func TestUnusable(t *testing.T) {
	c, _ := Find("cursor")
	m := machine(t)
	path, _ := c.Path(m, Default)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := c.File(m, Default); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink("nowhere", path)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.File(m, Default); err == nil || !strings.Contains(err.Error(), "a link to a file that does not exist") {
		t.Errorf("a dangling link: %v", err)
	}
}

// The environment is the client's, or the part of it that the client passes on.
func TestEnviron(t *testing.T) {
	env := []string{"HOME=/h", "SSH_AUTH_SOCK=/s", "AWS_SECRET=x"}
	e := Entry{Env: map[string]string{"A": "b"}, EnvVars: []string{"SSH_AUTH_SOCK"}}
	for name, want := range map[string][]string{
		"cursor":         {"HOME=/h", "SSH_AUTH_SOCK=/s", "AWS_SECRET=x", "A=b"},
		"codex":          {"HOME=/h", "SSH_AUTH_SOCK=/s", "A=b"},
		"claude-desktop": {"HOME=/h", "SSH_AUTH_SOCK=/s", "A=b"},
	} {
		c, _ := Find(name)
		if got := c.Environ(machine(t), e, env); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Text on the line of the servers' key stays when the first entry is added and when the last one is removed.
func TestYAMLKeyLine(t *testing.T) {
	for _, tt := range []struct{ was, is, left string }{
		{"extensions: {} # mine\n", "extensions: # mine\n" + yamlEntry, ""},
		{"extensions: # mine\n# more\nb: 1\n", "extensions: # mine\n" + yamlEntry + "# more\nb: 1\n", "extensions: {} # mine\n# more\nb: 1\n"},
		{"\ufeff\"extensions\": ~\n", "\ufeff\"extensions\":\n" + yamlEntry, "\ufeff\"extensions\": {}\n"},
		{"extensions:\r\n", strings.ReplaceAll("extensions:\n"+yamlEntry, "\n", "\r\n"), "extensions: {}\r\n"},
		{"extensions: # mine\n  # of it\n" + yamlEntry, "", "extensions: {} # mine\n  # of it\n"},
	} {
		f := open(t, machine(t), "goose", tt.was)
		change, err := f.Add(entry)
		if err != nil {
			t.Errorf("%q: Add = %v", tt.was, err)
			continue
		}
		if tt.is != "" && string(change.text) != tt.is {
			t.Errorf("%q becomes %q, want %q", tt.was, change.text, tt.is)
		}
		f.text = change.text
		if change, err = f.Remove(); err != nil {
			t.Errorf("%q: Remove = %v", tt.was, err)
		} else if want := cmp.Or(tt.left, tt.was); string(change.text) != want {
			t.Errorf("%q is left as %q, want %q", tt.was, change.text, want)
		}
	}
}

// Of several runs at a time, one writes, and the others say that the file has changed. Nothing but the backup is left.
func TestWriteTogether(t *testing.T) {
	m := machine(t)
	open(t, m, "cursor", `{"a": 1}`)
	var changes []*Change
	for range 8 {
		c, _ := Find("cursor")
		f, err := c.File(m, Default)
		if err != nil {
			t.Fatal(err)
		}
		change, err := f.Add(entry)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, change)
	}
	var all sync.WaitGroup
	failures := make([]error, len(changes))
	for i, change := range changes {
		all.Go(func() { _, failures[i] = change.Write() })
	}
	all.Wait()
	written := 0
	for _, err := range failures {
		if err == nil {
			written++
		} else if !strings.Contains(err.Error(), "has changed since it was read") {
			t.Errorf("Write = %v", err)
		}
	}
	if written == 0 {
		t.Error("no run has written the file")
	}
	path := changes[0].file.Path
	if text, err := os.ReadFile(path); err != nil || string(text) != string(changes[0].text) {
		t.Errorf("the file has %q, %v", text, err)
	}
	left, _ := filepath.Glob(path + ".ptyctl-new*")
	if backups, _ := filepath.Glob(path + ".before-*"); len(backups) != written || len(left) > 0 {
		t.Errorf("after %d writes there are the backups %q and %q", written, backups, left)
	}
}

// An entry that starts nothing is an error, not a panic.
func TestCheckWithoutCommand(t *testing.T) {
	for _, text := range []string{
		`{"mcpServers": {"ptyctl": {}}}`, `{"mcpServers": {"ptyctl": 7}}`, `{"mcpServers": {"ptyctl": {"url": "http://a"}}}`,
	} {
		f := open(t, machine(t), "cursor", text)
		e, err := f.Entry()
		if err != nil || e == nil {
			t.Fatalf("%s: Entry = %v, %v", text, e, err)
		}
		_, err = f.Client.Check(t.Context(), machine(t), *e, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "names no command") {
			t.Errorf("%s: Check = %v, want an error about the command", text, err)
		}
	}
}

// The client does not read a field in another case: only the exact name counts for the command that it starts.
func TestFieldsOfAnotherCase(t *testing.T) {
	for client, text := range map[string]string{
		"cursor": `{"mcpServers": {"ptyctl": {"command": "/evil", "COMMAND": "/opt/ptyctl", "Args": ["a"], "argſ": ["b"],},}}`,
		"codex":  "[mcp_servers.ptyctl]\ncommand = '/evil'\nCOMMAND = '/opt/ptyctl'\nArgs = ['a']\n[MCP_SERVERS.ptyctl]\ncommand = 'x'\n",
	} {
		e, err := open(t, machine(t), client, text).Entry()
		if err != nil || e == nil || e.Command != "/evil" || len(e.Args) > 0 {
			t.Errorf("%s: Entry = %+v, %v, want /evil without arguments", client, e, err)
		}
	}
}

// FuzzAdd changes files of any content: the changed file has the entry and otherwise the same values (Add verifies
// that), and the entry can be removed again.
func FuzzAdd(f *testing.F) {
	for _, text := range []string{
		"", "{}", "// a\n{\"mcpServers\": {\"x\": {}, /* b */ }, }", `{"mcpServers":{"ptyctl":{"command":[],"args":1}}}`,
		"[mcp_servers.x]\na = 1 # b\n", "[mcp_servers.ptyctl]\nargs = [\n]\n[[a]]\n", "extensions:\n  x: {}\n", "extensions:\n\n  ptyctl: ~\n",
	} {
		for i := range clients {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, text string) {
		c := clients[int(n)%len(clients)]
		file := &File{Client: c, Path: "file", text: []byte(text), there: true}
		change, err := file.Add(entry)
		if err != nil {
			return
		}
		change.Diff()
		file.text = change.text
		if _, err = file.Remove(); err != nil && !errors.As(err, new(handError)) {
			t.Fatalf("%s: %v\nbefore: %q\nafter: %q", c.Name, err, text, file.text)
		}
	})
}
