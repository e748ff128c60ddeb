package ptyx

import "os/exec"

// executable returns the file for path, with the extension that path may lack.
func executable(path string) (string, error) { return exec.LookPath(path) }
