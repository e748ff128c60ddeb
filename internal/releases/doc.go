// Package releases checks a file of a release: whether SHA256SUMS beside it is signed by the maintainer's SSH key, and has
// the file's hash.
//
//	keys, err := releases.Keys(text)
//	report, err := releases.Verify("ptyctl-0.2.0-linux-amd64.tar.gz", "", keys)
//
// SHA256SUMS has the form of sha256sum(1); SHA256SUMS.sig is a signature of ssh-keygen -Y for Namespace.
package releases
