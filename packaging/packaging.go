// Package packaging holds what a release is made of besides the program: units, images, and the key that signs it.
package packaging

import _ "embed" // for ReleaseKey

// ReleaseKey is the text of release.pub: the public keys that sign releases, one a line, or comments alone as long as the
// maintainer has put none there.
//
//go:embed release.pub
var ReleaseKey []byte
