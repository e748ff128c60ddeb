// Command dist makes the archives of a release, so that everybody with the source can
// make the same bytes.
//
//	go run ./scripts/dist -version v1.2.3 -out build/dist
//
// For each platform it builds the program and packs it with the manual page, the
// completions for shells, the licenses of all modules that are linked in, and a list of
// those modules (an SPDX document, made from the build information in the binary).
// scripts/sums makes SHA256SUMS of them, and scripts/make-release all that a release has besides. The bytes depend on:
//
//	the source, go.sum     and therefore every dependency
//	the Go release         shown by ptyctl version; go.mod names the oldest that works
//	-version, -date        the date defaults to that of the commit, as SOURCE_DATE_EPOCH
//
// They must not depend on anything else, for example the folder, the machine or the time.
package main
