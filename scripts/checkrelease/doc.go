// Command checkrelease refuses a release that should not be made, before anything is built: one whose version is no
// semantic version, of a tree with changes, or without a section in CHANGELOG.md.
//
//	go run ./scripts/checkrelease -version v1.2.3 -url https://example.com/ptyctl
package main
