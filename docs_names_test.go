package ptyctl_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ptyctl/config"
)

// A builtProgram is what the tests read of ptyctl.
type builtProgram struct{ commands, symbols string }

// program builds ptyctl once, and returns its reference of its commands, as Markdown, and its symbols.
var program = sync.OnceValues(func() (built builtProgram, err error) {
	dir, err := os.MkdirTemp("", "ptyctl-program-")
	if err != nil {
		return built, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ptyctl")
	// -w leaves out DWARF, and keeps the symbols.
	build := withoutCgo("build", "-buildvcs=false", "-ldflags=-w", "-o", path, "./cmd/ptyctl")
	if out, err := build.CombinedOutput(); err != nil {
		return built, fmt.Errorf("%v: %w: %s", build, err, out)
	}
	for _, of := range []struct {
		cmd  *exec.Cmd
		text *string
	}{
		{exec.Command(path, "man", "--markdown"), &built.commands},
		{exec.Command("go", "tool", "nm", path), &built.symbols},
	} {
		of.cmd.Stderr = os.Stderr
		out, err := of.cmd.Output()
		if err != nil {
			return built, fmt.Errorf("%v: %w", of.cmd, err)
		}
		*of.text = string(out)
	}
	return built, nil
})

// withoutCgo returns a command of Go that compiles as a release is compiled, and as other stages of task test do: with
// the race detector these tests run with cgo, and all packages would be compiled for them alone.
func withoutCgo(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}

func commandReference(t *testing.T) string {
	t.Helper()
	built, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return built.commands
}

var (
	commandHeading = regexp.MustCompile("(?m)^### `(ptyctl [a-z ]+)`$")
	flagRow        = regexp.MustCompile("(?m)^\\| `((?:-[^ ,`]+(?:, )?)+)[^`]*` \\|")
)

// commandFlags returns the flags of each command with their dashes, and under "ptyctl"
// the flags of all commands.
func commandFlags(t *testing.T) map[string][]string {
	t.Helper()
	text := commandReference(t)
	flags := map[string][]string{"ptyctl": {"--help", "-h"}}
	headings := commandHeading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range headings {
		name, end := text[h[2]:h[3]], len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		flags[name] = []string{"--help", "-h"}
		for _, row := range flagRow.FindAllStringSubmatch(text[h[1]:end], -1) {
			for f := range strings.SplitSeq(row[1], ", ") {
				flags[name] = append(flags[name], f)
				flags["ptyctl"] = append(flags["ptyctl"], f)
			}
		}
	}
	if len(flags) < 10 || !slices.Contains(flags["ptyctl mcp"], "--config") {
		t.Fatalf("the commands are %v", flags)
	}
	return flags
}

// documents are the texts for users. They must name only existing commands, keys and
// variables.
func documents(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, name := range append(names, "README.md", "CHANGELOG.md", "SECURITY.md", "packaging/systemd/ptyctl.service") {
		texts[name] = readText(t, name)
	}
	return texts
}

var (
	code        = regexp.MustCompile("`[^`\n]+`")
	environment = regexp.MustCompile(`\bPTYCTL_[A-Z][A-Z_]*[A-Z]\b`)
	word        = regexp.MustCompile(`^--?[A-Za-z][a-z-]*$`)
)

// callFields are arguments of ptyctl_session open that have the form of keys.
var callFields = map[string]bool{
	"telnet.mode":        true,
	"telnet.tls.enabled": true,
	"telnet.tls.pin":     true,
	"auth.password":      true,
	"auth.passphrase":    true,
}

// formerNames are flags and keys of other programs, which the documents about those
// programs mention.
var formerNames = map[string][]string{
	"docs/migrate-from-rust-ptyctl.md": {"--http-listen", "--max-lines", "ssh.openssh_path", "telnet.telnet_path", "session.default_read_timeout_ms", "telnet.line_ending"},
}

// TestDocsNames checks every command line, flag, key and environment variable of ptyctl
// in the documentation: each must exist. TestDocs checks the other direction, because it
// compares the generated parts.
func TestDocsNames(t *testing.T) {
	flags := commandFlags(t)
	keys, variables, tables := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, k := range config.Keys() {
		keys[k.Path], variables[k.Env] = true, true
		table := k.Path[:strings.LastIndexByte(k.Path, '.')]
		tables[table] = true
		tables[strings.Split(table, ".")[0]] = true
	}
	for _, table := range config.Tables() {
		keys[table.Path] = true
		for _, f := range table.Fields {
			keys[table.Path+"."+f.Path] = true
		}
	}
	keyForm := regexp.MustCompile("^`(" + strings.Join(sortedNames(tables), "|") + `)\.[a-z_.]+` + "`$")
	seen := map[string]int{}
	for name, text := range documents(t) {
		for _, v := range environment.FindAllString(text, -1) {
			seen["variable"]++
			if !variables[v] && !strings.HasPrefix(v, "PTYCTL_RC") { // the marker of a command typed into a shell
				t.Errorf("%s names the variable %s, which no key has", name, v)
			}
		}
		var lines []string
		for _, c := range code.FindAllString(text, -1) {
			switch inner := strings.Trim(c, "`"); {
			case callFields[inner] || strings.HasSuffix(inner, " ..."): // the latter: commands that are redacted
			case inner == "server.json": // a file
			case slices.ContainsFunc(formerNames[name], func(n string) bool {
				return inner == n || strings.HasPrefix(inner, n+" ")
			}):
			case keyForm.MatchString(c):
				seen["key"]++
				if !keys[inner] && !tables[inner] {
					t.Errorf("%s names the key %s, which there is not", name, inner)
				}
			case strings.HasPrefix(inner, "--"):
				seen["flag"]++
				if f, _, _ := strings.Cut(strings.Fields(inner)[0], "="); !slices.Contains(
					flags["ptyctl"],
					strings.TrimRight(f, ","),
				) {
					t.Errorf("%s names the flag %s, which no command has", name, f)
				}
			default:
				lines = append(lines, inner)
			}
		}
		lines = append(lines, strings.Split(text, "\n")...)
		for _, line := range lines {
			words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "$ "))
			if len(words) < 2 || filepath.Base(words[0]) != "ptyctl" {
				continue
			}
			checkCommandLine(t, name, words[1:], flags, seen)
		}
	}
	for _, kind := range []string{"variable", "key", "flag", "command"} {
		if seen[kind] == 0 {
			t.Errorf("the documentation names no %s: this test looks in the wrong places", kind)
		}
	}
}

// checkCommandLine checks the words after ptyctl: the command must exist and have the
// flags that follow.
func checkCommandLine(t *testing.T, document string, words []string, flags map[string][]string, seen map[string]int) {
	t.Helper()
	command := "ptyctl"
	for len(words) > 0 {
		longer := command + " " + words[0]
		if !slices.ContainsFunc(
			sortedNames(flags),
			func(c string) bool { return c == longer || strings.HasPrefix(c, longer+" ") },
		) {
			break
		}
		command, words = longer, words[1:]
	}
	if command == "ptyctl" {
		return // prose that begins with the name, or a placeholder, for example COMMAND
	}
	seen["command"]++
	for _, w := range words {
		if w == "--" || strings.HasPrefix(w, "#") || strings.HasPrefix(w, "|") {
			break
		}
		f, _, _ := strings.Cut(w, "=")
		if word.MatchString(f) && !slices.Contains(flags[command], f) {
			t.Errorf("%s calls %s with %s, which it does not have", document, command, f)
		}
	}
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
