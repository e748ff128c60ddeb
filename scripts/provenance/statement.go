package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ptyctl/internal/releases"
)

// A statement is an in-toto statement: https://in-toto.io/Statement/v1.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// A resource is a ResourceDescriptor: a file that was made, or one that was used. It must have uri or digest.
type resource struct {
	Name   string  `json:"name,omitempty"`
	URI    string  `json:"uri,omitempty"`
	Digest *digest `json:"digest,omitempty"`
}

// A digest has one hash, by the names of in-toto's DigestSet.
type digest struct {
	SHA256    string `json:"sha256,omitempty"`
	GitCommit string `json:"gitCommit,omitempty"`
}

// A provenance is the predicate https://slsa.dev/provenance/v1.
type provenance struct {
	Definition definition `json:"buildDefinition"`
	Details    details    `json:"runDetails"`
}

type definition struct {
	BuildType    string     `json:"buildType"`
	External     external   `json:"externalParameters"`
	Internal     internal   `json:"internalParameters"`
	Dependencies []resource `json:"resolvedDependencies"`
}

// external are the parameters of task release that the maintainer has given, and the platforms.
type external struct {
	Version   string   `json:"version"`
	URL       string   `json:"url"`
	Platforms []string `json:"platforms"`
}

// internal holds the facts that are not in the tree of the commit.
type internal struct {
	Dirty bool  `json:"treeHasChanges"`
	Epoch int64 `json:"sourceDateEpoch"`
}

type details struct {
	Builder  builder  `json:"builder"`
	Metadata metadata `json:"metadata"`
}

type builder struct {
	ID string `json:"id"`
}

// metadata has no time of the build: it would be another one each time.
type metadata struct {
	InvocationID string `json:"invocationId"`
}

// A build describes a release, without its files.
type build struct {
	version   string
	url       string
	commit    string
	dirty     bool
	date      time.Time
	tools     []string
	goVersion string
}

// statement returns the statement about the files.
func (b build) statement(subjects []resource) statement {
	project := releases.Homepage(b.url)
	used := []resource{
		{Name: "ptyctl", URI: "git+" + project + "@" + b.version, Digest: &digest{GitCommit: b.commit}},
		{Name: "go", URI: "pkg:golang/stdlib@" + strings.TrimPrefix(b.goVersion, "go")},
	}
	for _, tool := range b.tools {
		used = append(used, toolResource(tool))
	}
	return statement{
		Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1",
		Predicate: provenance{
			Definition: definition{
				BuildType: project + "#task-release/v1",
				External:  external{b.version, b.url, platformsOf(subjects, b.version)},
				Internal:  internal{b.dirty, b.date.Unix()}, Dependencies: used,
			},
			Details: details{builder{project + "#maintainer"}, metadata{b.version + "-" + b.commit}},
		},
	}
}

// toolResource names a tool, PATH@VERSION, by the purl of its module; the package is its subpath.
func toolResource(tool string) resource {
	where, version, _ := strings.Cut(tool, "@")
	module, command, ok := strings.Cut(where, "/cmd/")
	uri := "pkg:golang/" + module + "@" + version
	if ok {
		uri += "#cmd/" + command
	}
	return resource{Name: path.Base(where), URI: uri}
}

// platformsOf returns the platforms of the archives, such as linux/amd64.
func platformsOf(subjects []resource, version string) (platforms []string) {
	for _, s := range subjects {
		name, ok := strings.CutPrefix(s.Name, "ptyctl-"+strings.TrimPrefix(version, "v")+"-")
		if base, isTar := strings.CutSuffix(name, ".tar.gz"); ok && isTar {
			platforms = append(platforms, strings.Replace(base, "-", "/", 1))
		} else if base, isZip := strings.CutSuffix(name, ".zip"); ok && isZip {
			platforms = append(platforms, strings.Replace(base, "-", "/", 1))
		}
	}
	return platforms
}

// subjectsIn returns the files below a folder, sorted by name, without the statement itself and the sums, which list it.
func subjectsIn(folder, own string) (subjects []resource, err error) {
	err = filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error { // in the order of names
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if name == own || strings.HasPrefix(name, "SHA256SUMS") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		subjects = append(subjects, resource{Name: name, Digest: &digest{SHA256: fmt.Sprintf("%x", sha256.Sum256(text))}})
		return nil
	})
	if err == nil && len(subjects) == 0 {
		err = fmt.Errorf("%s has no file", folder)
	}
	return subjects, err
}

// indented encodes JSON for people.
func indented(s statement) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return b.Bytes(), err
}
