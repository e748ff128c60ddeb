// Command checkrelease refuses a release that should not be made, before anything is built: one without a semantic
// version, from a tree with changes, or without a section in CHANGELOG.md.
//
//	go run ./scripts/checkrelease -version v1.2.3 -url https://example.com/ptyctl
package main
