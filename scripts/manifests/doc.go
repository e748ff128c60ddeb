// Command manifests writes the files that other package managers need to install a release's archives: a formula of
// Homebrew, a manifest of Scoop, and PKGBUILD with .SRCINFO for the AUR. The maintainer publishes them there.
//
//	go run ./scripts/manifests -version v1.2.3 -url https://example.com/ptyctl/v1.2.3 build/release
//
// The archives are in the given folder, and the manifests come into its folder manifests. They hold the hashes of the
// archives and the address that each will have.
package main
