package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// registrySchema is the published schema of server.json.
const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// A registryServer is the part of server.json that ptyctl uses. Its limits are those of
// registrySchema.
type registryServer struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"` // reverse DNS name of the owner, a slash, the name of the server
	Title       string            `json:"title"`
	Description string            `json:"description"` // at most 100 characters
	Version     string            `json:"version"`
	Packages    []registryPackage `json:"packages,omitempty"`
}

// A registryPackage is one way to get the server.
type registryPackage struct {
	RegistryType string    `json:"registryType"`
	Identifier   string    `json:"identifier"` // of an MCP bundle: its URL
	FileSHA256   string    `json:"fileSha256"`
	Transport    transport `json:"transport"`
}

// A transport is the way in which a client talks to the server.
type transport struct {
	Type string `json:"type"`
}

// packageOf returns the entry of a bundle. The registry demands its SHA-256.
func packageOf(url string, bundle []byte) registryPackage {
	sum := sha256.Sum256(bundle)
	return registryPackage{
		RegistryType: "mcpb",
		Identifier:   url,
		FileSHA256:   hex.EncodeToString(sum[:]),
		Transport:    transport{"stdio"},
	}
}

// Forms of names and versions in the schema.
var (
	registryName    = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
)

// release adds version and packages to the text of server.json.
func release(text []byte, version string, packages []registryPackage) ([]byte, error) {
	var s registryServer
	if err := strictly(text, &s); err != nil {
		return nil, err
	}
	s.Version, s.Packages = version, packages
	if err := s.check(); err != nil {
		return nil, err
	}
	return indented(s)
}

// check returns an error for the first value that the registry would refuse.
func (s registryServer) check() error {
	switch {
	case s.Schema != registrySchema:
		return fmt.Errorf("$schema is %q, want %q", s.Schema, registrySchema)
	case !registryName.MatchString(s.Name) || len(s.Name) > 200:
		return fmt.Errorf("invalid name %q: use OWNER/SERVER, where OWNER is a reverse DNS name", s.Name)
	case s.Title == "" || utf8.RuneCountInString(s.Title) > 100:
		return fmt.Errorf("title %q: give 1 to 100 characters", s.Title)
	case s.Description == "" || utf8.RuneCountInString(s.Description) > 100:
		return fmt.Errorf("description %q: give 1 to 100 characters", s.Description)
	case !semanticVersion.MatchString(s.Version):
		return fmt.Errorf("invalid version %q: use a semantic version without a v, for example 0.1.0", s.Version)
	}
	return nil
}
