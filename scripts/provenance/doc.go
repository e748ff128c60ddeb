// Command provenance states how the files of a release were made, as an in-toto statement with the predicate SLSA
// Provenance v1: https://slsa.dev/spec/v1.0/provenance.
//
//	go run ./scripts/provenance -version v1.2.3 -url https://example.com/ptyctl/v1.2.3 -commit SHA -date 1700000000 \
//		-tool github.com/goreleaser/nfpm/v2/cmd/nfpm@VERSION build/release
//
// It lists all files in the folder with their SHA-256, the commit that they were made from, and the tools. It is written
// beside them as ptyctl-VERSION.intoto.json, and is signed in that SHA256SUMS lists it. Its times are those of the commit,
// so that the same release made again gives the same bytes.
package main
