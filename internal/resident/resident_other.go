//go:build !linux

package resident

func release() {}
