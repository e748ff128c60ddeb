package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFile is the most bytes of a file.
const maxFile = 16 << 20

// Read reads an inventory of Ansible, in INI or YAML. Each error is an *Error and says what to do.
func Read(path string) (*Inventory, error) {
	text, err := load(path)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return nil, &Error{Path: path, Reason: "it is an inventory in TOML: INI and YAML are read; " +
			"save the result of ansible-inventory --list --yaml as a file"}
	}
	b := newBuilder(path)
	for _, name := range []string{"group_vars", "host_vars"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err == nil {
			b.ignore("the folder " + name)
		}
	}
	if isYAML(path, text) {
		return b.yaml(text)
	}
	return b.ini(text)
}

// ReadGenders reads a file of genders(5). Each attribute is a group, and each attribute=value another.
func ReadGenders(path string) (*Inventory, error) {
	text, err := load(path)
	if err != nil {
		return nil, err
	}
	return newBuilder(path).genders(text)
}

// load returns the content of a regular file that is not executable.
func load(path string) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", &Error{Path: path, Reason: fmt.Sprintf(format, args...)}
	}
	system := func(err error) (string, error) {
		reason := err
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			reason = p.Err
		}
		return "", &Error{Path: path, Reason: reason.Error(), Err: err}
	}
	info, err := os.Stat(path) // before it is opened: a pipe would wait for its writer
	switch {
	case err != nil:
		return system(err)
	case info.IsDir():
		return refuse("it is a folder: name the files in it that are inventories")
	case !info.Mode().IsRegular():
		return refuse("it is no plain file")
	case runtime.GOOS != "windows" && info.Mode()&0o111 != 0:
		return refuse("it is executable, and Ansible would run it: programs are never run to find hosts; " +
			"save its output as a file, or remove the permission (chmod a-x) if it is only text")
	}
	f, err := os.Open(path)
	if err != nil {
		return system(err)
	}
	defer f.Close() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return system(err)
	case len(content) > maxFile:
		return refuse("it is larger than %d MiB", maxFile>>20)
	}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	switch {
	case bytes.HasPrefix(content, []byte("$ANSIBLE_VAULT;")):
		return refuse("it is encrypted with Ansible Vault, and passwords of vaults are not asked for: " +
			"keep hosts and groups in a file of their own without encryption")
	case bytes.HasPrefix(content, []byte("#!")):
		return refuse("it is a script (its first bytes are #!): programs are never run to find hosts; " +
			"save its output as a file")
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return refuse("it is no text in UTF-8")
	}
	return string(content), nil
}

// isYAML reports whether a text is YAML or JSON: by the name of the file, or else by its first line.
func isYAML(path, text string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return true
	case ".ini", ".cfg":
		return false
	}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			return line == "---" || line[0] == '{' || strings.HasSuffix(line, ":") && !strings.ContainsAny(line, " \t[")
		}
	}
	return false
}

// sorted returns the counts of the ignored entries.
func sorted(counts map[string]int) []Ignored {
	var list []Ignored
	for what, n := range counts {
		list = append(list, Ignored{what, n})
	}
	slices.SortFunc(list, func(a, b Ignored) int { return strings.Compare(a.What, b.What) })
	return list
}
