package commands

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/cliadvice"
	"ptyctl/mcpapi"
	"ptyctl/session"
	"ptyctl/term"
)

// TestAdviceFitsTheCommandLine reads the advice for every reason: each flag and command in it exists, and no argument
// of a tool is named.
func TestAdviceFitsTheCommandLine(t *testing.T) {
	source, err := os.ReadFile("../../term/reason.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`Reason = "(.*)"`).FindAllSubmatch(source, -1)
	if len(reasons) < 20 {
		t.Fatalf("reason.go declares %d reasons, want at least 20", len(reasons))
	}
	commands, arguments := newCommandLine(Program{Name: "ptyctl"}).Commands, toolArguments(t)
	for _, r := range reasons {
		text := cliadvice.Message(&term.Error{Msg: "it failed", Reason: term.Reason(r[1])})
		for _, word := range regexp.MustCompile(`[\w.]+`).FindAllString(text, -1) {
			if arguments[word] {
				t.Errorf("the advice for %q names %s, an argument of a tool: %q", r[1], word, text)
			}
		}
		flags := append(execCommand().Flags, fleetCollectCommand().Flags...) // the commands that can meet most reasons
		for _, found := range regexp.MustCompile(`ptyctl ((?:[a-z]+ ?)+)|\s(--?[a-zA-Z][\w-]*)`).FindAllStringSubmatch(text,
			-1) {
			if flag := found[2]; flag != "" {
				if !hasFlag(flags, flag) {
					t.Errorf("the advice for %q names the flag %s, which does not exist: %q", r[1], flag, text)
				}
				continue
			}
			c := commandNamed(commands, strings.Fields(found[1])[0])
			if c == nil {
				t.Errorf("the advice for %q names a command that does not exist: %q", r[1], text)
				continue
			}
			flags = append(flags, c.Flags...)
		}
	}
}

// toolArguments has the names of the tools' arguments that are not ordinary words: those with an underscore, and those
// of members, with a dot.
func toolArguments(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	var add func(path string, schema json.RawMessage)
	add = func(path string, schema json.RawMessage) {
		var node struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(schema, &node); err != nil {
			t.Fatalf("schema of %s: %v", path, err)
		}
		for name, of := range node.Properties {
			names[path+name] = strings.ContainsAny(path+name, "._")
			add(path+name+".", of)
		}
	}
	for _, tool := range mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{})}).Tools() {
		add("", tool.InputSchema())
	}
	for _, k := range config.Keys() {
		delete(names, k.Path) // some keys of the configuration have the same name
	}
	if !names["task_id"] || !names["ssh_options.host_key_fingerprint"] {
		t.Fatalf("the schemas have the arguments %v, want task_id and ssh_options.host_key_fingerprint among them", names)
	}
	return names
}

func hasFlag(flags []cli.Flag, word string) bool {
	return slices.ContainsFunc(flags, func(f cli.Flag) bool {
		return slices.Contains(f.Names(), strings.TrimLeft(word, "-"))
	})
}
