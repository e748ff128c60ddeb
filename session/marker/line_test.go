package marker

import (
	"os/exec"
	"strings"
	"testing"

	"ptyctl/session/shell"
)

// awkward are commands that line editors, shells and history mechanisms like to change.
var awkward = []string{
	"true",
	"echo it's",
	`echo "a  b" 'c  d'`,
	`printf '%s %% %d\n' x 7`,
	`echo a\\b`,
	"echo a\tb",
	"echo a; exit_is() { return 9; }; exit_is",
	"echo one\necho two",
	"cat <<E\nhere $((1+1))\nE",
	"echo hi # comment",
	"sleep 0 &",
	"echo !! !x ^a^b^",
	"echo é 漢 🎉",
	"-x",
	"  false",
	`echo "unbalanced`,
	"echo $HOME ~ `echo back` $(echo dollar)",
	"echo 'PTYCTL_RC_x=0:END_x'; (exit 3)",
	"read x; echo [$x]",
	"if true; then echo yes; fi | cat",
}

// The line typed for a POSIX shell runs the very command, and shows its status.
func TestTypedLineRuns(t *testing.T) {
	for _, m := range []Marker{testMarker(), customMarker("<'%\\!>", "</>")} {
		for _, command := range awkward {
			direct := exec.Command("/bin/sh", "-c", "command eval \"$0\"", command)
			direct.Stderr = nil
			wantOut, err := direct.Output()
			want := direct.ProcessState.ExitCode()
			if err != nil && want < 0 {
				t.Fatal(err)
			}
			line := m.Line(shell.Shell{Class: shell.Posix, Name: "sh"}, command)
			typed, _ := exec.Command("/bin/sh", "-c", line).Output()
			got := scanPieces(m, string(typed))
			if !got.done || got.status != want || got.out != string(wantOut) {
				t.Errorf("%q\ntyped %s\ngives %+v, want %q and status %d", command, line, got, wantOut, want)
			}
		}
	}
}

// No byte of the typed line may be a key, and no part of the command is typed that a shell or line editor might
// change.
func TestTypedLineIsPlain(t *testing.T) {
	all := make([]byte, 255)
	for i := range all {
		all[i] = byte(i + 1)
	}
	for _, class := range []shell.Class{shell.Posix, shell.Fish, shell.Csh, shell.PowerShell} {
		for _, command := range append(awkward, string(all)) {
			line := testMarker().Line(shell.Shell{Class: class}, command)
			for i := range len(line) {
				if line[i] < ' ' || line[i] > '~' {
					t.Errorf("%s: %q is typed as %q", class, command, line)
					break
				}
			}
			if class != shell.PowerShell && strings.Contains(line, "!") {
				t.Errorf("%s: %q is typed with a !: %q", class, command, line)
			}
		}
	}
}

func TestTypedLine(t *testing.T) {
	const (
		start = ` printf '\036S=%s\037\n' abcdefgh2345; `
		end   = `; printf '\036\122\103\075%s\037\nPTYCTL_RC_%s=%s:END_%s\n' $? abcdefgh2345 $? abcdefgh2345`
		fin   = `; printf '\036\122\103\075%s\037\nPTYCTL_RC_%s=%s:END_%s\n' $status abcdefgh2345 $status abcdefgh2345`
		body  = `a\047b\042c%%d\134e\011f\012g\041\303\251 -h`
	)
	const psStart = `"$([char]30)S=$('abcdefgh2345')$([char]31)"; $LASTEXITCODE=$null; Invoke-Expression (`
	const psEnd = `); $r=$(if($?){if($LASTEXITCODE -ne $null){$LASTEXITCODE}else{0}}else{if($LASTEXITCODE){$LASTEXITCODE}else{1}}); ` +
		`"$([char]30)$([char]82)$([char]67)$([char]61)$r$([char]31)"; "PTYCTL_RC_$('abcdefgh2345')=${r}:END_$('abcdefgh2345')"`
	command := "a'b\"c%d\\e\tf\ng!é -h"
	for _, tt := range []struct {
		sh            shell.Shell
		command, want string
	}{
		{shell.Shell{Class: shell.Posix, Name: "bash"}, command, start + `eval "$(printf '` + body + `')"` + end},
		{shell.Shell{Class: shell.Posix, Name: ""}, command, start + `eval "$(printf '` + body + `')"` + end},
		{shell.Shell{Class: shell.Posix, Name: "zsh"}, "id", start + `eval "$(printf 'id')"` + end},
		{shell.Shell{Class: shell.Posix, Name: "dash"}, "id", start + `command eval "$(printf 'id')"` + end},
		{shell.Shell{Class: shell.Posix, Name: "bash"}, "-n ", start + `eval "$(printf '\055n ')"` + end},
		{shell.Shell{Class: shell.Posix, Name: "bash"}, " a-b", start + `eval "$(printf '\040a-b')"` + end},
		{shell.Shell{Class: shell.Fish, Name: "fish"}, command, start + `eval (printf '` + body + `' | string collect -N)` + fin},
		{shell.Shell{Class: shell.Csh, Name: "tcsh"}, "echo 'a b'!", start + "eval \"`printf 'echo \\047a b\\047\\041'`\"" + fin},
		{shell.Shell{Class: shell.PowerShell, Name: "pwsh"}, "dir 'a' ‘b’\n\"%\"", psStart + `'dir ''a'' '+[char]8216+'b'+[char]8217+''+[char]10+'"%"'` + psEnd},
		{shell.Shell{Class: shell.PowerShell, Name: "pwsh"}, "🎉", psStart + `''+[char]55356+''+[char]57225+''` + psEnd},
		{shell.Shell{Class: shell.Cmd, Name: ""}, `dir "a b" %X%`, `(call )& echo S^=abcdefgh2345& (dir "a b" %X%)& call echo PTYCTL_RC_abcdefgh2345^=%^errorlevel%:END_abcdefgh2345`},
	} {
		if got := testMarker().Line(tt.sh, tt.command); got != tt.want {
			t.Errorf("%s: %q is typed as\n%s\nwant\n%s", tt.sh.Class, tt.command, got, tt.want)
		}
	}
	custom := customMarker("<%", ">").Line(shell.Shell{Class: shell.Posix, Name: "bash"}, "id")
	if want := start + `eval "$(printf 'id')"; printf '\074\045%s\076\n' $?`; custom != want {
		t.Errorf("custom marker:\n%s\nwant\n%s", custom, want)
	}
	if got := customMarker("é", ">").Line(shell.Shell{Class: shell.PowerShell, Name: "pwsh"}, "id"); !strings.HasSuffix(
		got,
		`"$([char]233)$r$([char]62)"`,
	) {
		t.Errorf("custom marker: %s", got)
	}
}
