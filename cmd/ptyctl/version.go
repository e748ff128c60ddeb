package main

import "runtime/debug"

// release is set by the build of a release: -ldflags "-X main.release=v1.2.3".
var release string

// version is the release, or else what the Go tool recorded of the source.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	v := "dev"
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			v = "dev-" + s.Value[:12]
		}
	}
	return v
}
