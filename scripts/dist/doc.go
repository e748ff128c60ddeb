// Command dist makes the archives of a release, so that everybody with the source can make the same bytes.
//
//	go run ./scripts/dist -version v1.2.3 -out build/dist
//
// For each platform it builds the program, and packs it with the manual page, the scripts for shells, the licences of
// everything that is linked in, and a list of those modules (an SPDX document, made from the build information in the
// binary). SHA256SUMS is for sha256sum -c. The bytes depend on:
//
//	the source, go.sum     and therefore every dependency
//	the Go release         printed by ptyctl version; go.mod names the oldest that will do
//	-version, -date        the date defaults to that of the commit, as SOURCE_DATE_EPOCH has it
//
// and nothing else: neither the folder, nor the machine, nor the time.
package main
