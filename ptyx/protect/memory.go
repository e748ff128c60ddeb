package protect

// Memory protects the memory of this process from other programs of the same
// user, in particular from those that it starts, because keys and
// passwords pass through it. Call it early in main, after ptyx.EnableLimits. Started
// programs are not affected. It has no effect against root, or on systems without
// the means; Unprotected reports that.
func Memory() error { return protectMemory() }

// Unprotected returns why other programs can read the memory of this process, or ""
// if they cannot.
func Unprotected() string { return unprotected() }
