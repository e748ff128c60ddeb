package marker

import (
	"strings"
	"testing"
)

// The lines that are right ran in the cmd.exe of Wine 8, with the codes that they should have.
func TestCmdProblem(t *testing.T) {
	for _, command := range []string{
		"ver", "cmd /c exit 7", "if 1==2 echo x", "for %i in (1 2) do echo i%i", "nosuchcmd", `dir c:\nosuch`, "echo a ^& b",
		`echo "a & b)"`, "cd nosuch || echo failed", "cmd /c exit 3 & echo after", "set X=1", "echo %PATH:~0,3%",
		"if 1==1 (cmd /c exit 4) else echo no", "echo hi > nul", "echo ^<x^>", "echo a^) b", `type "C:\Program Files (x86)\a.txt"`,
		"for %i in (1 2) do (echo a & echo b)", "if exist a (if exist b (echo both)) else (echo none)", "(echo a) & (echo b)",
		"echo premium", "remove.exe x", "ping ::1", "echo reminder", `"rem" x`, "@echo off",
	} {
		if why := CmdProblem(command); why != "" {
			t.Errorf("%s: %s; want no problem", command, why)
		}
	}
	for command, want := range map[string]string{
		"rem hi": "rem", "REM": "rem", "dir & rem x": "rem", "if 1==1 rem x": "rem", "@rem x": "rem", "(rem x)": "rem", "rem.": "rem",
		"for %i in (1) do rem x": "rem", ":: hi": "label", ":there": "label", "dir &:: hi": "label", "echo hi ^": "caret",
		"echo a) b": "closed that was not", "echo (a)": "in an argument", "(echo a": "not closed", `echo "a`: "quotation mark",
		"echo a) & del x & (echo b": "closed that was not", "if 1==1 (echo a": "not closed", "dir|rem": "rem",
	} {
		if why := CmdProblem(command); !strings.Contains(why, want) {
			t.Errorf("%s: %q, want a problem about %q", command, why, want)
		}
	}
}

func FuzzCmdProblem(f *testing.F) {
	f.Add(`if 1==1 (echo "a)" ^) else rem`)
	f.Fuzz(func(t *testing.T, command string) {
		if CmdProblem(command) == "" && CmdProblem("("+command+")& ver") != "" {
			t.Errorf("%q is right alone, and wrong in parentheses: %s", command, CmdProblem("("+command+")& ver"))
		}
	})
}
