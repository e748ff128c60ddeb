package ptyx

// ProtectMemory protects the memory of this process from other programs of the same
// user, in particular from those that this package starts, because keys and
// passwords pass through it. Call it early in main, after EnableLimits. Started
// programs are not affected. It has no effect against root, or on systems without
// the means; Unprotected reports that.
func ProtectMemory() error { return protectMemory() }

// Unprotected returns why other programs can read the memory of this process, or ""
// if they cannot.
func Unprotected() string { return unprotected() }
