package ptyx

import "os/exec"

// executable returns the file that path names, with the extension that it may lack.
func executable(path string) (string, error) { return exec.LookPath(path) }
