package protect

// protectMemory does nothing.
func protectMemory() error { return nil }

// unprotected implements Unprotected.
func unprotected() string { return "Windows has no means for it that ptyctl knows" }
