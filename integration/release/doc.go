// Package release makes a release of the last commit, twice, and installs its packages where that is possible on Debian.
//
// The tests have the tag long: task test:long runs them, and they take some minutes. The deb is installed and removed
// in a Debian root that mmdebstrap makes from apt's own sources, the rpm by rpm --root. Debian has no tool for the apk,
// so the tests read its contents. scripts/install-test-deps buildah rpm mmdebstrap installs what they need.
package release
