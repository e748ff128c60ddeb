package plan

import "testing"

// TestMatchExecShell: the shell is never one of the working folder.
func TestMatchExecShell(t *testing.T) {
	for _, tc := range []struct{ goos, variable, want string }{ // want empty: an error
		{"linux", "", "/bin/sh"},
		{"linux", "/bin/zsh", "/bin/zsh"},
		{"windows", "", ""},
		{"windows", "/usr/bin/bash", ""},
		{"windows", `bash.exe`, ""},
		{"windows", `C:bash.exe`, ""},
		{"windows", `C:\Git\bin\bash.exe`, `C:\Git\bin\bash.exe`},
	} {
		got, err := matchExecShell(tc.goos, tc.variable)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("matchExecShell(%q, %q) = %q, %v, want %q", tc.goos, tc.variable, got, err, tc.want)
		}
	}
}
