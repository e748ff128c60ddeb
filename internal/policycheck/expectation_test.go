package policycheck

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseExpectation(t *testing.T) {
	for line, want := range map[string]Query{
		"allow -- ls -la": {Protocol: "ssh", Class: "posix", Command: "ls -la"},
		"deny\t--host db1\t--\tsh -c 'a -- b'  # c":  {Protocol: "ssh", Class: "posix", Host: "db1", Command: "sh -c 'a -- b'  # c"},
		"ask --type -- git push":                     {Protocol: "ssh", Class: "posix", Typed: true, Command: "git push"},
		"deny --host=db1 --protocol=telnet":          {Protocol: "telnet", Class: "posix", Host: "db1"},
		"allow --protocol local --cwd /srv -- a  --": {Protocol: "local", Class: "posix", Dir: "/srv", Command: "a  --"},
		"allow --argv --class fish -- ls  -la":       {Protocol: "ssh", Class: "fish", Command: "ls  -la", Argv: []string{"ls", "-la"}},
		"deny -- -- x":                               {Protocol: "ssh", Class: "posix", Command: "-- x"},
		"deny --host a--b -- x":                      {Protocol: "ssh", Class: "posix", Host: "a--b", Command: "x"},
	} {
		verdict, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		got, err := parseExpectation(line)
		if err != nil || !reflect.DeepEqual(got.Query, want) || got.Verdict != verdict {
			t.Errorf("parseExpectation(%q) = %+v, %v; want %s %+v", line, got, err, verdict, want)
		}
	}
	for line, want := range map[string]string{
		"-- ls":                      `begins with ""`,
		"allowed -- ls":              `begins with "allowed"`,
		"allow ls":                   `"ls" is no flag; write the command behind --`,
		"allow --":                   "there is no command behind --",
		"allow":                      "it is about nothing",
		"allow --type --host a":      "--type, --argv and --cwd are about a command",
		"allow --type --argv -- ls":  "--type and --argv exclude each other",
		"allow --usr root -- ls":     "there is no flag --usr",
		"allow --user root -- ls":    "name it with --host",
		"allow --host a --port x":    "--port is",
		"allow --class bassh -- l":   "--class is",
		"allow --host -- ls":         "the flag --host has no value",
		"allow --host= -- ls":        "the flag --host has no value",
		"allow --host --type -- ls":  "the flag --host has no value",
		"allow --host a -cwd b -- l": "there is no flag -cwd",
	} {
		if got, err := parseExpectation(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseExpectation(%q) = %+v, %v; want an error with %q", line, got, err, want)
		}
	}
}

func TestReadExpectations(t *testing.T) {
	list, err := ReadExpectations(strings.NewReader("# a comment\n\n  deny -- rm x\r\nallow -- ls"), "f")
	if err != nil || len(list) != 2 || list[0].Line != 3 || list[0].Command != "rm x" || list[1].Line != 4 {
		t.Errorf("ReadExpectations = %+v, %v; want lines 3 and 4", list, err)
	}
	for text, want := range map[string][]string{
		"":                       {"f has no line to test"},
		"# deny -- rm\n":         {"f has no line to test"},
		"x\nallow -- ls\ny -- z": {"f:1: ", "f:3: "},
		"allow -- ls\n" + strings.Repeat("x", maxExpectation+1): {"f:2: "},
	} {
		_, err := ReadExpectations(strings.NewReader(text), "f")
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("ReadExpectations(%.20q...) = %v, want an error with %q", text, err, w)
			}
		}
	}
}
