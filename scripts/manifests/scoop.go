package main

import (
	"bytes"
	"encoding/json"
)

// A scoopManifest is a manifest of Scoop: https://github.com/ScoopInstaller/Scoop/wiki/App-Manifests.
type scoopManifest struct {
	Version      string             `json:"version"`
	Description  string             `json:"description"`
	Homepage     string             `json:"homepage"`
	License      string             `json:"license"`
	Architecture scoopArchitectures `json:"architecture"`
	Bin          string             `json:"bin"`
}

type scoopArchitectures struct {
	AMD64 scoopFile `json:"64bit"`
	ARM64 scoopFile `json:"arm64"`
}

type scoopFile struct {
	URL    string `json:"url"`
	Hash   string `json:"hash"`
	Folder string `json:"extract_dir"`
}

func (r release) scoop() (string, error) {
	file := func(platform string) scoopFile {
		f := r.files[platform]
		return scoopFile{f.URL, f.SHA256, f.Folder}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "    ") // as in Scoop's buckets
	err := enc.Encode(scoopManifest{
		r.Version, about, r.Homepage, "MIT", scoopArchitectures{file("windows-amd64"), file("windows-arm64")}, "ptyctl.exe",
	})
	return b.String(), err
}
