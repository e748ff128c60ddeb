//go:build !unix

package record

const openFlags = 0
