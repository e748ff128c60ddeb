package ptyx

func protectMemory() error { return nil }

func unprotected() string { return "Windows has no means for it that ptyctl knows" }
