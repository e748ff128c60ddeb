// This file lets a test declare a function without a body, which go:linkname joins to another package's.
