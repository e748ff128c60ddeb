// Command packages makes the deb, rpm and apk packages of a release from the files of its archives, by nfpm.
//
//	go run ./scripts/packages -nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm@VERSION -version v1.2.3 -date 1700000000 \
//		-url https://example.com/ptyctl -unpacked FOLDER -out build/release
//
// The folder is that of scripts/dist -unpacked. A package has no script that runs when it is installed or removed, and so
// starts nothing. Its files belong to root and have the time of the release. Equal files give equal packages.
package main
