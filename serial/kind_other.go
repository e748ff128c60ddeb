//go:build unix && !linux

package serial

// otherKind returns "": the driver refuses a device that is no terminal when it is opened.
func otherKind(uint64) string { return "" }
