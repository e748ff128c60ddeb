package ptyctl_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/releases"
	"ptyctl/packaging"
)

// TestReleaseKey reads packaging/release.pub as ptyctl verify does. It has comments alone until the maintainer has filled it;
// a line that cannot be read would be noticed by users only.
func TestReleaseKey(t *testing.T) {
	keys, err := releases.Keys(packaging.ReleaseKey)
	if err != nil {
		t.Fatalf("packaging/release.pub: %v", err)
	}
	for _, key := range keys {
		if line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))); !strings.Contains(string(packaging.ReleaseKey), line) {
			t.Errorf("packaging/release.pub does not have the key %s as ssh-keygen writes it", line)
		}
	}
	if len(keys) == 0 && !strings.HasPrefix(string(packaging.ReleaseKey), "#") {
		t.Error("packaging/release.pub has neither a key nor a comment that says what belongs there")
	}
}

// TestLaunchdUnit reads the unit of launchd as plutil -lint does, and compares the command that it starts. macOS
// refuses a unit with any mistake, and no machine of the tests runs it.
func TestLaunchdUnit(t *testing.T) {
	const path = "packaging/launchd/net.ptyctl.daemon.plist"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := propertyList(string(text))
	if err != nil {
		t.Fatalf("%s is not a property list: %v", path, err)
	}
	for key, want := range map[string]any{
		"Label": "net.ptyctl.daemon", "ProgramArguments": []any{"/usr/local/bin/ptyctl", "daemon"},
		"EnvironmentVariables": map[string]any{"PTYCTL_DAEMON_IDLE_MS": "0"}, "RunAtLoad": true,
		"KeepAlive":         map[string]any{"SuccessfulExit": false},
		"StandardErrorPath": "/Users/NAME/Library/Logs/ptyctl-daemon.log", "Umask": "63", // 077
	} {
		if got := fmt.Sprint(unit[key]); got != fmt.Sprint(want) {
			t.Errorf("%s: %s is %s, want %v", path, key, got, want)
		}
		delete(unit, key)
	}
	if len(unit) > 0 {
		t.Errorf("%s has the keys %v, which this test does not know", path, unit)
	}
	if !strings.Contains(string(text), "~/Library/LaunchAgents/"+path[strings.LastIndexByte(path, '/')+1:]) {
		t.Errorf("%s does not say where it belongs", path)
	}
}

func TestPropertyList(t *testing.T) {
	const head, foot = `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE plist PUBLIC "a" "b"><plist version="1.0">`, `</plist>`
	for _, c := range []struct{ name, text string }{
		{"a key without a value", head + `<dict><key>a</key></dict>` + foot},
		{"a value without a key", head + `<dict><true/></dict>` + foot},
		{"one key twice", head + `<dict><key>a</key><true/><key>a</key><true/></dict>` + foot},
		{"an unknown type", head + `<dict><key>a</key><bool>1</bool></dict>` + foot},
		{"no number", head + `<dict><key>a</key><integer>077x</integer></dict>` + foot},
		{"two hyphens in a comment", head + `<!-- a -- b --><dict></dict>` + foot},
		{"text between elements", head + `<dict>a</dict>` + foot},
		{"no end", head + `<dict>`},
		{"more after the end", head + `<dict></dict>` + foot + `<dict></dict>`},
		{"another root", `<dict></dict>`},
	} {
		if got, err := propertyList(c.text); err == nil {
			t.Errorf("%s: propertyList(%q) = %v, want an error", c.name, c.text, got)
		}
	}
}

// propertyList reads an XML property list with a dictionary as its root. It returns an integer as its text.
func propertyList(text string) (map[string]any, error) {
	p := plist{xml.NewDecoder(strings.NewReader(text))}
	begin, err := p.next()
	if err != nil {
		return nil, err
	}
	if s, ok := begin.(xml.StartElement); !ok || s.Name.Local != "plist" {
		return nil, fmt.Errorf("it begins with %v", begin)
	}
	root, err := p.value()
	if err != nil {
		return nil, err
	}
	if end, err := p.next(); err != nil {
		return nil, err
	} else if _, ok := end.(xml.EndElement); !ok {
		return nil, fmt.Errorf("%v follows the value", end)
	}
	if more, err := p.next(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%v follows the end (%w)", more, err)
	}
	dict, ok := root.(map[string]any)
	if !ok {
		return nil, errors.New("it is no dictionary")
	}
	return dict, nil
}

type plist struct{ *xml.Decoder }

// errEnd means that an element has ended instead of a value.
var errEnd = errors.New("a value is missing")

// next returns the next beginning or end of an element. Nothing but space and comments may be before it.
func (p plist) next() (xml.Token, error) {
	for {
		t, err := p.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement, xml.EndElement:
			return t, nil
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return nil, fmt.Errorf("text between elements: %q", t)
			}
		}
	}
}

func (p plist) value() (any, error) {
	t, err := p.next()
	if err != nil {
		return nil, err
	}
	begin, ok := t.(xml.StartElement)
	if !ok {
		return nil, errEnd
	}
	switch name := begin.Name.Local; name {
	case "true", "false":
		return name == "true", p.Skip()
	case "string", "key", "integer":
		var text string
		err := p.DecodeElement(&text, &begin)
		if name == "integer" && (text == "" || strings.Trim(text, "0123456789") != "") {
			err = errors.Join(err, fmt.Errorf("%q is no integer", text))
		}
		return text, err
	case "array":
		all := []any{}
		for {
			v, err := p.value()
			if errors.Is(err, errEnd) {
				return all, nil
			}
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
	case "dict":
		return p.dict()
	default:
		return nil, fmt.Errorf("there is no type %q", name)
	}
}

func (p plist) dict() (map[string]any, error) {
	all := make(map[string]any)
	var keys []string
	for {
		t, err := p.next()
		if err != nil {
			return nil, err
		}
		begin, ok := t.(xml.StartElement)
		if !ok {
			return all, nil
		}
		var key string
		if begin.Name.Local != "key" {
			return nil, fmt.Errorf("a %s where a key must be", begin.Name.Local)
		}
		if err := p.DecodeElement(&key, &begin); err != nil {
			return nil, err
		}
		if slices.Contains(keys, key) {
			return nil, fmt.Errorf("the key %q twice", key)
		}
		keys = append(keys, key)
		v, err := p.value()
		if errors.Is(err, errEnd) {
			return nil, fmt.Errorf("the key %q: %s", key, errEnd) // not the end of an array around it
		}
		if err != nil {
			return nil, err
		}
		all[key] = v
	}
}

// TestSystemdUnits has systemd rate the exposure of the HTTP server's unit, and checks that no unit waits for a network
// target, which a user's manager does not have.
func TestSystemdUnits(t *testing.T) {
	const most = "39" // tenths of systemd's exposure level
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold="+most, "packaging/systemd/ptyctl.service").CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
	for _, name := range []string{"ptyctl.service", "ptyctl-daemon.service", "ptyctl-daemon.socket"} {
		text, err := os.ReadFile("packaging/systemd/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); slices.Contains([]string{"After", "Wants", "Requires"}, key) &&
				strings.Contains(value, "network") {
				t.Errorf("%s waits for %s, which a user's manager lacks", name, value)
			}
		}
	}
}
