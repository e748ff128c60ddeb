package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// contents describes the modules in a binary: an SPDX document, and the text of every
// license.
func (r release) contents(ctx context.Context, binary, name string) (bom, licences []byte, err error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, nil, err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, nil, err
	}
	if bom, err = r.spdx(info, name, fmt.Sprintf("%x", sha256.Sum256(program))); err != nil {
		return nil, nil, err
	}
	licences, err = r.licences(ctx, info)
	return bom, licences, err
}

// The parts of SPDX 2.3 that a release needs: https://spdx.github.io/spdx-spec/v2.3/.
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	License       string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Describes     []string           `json:"documentDescribes"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

// An spdxCreation says when and by which tool a document was made.
type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// An spdxPackage is one module.
type spdxPackage struct {
	ID        string         `json:"SPDXID"`
	Name      string         `json:"name"`
	Version   string         `json:"versionInfo"`
	Location  string         `json:"downloadLocation"`
	Analyzed  bool           `json:"filesAnalyzed"`
	Purpose   string         `json:"primaryPackagePurpose"`
	Checksums []spdxChecksum `json:"checksums,omitempty"`
	External  []spdxExternal `json:"externalRefs,omitempty"`
	Comment   string         `json:"comment,omitempty"`
}

// An spdxChecksum is a hash of a package.
type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

// An spdxExternal is the purl of a package.
type spdxExternal struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// An spdxRelationship links the binary to a module.
type spdxRelationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// notInID matches characters that an SPDX identifier must not have (SPDX 2.3, 7.2).
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdx returns the bill of materials of a binary. It names a module by its purl and its
// hash in go.sum, never by the address of a proxy, because the same module may come from
// any GOPROXY.
func (r release) spdx(info *debug.BuildInfo, name, sum string) ([]byte, error) {
	const self, document = "SPDXRef-ptyctl", "SPDXRef-DOCUMENT"
	d := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: document, Name: name,
		Namespace: "https://spdx.org/spdxdocs/" + name + "-" + sum, // must be unique (SPDX 2.3, 6.5)
		Creation:  spdxCreation{r.date.Format("2006-01-02T15:04:05Z"), []string{"Tool: ptyctl-dist"}},
		Describes: []string{self},
		Packages: []spdxPackage{{
			ID: self, Name: "ptyctl", Version: r.version, Location: "NOASSERTION", Purpose: "APPLICATION",
			Checksums: []spdxChecksum{{"SHA256", sum}}, Comment: "the program in this archive",
		}},
		Relationships: []spdxRelationship{{document, "DESCRIBES", self}},
	}
	add := func(path, version, hash string) {
		id := "SPDXRef-" + notInID.ReplaceAllString(path, "-")
		p := spdxPackage{
			ID: id, Name: path, Version: version, Location: "NOASSERTION", Purpose: "LIBRARY",
			External: []spdxExternal{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
		}
		if hash != "" {
			p.Comment = "go.sum " + hash
		}
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, spdxRelationship{self, "DEPENDS_ON", id})
	}
	// The standard library is a dependency, too; purl names it like a module.
	add("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")
	deps, err := linked(info)
	if err != nil {
		return nil, err
	}
	for _, m := range deps {
		add(m.Path, m.Version, m.Sum)
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

// linked returns the modules of others in a binary. A module that replaces another one has no hash in go.sum, so others
// could not get the same code, unless it is a folder of this repository, and so ptyctl's own.
func linked(info *debug.BuildInfo) (deps []*debug.Module, err error) {
	for _, m := range info.Deps {
		switch {
		case m.Replace == nil:
			deps = append(deps, m)
		case !strings.HasPrefix(m.Replace.Path, "./"):
			return nil, fmt.Errorf("%s is replaced by %s: a release must be made of what go.mod requires", m.Path, m.Replace.Path)
		}
	}
	return deps, nil
}

// licenceName matches files with a license or a notice that must be passed on.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licences returns the texts of all licenses in a binary except its own.
func (r release) licences(ctx context.Context, info *debug.BuildInfo) ([]byte, error) {
	goRoot, err := output(ctx, r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("ptyctl contains:\n")
	add := func(what, dir string) error {
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		found := false
		for _, f := range files {
			if f.IsDir() || !licenceName.MatchString(f.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return err
			}
			found = true
			fmt.Fprintf(
				&b,
				"\n%[1]s\n%[2]s: %[3]s\n%[1]s\n\n%[4]s\n",
				strings.Repeat("=", 80),
				what,
				f.Name(),
				bytes.TrimSpace(text),
			)
		}
		if !found {
			return fmt.Errorf("%s: no licence file in %s", what, dir)
		}
		return nil
	}
	if err := add("Go's standard library "+info.GoVersion, goRoot); err != nil {
		return nil, err
	}
	deps, err := linked(info)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(deps, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	for _, m := range deps {
		dir, err := output(ctx, r.root, nil, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		if err := add(m.Path+" "+m.Version, dir); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
