package ptyx

// ProtectMemory keeps the memory of this process from other programs of the same user, above all from those that this
// package starts: what is typed, keys and passwords pass through it. Call it early in main, and behind EnableLimits; the
// programs that are started are as they would be without it. Against root, and where the system has no such means, it
// does nothing: Unprotected says so.
func ProtectMemory() error { return protectMemory() }

// Unprotected says why other programs can read the memory of this process; empty: they cannot.
func Unprotected() string { return unprotected() }
