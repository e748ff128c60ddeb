package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseExpectation(t *testing.T) {
	for line, want := range map[string]question{
		"allow -- ls -la": {protocol: "ssh", class: "posix", command: "ls -la"},
		"deny\t--host db1\t--\tsh -c 'a -- b'  # c":  {protocol: "ssh", class: "posix", host: "db1", command: "sh -c 'a -- b'  # c"},
		"ask --type -- git push":                     {protocol: "ssh", class: "posix", typed: true, command: "git push"},
		"deny --host=db1 --protocol=telnet":          {protocol: "telnet", class: "posix", host: "db1"},
		"allow --protocol local --cwd /srv -- a  --": {protocol: "local", class: "posix", dir: "/srv", command: "a  --"},
		"allow --argv --class fish -- ls  -la":       {protocol: "ssh", class: "fish", command: "ls  -la", argv: []string{"ls", "-la"}},
		"deny -- -- x":                               {protocol: "ssh", class: "posix", command: "-- x"},
		"deny --host a--b -- x":                      {protocol: "ssh", class: "posix", host: "a--b", command: "x"},
	} {
		verdict, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		got, err := parseExpectation(line)
		if err != nil || !reflect.DeepEqual(got.question, want) || got.verdict != verdict {
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
	list, err := readExpectations(strings.NewReader("# a comment\n\n  deny -- rm x\r\nallow -- ls"), "f")
	if err != nil || len(list) != 2 || list[0].line != 3 || list[0].command != "rm x" || list[1].line != 4 {
		t.Errorf("readExpectations = %+v, %v; want lines 3 and 4", list, err)
	}
	for text, want := range map[string][]string{
		"":                       {"f has no line to test"},
		"# deny -- rm\n":         {"f has no line to test"},
		"x\nallow -- ls\ny -- z": {"f:1: ", "f:3: "},
		"allow -- ls\n" + strings.Repeat("x", maxExpectation+1): {"f:2: "},
	} {
		_, err := readExpectations(strings.NewReader(text), "f")
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("readExpectations(%.20q...) = %v, want an error with %q", text, err, w)
			}
		}
	}
}
