//go:build unix && !linux

package serial

// otherKind says nothing: the driver refuses what is no terminal when it is opened.
func otherKind(uint64) string { return "" }
