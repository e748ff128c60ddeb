package main

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ptyctl/mcpapi"
	"ptyctl/session"
)

// manifestText is the part of a manifest that people write.
//
//go:embed manifest.json
var manifestText []byte

// A manifest is the manifest.json of an MCP bundle, version 0.3. Fields must have the
// order of the specification's example, so that people can compare them.
type manifest struct {
	ManifestVersion string   `json:"manifest_version"`
	Name            string   `json:"name"`
	DisplayName     string   `json:"display_name"`
	Version         string   `json:"version"`
	Description     string   `json:"description"`
	LongDescription string   `json:"long_description"`
	Author          author   `json:"author"`
	License         string   `json:"license"`
	Keywords        []string `json:"keywords"`
	Server          server   `json:"server"`
	UserConfig      struct {
		ReadOnly setting `json:"read_only"`
	} `json:"user_config"`
	Tools         []tool `json:"tools"`
	Compatibility struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
}

// An author is the publisher shown to the user.
type author struct {
	Name string `json:"name"`
}

// A server describes how to start the program.
type server struct {
	Type       string `json:"type"`
	EntryPoint string `json:"entry_point"`
	Config     struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Env     struct {
			ReadOnly string `json:"PTYCTL_SERVER_READ_ONLY"`
		} `json:"env"`
	} `json:"mcp_config"`
}

// A setting is a question to the user who installs the bundle.
type setting struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Default     bool   `json:"default"`
}

// A tool is shown to the user before the first start of the program.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// platforms maps the systems of Go to their names in bundles.
var platforms = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}

// pack returns the bundle of a program for a platform, for example linux-amd64. The notice is about the parts that
// others have made.
func pack(version, platform string, program, notice []byte) ([]byte, error) {
	m, err := manifestFor(version, platform)
	if err != nil {
		return nil, err
	}
	text, err := indented(m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct {
		name string
		mode fs.FileMode
		text []byte
	}{{"manifest.json", 0o644, text}, {m.Server.EntryPoint, 0o755, program}, {"NOTICE", 0o644, notice}} {
		// The header has no time, so that equal files give equal bundles.
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		header.SetMode(f.mode)
		w, err := z.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// manifestFor returns the manifest with platform, version and tools. The tools come from
// the program's own tables, so that the list cannot be outdated.
func manifestFor(version, platform string) (m manifest, err error) {
	if err := strictly(manifestText, &m); err != nil {
		return m, fmt.Errorf("manifest.json: %w", err)
	}
	system, _, _ := strings.Cut(platform, "-")
	name, ok := platforms[system]
	if !ok {
		return m, fmt.Errorf("bundles are for linux, darwin and windows, not for %q", system)
	}
	m.Version, m.Compatibility.Platforms = version, []string{name}
	if system == "windows" {
		m.Server.EntryPoint += ".exe"
		m.Server.Config.Command += ".exe"
	}
	// A bundle has no configuration, so it offers no files.
	sets := []string{"core", "local", "health"}
	srv := mcpapi.NewServer(mcpapi.Options{Sessions: session.NewManager(session.Config{}), Toolsets: sets})
	for name, t := range srv.Tools() {
		about, _, _ := strings.Cut(t.About, "\n")
		m.Tools = append(m.Tools, tool{name, about})
	}
	slices.SortFunc(m.Tools, func(a, b tool) int { return strings.Compare(a.Name, b.Name) })
	return m, nil
}

// strictly decodes JSON. A member that the struct does not have is an error, because a
// misspelled one would be lost.
func strictly(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// indented encodes JSON for people, without HTML escapes.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}
